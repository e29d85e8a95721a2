"""Which level is the most private that keeps an analysis.

A level counts only if every less private one keeps the analysis too: one that does by chance is no advice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.service.copies.preview.report import LevelPreview, Model, Recommendation, Utility

MEAN_WITHIN = 0.01
CORRELATION_WITHIN = 0.05
POINTS = 0.02
MOST_COLUMNS = 20
"""Means that are judged one by one, the first; all of them are judged together."""

InTheWay = Callable[[Utility], tuple[str, ...]]
"""The columns for which a copy does not keep an analysis."""


def recommendations(levels: Sequence[LevelPreview]) -> tuple[Recommendation, ...]:
    """The usual analyses that these levels, the least private first, allow to be judged."""
    if not levels:
        return ()
    first = levels[0].utility
    asked: list[tuple[str, InTheWay]] = []
    if first.means:
        asked.append(("every mean within 1 %", _means_in_the_way))
    if first.correlations is not None:
        asked.append(("every correlation within 0.05", _correlation_in_the_way))
    if first.tree is not None:
        name = f"a tree for {first.tree.target} within 2 points"
        asked.append((name, lambda utility: _model_in_the_way(utility.tree)))
    if first.regression is not None:
        name = f"a regression of {first.regression.target} within 2 points"
        asked.append((name, lambda utility: _model_in_the_way(utility.regression)))
    asked += [
        (f"the mean of {one.column} within 1 %", _mean_in_the_way(one.column))
        for one in first.means[:MOST_COLUMNS]
        if len(first.means) > 1
    ]
    return tuple(_recommended(levels, analysis, in_the_way) for analysis, in_the_way in asked)


def _recommended(
    levels: Sequence[LevelPreview], analysis: str, in_the_way: InTheWay
) -> Recommendation:
    best: LevelPreview | None = None
    but: tuple[str, ...] = ()
    for level in levels:
        but = in_the_way(level.utility)
        if but:
            break
        best = level
    if best is None:
        return Recommendation(analysis, None, (), but)
    return Recommendation(analysis, best.privacy, best.levels, but)


def _means_in_the_way(utility: Utility) -> tuple[str, ...]:
    return tuple(one.column for one in utility.means if one.within > MEAN_WITHIN)


def _mean_in_the_way(column: str) -> InTheWay:
    return lambda utility: tuple(one for one in _means_in_the_way(utility) if one == column)


def _correlation_in_the_way(utility: Utility) -> tuple[str, ...]:
    found = utility.correlations
    return found.between if found is not None and found.largest > CORRELATION_WITHIN else ()


def _model_in_the_way(model: Model | None) -> tuple[str, ...]:
    if model is None or model.trained_on_copy >= model.trained_on_original - POINTS:
        return ()
    return (model.target,)
