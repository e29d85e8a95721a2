"""Scatter charts of risk against utility: synthesis methods, and levels of a preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.pictures.utility import label

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


@dataclass(frozen=True)
class LevelPoint:
    """A level: its privacy, the quality of its copies, and what the best attacker recovers."""

    privacy: float
    quality: float
    recovered: float


def draw_preview(
    points: Sequence[LevelPoint], kept: Mapping[str, Sequence[tuple[float, float]]]
) -> Figure:
    """Risk against utility with the levels marked; and what models keep against privacy.

    `kept` is, by model, privacy and the score on the copy less that on the original.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    plane, models = figure.subplots(1, 2)
    plane.plot(
        [p.quality for p in points], [p.recovered for p in points], "o-", color="#0b5cad", lw=1
    )
    for point in points:
        plane.annotate(
            f"{point.privacy:.2g}",
            (point.quality, point.recovered),
            textcoords="offset points",
            xytext=(6, -10),
            fontsize=8,
        )
    plane.set(
        xlabel="utility: quality of the copy",
        ylabel="risk: share of variance that the best attacker recovers",
        title="Risk against utility, by privacy",
        ylim=(0, 1.02),
    )
    for name, line in kept.items():
        models.plot([x for x, _ in line], [100 * y for _, y in line], "o-", lw=1, label=label(name))
    models.axhline(-2, color="#999999", lw=0.8, ls="--")
    models.set(
        xlabel="privacy",
        ylabel="points beside the original; lost below 0 (dashed: 2 lost)",
        title="Models trained on the copy",
    )
    for axes in (plane, models):
        axes.grid(alpha=0.3)
    if kept:
        models.legend(fontsize=8)
    return figure
