"""Scores of attacks as pictures: error against copies, and how errors are distributed.

After figures 2 and 3 of li2012: the normalised error against the number of copies, the histogram and
the cumulative histogram of errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.score import MISS_EDGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Misses = Mapping[str, Sequence[float] | FloatArray]
"""For each attack the share of cells in each bin of MISS_EDGES."""


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
        draw_by_copies(panels[2], counts, {"be-dr": [error for _, error in by_copies]})
    return figure


def draw_audit(
    counts: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    misses: Mapping[str, Sequence[float]],
) -> Figure:
    """Error against the number of copies, histogram and cumulative histogram of errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    copies, histogram, cumulative = figure.subplots(1, 3)
    draw_by_copies(copies, counts, curves)
    draw_misses(histogram, cumulative, misses)
    return figure


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
    cumulative.legend(frameon=False, fontsize=8)
    for axes in (histogram, cumulative):
        axes.grid(alpha=0.3)


def draw_by_copies(
    axes: Axes, counts: Sequence[int], curves: Mapping[str, Sequence[float]]
) -> None:
    """The normalised error against the number of copies."""
    from matplotlib.ticker import MaxNLocator

    for (name, errors), marker in zip(curves.items(), ("o-", "s-", "x"), strict=False):
        axes.plot(counts, errors, marker, ms=4, lw=1.2, label=name)
    axes.set(xlabel="number of copies", ylabel="normalised error", ylim=(0, None))
    axes.set_title("Error against copies")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
