"""The methods of synthesis side by side: their relative bias of three correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.service.synthesis_report import MethodComparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST = 1e-4
"""An exact correlation would have no bar on a logarithmic axis."""


def draw_comparison(methods: Sequence[MethodComparison]) -> Figure:
    """Groups of bars, one for each method that could be used."""
    from matplotlib.figure import Figure

    used = [one for one in methods if one.report is not None]
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for shift, measure in enumerate(("pearson", "spearman", "kendall")):
        heights = [_bias(one, measure) for one in used]
        axes.bar(np.arange(len(used)) + 0.27 * (shift - 1), heights, 0.25, label=measure)
    axes.set_xticks(np.arange(len(used)), labels=[one.method for one in used])
    axes.set(
        yscale="log", ylim=(SMALLEST, None), ylabel="relative bias", title="What each method keeps"
    )
    axes.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _bias(one: MethodComparison, measure: str) -> float:
    assert one.report is not None
    found = [each for each in one.report.utility.correlations if each.measure == measure]
    return max(SMALLEST, found[0].relative_bias or 0.0) if found else SMALLEST
