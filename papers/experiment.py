"""Declaration and result of a reproduced experiment.

A module `papers/<key>.py` ends in `EXPERIMENTS`. Each runs on its own from a seed, at full size or quick, and returns a `Result`. Every number
is computed, and remarks are derived from the numbers.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Public data sets beside the checkout; an experiment lists those it needs in `needs`."""

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """A table; figures of the paper stand beside ours."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Picture:
    """A PNG, named within its experiment."""

    name: str
    caption: str
    png: bytes


@dataclass(frozen=True)
class Result:
    """Output of an experiment; tests assert on `numbers`."""

    numbers: dict[str, float]
    settings: dict[str, Cell] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper: `run(quick, seed)` computes it."""

    name: str
    title: str
    run: Callable[[bool, int], Result]
    needs: Sequence[str] = ()
    seed: int = 20120901


def render(name: str, caption: str, figure: Figure) -> Picture:
    """Render the figure; its bytes depend on the figure alone (no date, no version)."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return Picture(name, caption, buffer.getvalue())
