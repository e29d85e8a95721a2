"""Report of a preview, and its recommended level: the most private that keeps an analysis.

A level counts only if every less private one keeps the analysis too: one that does by chance is no advice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from app.numerics.attacks.releases.findings import MOST_NAMED, Finding, Risk, Verdict, summary
from app.service.copies.advice import Advice


@dataclass(frozen=True)
class LevelRisk:
    """Findings of an audit's attackers in a copy of the level.

    where:
        summary    the findings in a sentence or two
        recovered  the largest share of the variance of anything that is inferred
        findings   the five worst
    """

    verdict: Verdict
    summary: str
    recovered: float
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, found: Sequence[Finding]) -> Self:
        """The risk that findings, the worst first, tell of."""
        return cls(
            verdict=Verdict.worst(one.verdict for one in found),
            summary=summary(found),
            recovered=max(
                (1 - one.left for one in found if one.risk is Risk.INFERENCE), default=0.0
            ),
            findings=tuple(found[:MOST_NAMED]),
        )


@dataclass(frozen=True)
class ColumnChange:
    """A number in the copy beside the original; a date counts in days.

    where:
        bias          mean in the copy less mean in the original, in the rows looked at
        largest_bias  what the bias of an issued copy stays below in 95 of 100 draws
        compared_to   what `within` is a share of: the mean, or the standard deviation of a date or of a
                      number with values of both signs
        within        largest_bias as a share
        spread        standard deviation in the copy over that in the original
    """

    column: str
    mean: float
    bias: float
    largest_bias: float
    compared_to: str
    within: float
    spread: float


@dataclass(frozen=True)
class PairChange:
    """Gaps between copy and original over pairs of columns: the mean, and the largest with its pair."""

    mean: float
    largest: float
    between: tuple[str, str]
    pairs: int


@dataclass(frozen=True)
class TableChange:
    """Total variation between the tables of a categorical column, 0 to 1."""

    column: str
    distance: float


@dataclass(frozen=True)
class Model:
    """Scores on original rows of a model trained on other rows: of the original, and of the copy."""

    target: str
    measure: str
    trained_on_original: float
    trained_on_copy: float
    constant: float
    tested_rows: int


@dataclass(frozen=True)
class Utility:
    """Utility of a copy of the level.

    where:
        quality       shapes of columns and trends of pairs in one number, 0 to 1
        correlations  of two numbers, |Δρ|; `tables` of one category, `pairs_of_tables` of two
    """

    quality: float | None
    means: tuple[ColumnChange, ...]
    correlations: PairChange | None
    tables: tuple[TableChange, ...]
    pairs_of_tables: PairChange | None
    regression: Model | None
    tree: Model | None


@dataclass(frozen=True)
class Example:
    """A column before and after: cells of the same rows, and how the values are spread.

    where:
        bins            edges for a number, one more than shares; values for a category
        shares_before, shares_after  of the rows in each bin
    """

    column: str
    before: tuple[str | None, ...]
    after: tuple[str | None, ...]
    bins: tuple[str, ...]
    shares_before: tuple[float, ...]
    shares_after: tuple[float, ...]


@dataclass(frozen=True)
class LevelPreview:
    """One level: what it costs, what it risks, what it keeps, how it looks."""

    levels: tuple[str, ...]
    noise_variance: float
    privacy: float
    advice: Advice
    risk: LevelRisk
    utility: Utility
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Recommendation:
    """The most private of the levels that keeps an analysis; none where even the least private does not.

    where:
        but  columns that do not keep it, at the least private level that fails
    """

    analysis: str
    privacy: float | None
    levels: tuple[str, ...]
    but: tuple[str, ...]


@dataclass(frozen=True)
class Preview:
    """Levels side by side, the least private first. Nothing of it is kept.

    where:
        rows           rows of a copy
        rows_compared  rows that the utility was measured on
        rows_attacked  rows that were attacked
    """

    dataset: str
    rows: int
    rows_compared: int
    rows_attacked: int
    levels: tuple[LevelPreview, ...]
    recommendations: tuple[Recommendation, ...]


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
