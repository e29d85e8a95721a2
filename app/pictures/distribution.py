"""Charts of estimated distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.indicator.scheme import ShareEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_LABELS = 40
"""Categories beyond which their names would lie on one another."""


def draw_distribution(
    edges: FloatArray, probabilities: FloatArray, label: str, start: FloatArray | None
) -> Figure:
    """The density as steps over the bins; beside it the estimate that EM began with, if any."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    widths = np.diff(edges)
    if start is not None:
        axes.stairs(start / widths, edges, color="0.6", label="direct (start)")
    axes.stairs(probabilities / widths, edges, fill=True, alpha=0.25, color="tab:blue")
    axes.stairs(probabilities / widths, edges, color="tab:blue", label=label)
    axes.set(xlabel="x", ylabel="density", title="Estimated distribution behind the values")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def draw_survey(
    shares: ShareEstimate, bin_edges: Sequence[float] | None, categories: Sequence[str] | None
) -> Figure:
    """Shares as bars with 95 % intervals, over the bins of numbers or over named categories."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    if bin_edges is not None:
        edges = np.asarray(bin_edges)
        places, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    else:
        bins = len(shares.shares)
        places, widths = np.arange(bins, dtype=np.float64), np.full(bins, 0.8)
        _name_places(axes, categories or ())
    # The interval is that of the unbiased estimate, which may lie below zero; the bar may not.
    below = np.clip(
        shares.shares - (shares.unbiased - 1.96 * shares.standard_errors), 0, shares.shares
    )
    above = np.maximum(shares.unbiased + 1.96 * shares.standard_errors - shares.shares, 0)
    axes.bar(places, shares.shares, widths, alpha=0.5, edgecolor="tab:blue")
    axes.errorbar(
        places, shares.shares, np.array([below, above]), fmt="none", ecolor="0.3", capsize=2
    )
    axes.set(ylabel="share", title=f"{shares.responses:,} responses, 95 % intervals")
    axes.grid(alpha=0.3, axis="y")
    return figure


def _name_places(axes: Any, categories: Sequence[str]) -> None:
    if len(categories) <= MOST_LABELS:
        # A dollar sign would begin a formula.
        names = [name[:40].replace("$", r"\$") for name in categories]
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
