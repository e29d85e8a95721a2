"""The methods of synthesis side by side: risk against utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class MethodPoint:
    """One method: its risk, and two measures of what it is worth, None where not measured."""

    method: str
    membership_area: float
    two_sample_area: float
    quality: float | None
    recommended: bool


def draw_comparison(points: Sequence[MethodPoint]) -> Figure:
    """Membership area against quality and against closeness to held out records; right and up is better."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for point in points:
        marker = "*" if point.recommended else "o"
        size = 160 if point.recommended else 50
        if point.quality is not None:
            left.scatter(point.membership_area, point.quality, s=size, marker=marker)
            left.annotate(
                point.method,
                (point.membership_area, point.quality),
                (5, 5),
                textcoords="offset points",
            )
        right.scatter(point.membership_area, point.two_sample_area, s=size, marker=marker)
        right.annotate(
            point.method,
            (point.membership_area, point.two_sample_area),
            (5, 5),
            textcoords="offset points",
        )
    left.set(
        xlabel="membership area (0.5 is chance)", ylabel="quality", title="Risk against quality"
    )
    right.set(
        xlabel="membership area (0.5 is chance)",
        ylabel="two-sample area (0.5 is chance)",
        title="Risk against being told apart",
    )
    for axes in (left, right):
        axes.axvline(0.5, color="grey", linewidth=0.8, linestyle=":")
        axes.invert_xaxis()
        axes.grid(alpha=0.3)
    right.invert_yaxis()
    return figure
