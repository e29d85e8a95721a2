"""What one reproduced experiment yields, and how it is declared.

A module `papers/<key>.py` ends in `EXPERIMENTS`, a tuple of `Experiment`. Each runs on its own, from
a seed, at full size or quick, and returns a `Finding`; nothing in it is typed by hand that could be
computed, and a remark that depends on a number is written by code that looks at the number.
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
"""Public data sets beside the checkout; an experiment that needs one says so in `needs`."""

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """Rows under a header; a column of the paper's figures stands beside the column of ours."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Picture:
    """One figure as PNG, named within its experiment."""

    name: str
    caption: str
    png: bytes


@dataclass(frozen=True)
class Finding:
    """Everything an experiment has to say; `numbers` is what the tests assert on."""

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
    run: Callable[[bool, int], Finding]
    needs: Sequence[str] = ()
    seed: int = 20120901


def drawn(name: str, caption: str, figure: Figure) -> Picture:
    """The figure as a picture; bytes depend on the figure alone (no date, no version in it)."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return Picture(name, caption, buffer.getvalue())
