"""Charts of attack scores: left against promised, error against copies, distribution of errors.

After figures 2 and 3 of li2012: the normalised error against the number of copies, the histogram and
the cumulative histogram of errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.score import MISS_EDGES
from app.pictures.utility import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Misses = Mapping[str, Sequence[float] | FloatArray]
"""For each attack the share of cells in each bin of MISS_EDGES."""


MEANING = {
    "ndr": "takes it as it is (ndr)",
    "udr": "column by column (udr)",
    "sf": "spectral filter (sf)",
    "pca-dr": "principal directions (pca-dr)",
    "be-dr": "best linear (be-dr)",
    "mixture": "normal mixture (mixture)",
}
"""Attacks in words, with the names by which they are asked for."""

VERDICTS = {
    "ok": ("#0b5cad", "o"),
    "attention": ("#d9730d", "^"),
    "broken": ("#b3001b", "X"),
}
"""How a promise can stand, told by colour and by shape."""


@dataclass(frozen=True)
class FindingPoint:
    """A finding as a point: remaining share, promise and verdict."""

    attacker: str
    target: str
    promised: float
    left: float
    interval: tuple[float, float]
    verdict: str


def draw_scoring(misses: Misses, by_copies: Sequence[tuple[int, float]]) -> Figure:
    """Histogram and cumulative histogram of every attack's errors; with several copies also the
    error of the best one against their number."""
    from matplotlib.figure import Figure

    several = len(by_copies) > 1
    figure = Figure(figsize=(12 if several else 8.5, 4), layout="constrained")
    panels = figure.subplots(1, 3 if several else 2)
    draw_misses(panels[0], panels[1], misses)
    if several:
        counts = [count for count, _ in by_copies]
        draw_by_copies(panels[2], counts, {MEANING["be-dr"]: [error for _, error in by_copies]})
    return figure


def draw_audit(
    findings: Sequence[FindingPoint],
    counts: Sequence[int],
    curves: Mapping[str, Sequence[float]],
) -> Figure:
    """Remaining shares of the worst targets, and error against the number of copies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, copies = figure.subplots(1, 2)
    draw_findings(left, findings)
    draw_by_copies(copies, counts, curves)
    return figure


def draw_findings(axes: Axes, findings: Sequence[FindingPoint]) -> None:
    """Remaining share of each target with its interval, beside the promise as a line."""
    for place, one in enumerate(findings):
        colour, marker = VERDICTS[one.verdict]
        axes.plot(one.interval, (place, place), color=colour, lw=1.5)
        axes.plot(one.left, place, marker, color=colour, ms=7)
    used = {one.verdict for one in findings}
    for verdict, (colour, marker) in VERDICTS.items():
        if verdict in used:
            axes.plot([], [], marker, color=colour, ms=7, label=verdict)
    for number, promised in enumerate(sorted({one.promised for one in findings})):
        axes.axvline(promised, color="#333333", ls="--", lw=1, label=None if number else "promised")
    axes.set_yticks(
        range(len(findings)),
        labels=[f"{label(one.target)}\n{one.attacker}" for one in findings],
        fontsize=7,
        parse_math=False,
    )
    axes.set(xlabel="share that is left", xlim=(-0.03, 1.03), title="The worst findings")
    # The first on top, and room below the last for what the marks mean.
    axes.set_ylim(len(findings) + 0.9, -0.6)
    axes.grid(axis="x", alpha=0.3)
    if findings:
        # On white, for the promise's line runs behind it.
        axes.legend(
            framealpha=1,
            edgecolor="none",
            fontsize=7,
            ncols=min(3, len(used) + 1),
            loc="lower center",
        )


def draw_misses(histogram: Axes, cumulative: Axes, misses: Misses) -> None:
    """Shares of cells by size of the error, in standard deviations, and their running sum."""
    middles = (MISS_EDGES[:-1] + MISS_EDGES[1:]) / 2
    for name, shares in misses.items():
        histogram.plot(middles, shares, lw=1.2, label=name)
        cumulative.plot(MISS_EDGES[1:], np.cumsum(shares), lw=1.2, label=name)
    unit = "error, in standard deviations"
    histogram.set(xlabel=unit, ylabel="share of cells", ylim=(0, None), title="Errors")
    cumulative.set(
        xlabel=unit, ylabel="share of cells", ylim=(0, 1.02), title="Errors up to a size"
    )
    for axes in (histogram, cumulative):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)


def draw_by_copies(
    axes: Axes, counts: Sequence[int], curves: Mapping[str, Sequence[float]]
) -> None:
    """The normalised error, a share, against the number of copies."""
    from matplotlib.ticker import MaxNLocator

    for (name, errors), marker in zip(curves.items(), ("o-", "s-", "x"), strict=False):
        axes.plot(counts, errors, marker, ms=4, lw=1.2, label=name)
    # Frames that do not hang on the data: equal errors, or one copy, would leave no room for their marks.
    axes.set(xlabel="number of copies", ylabel="normalised error", ylim=(0, 1.05))
    axes.set_xlim(min(counts, default=1) - 0.5, max(counts, default=1) + 0.5)
    axes.set_title("Error against copies")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
