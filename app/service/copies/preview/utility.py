"""Utility of a copy for usual analyses, beside its original."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from app.errors import InvalidParameter
from app.model import Column, Scale
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.tables import MixedTable
from app.numerics.utility.analyses import (
    MOST_COMPARED,
    MomentChange,
    PairDistances,
    correlation_gaps,
    moved,
    pair_distances,
    table_distances,
)
from app.numerics.utility.models import (
    PredictionScore,
    TrainTestSplit,
    halves,
    regression_score,
    regression_target,
    tree_score,
    tree_target,
)
from app.numerics.utility.prediction import PredictionTarget
from app.numerics.utility.quality import quality
from app.service.copies.generation.sampled_rows import SampledRows
from app.service.copies.preview.report import (
    POINTS,
    ColumnChange,
    Model,
    PairChange,
    TableChange,
    Utility,
)


@dataclass(frozen=True, repr=False)
class NamedTable:
    """Original or copy, by the names of its columns."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    cells: MixedTable


def original_side(rows: SampledRows) -> NamedTable:
    """The rows as they are; a missing category is a category."""
    sizes = tuple(len(values) for values in rows.values.values())
    cells = MixedTable(rows.matrix, rows.codes.astype(np.intp), sizes)
    return NamedTable(rows.numbers, tuple(rows.values), cells)


def copied_side(before: NamedTable, copy: ReleasedRows) -> NamedTable:
    """The same rows in a copy, by its first draw of them."""
    n = before.cells.records
    cells = MixedTable(copy.released[:n], copy.shown[:n].astype(np.intp), before.cells.categories)
    return NamedTable(before.numbers, before.categories, cells)


@dataclass(frozen=True, repr=False)
class PreviewModels:
    """Models, rows and size of the copy, the same for every level.

    where:
        regression_known, tree_known  the scores of the models learnt from the original
    """

    regression: int | None
    tree: PredictionTarget | None
    rows: TrainTestSplit
    copy_rows: int
    seed: int
    regression_known: PredictionScore | None
    tree_known: PredictionScore | None


def questions(before: NamedTable, target: str | None, copy_rows: int, seed: int) -> PreviewModels:
    """The questions to these rows; InvalidParameter when there is no such target."""
    if target is None:
        regression, tree = regression_target(before.cells), tree_target(before.cells)
    elif target in before.numbers:
        regression = before.numbers.index(target)
        tree = PredictionTarget("numeric", regression)
    elif target in before.categories:
        regression = regression_target(before.cells)
        tree = PredictionTarget("categorical", before.categories.index(target))
    else:
        raise InvalidParameter(
            f"There is no column {target!r} that a copy releases with noise, or as a category.",
            parameter="target",
        )
    rows = halves(before.cells.records, np.random.default_rng(seed))
    asked = PreviewModels(regression, tree, rows, copy_rows, seed, None, None)
    known = replace(
        asked,
        regression_known=_regression_score(before, before, asked),
        tree_known=_tree_score(before, before, asked),
    )
    if target is not None:
        return known
    # A target that nothing predicts says nothing of a copy; one that was asked for is answered.
    return replace(
        known,
        regression=known.regression if _is_predicted(known.regression_known) else None,
        tree=known.tree if _is_predicted(known.tree_known) else None,
    )


def measured_utility(
    before: NamedTable, after: NamedTable, columns: dict[str, Column], asked: PreviewModels
) -> Utility:
    """The utility of a copy beside its original."""
    original, copy = before.cells, after.cells
    distances = table_distances(original, copy)
    found = quality(_first(original), _first(copy), np.random.default_rng(asked.seed)).mean
    return Utility(
        quality=found if math.isfinite(found) else None,
        means=_means(before, after, columns, asked.copy_rows),
        correlations=_pairs(correlation_gaps(original, copy), before.numbers),
        tables=tuple(map(TableChange, before.categories, distances)),
        pairs_of_tables=_pairs(pair_distances(original, copy), before.categories),
        regression=_regression(before, after, asked),
        tree=_tree(before, after, asked),
    )


def _means(
    before: NamedTable, after: NamedTable, columns: dict[str, Column], copy_rows: int
) -> tuple[ColumnChange, ...]:
    found = []
    for place, name in enumerate(before.numbers):
        X, Y = (side.cells.numeric[:, place] for side in (before, after))
        change = moved(X, Y)
        if change is None:
            continue
        both_signs = float(np.nanmin(X)) < 0 < float(np.nanmax(X))
        no_zero = columns[name].kind.dated or columns[name].scale is Scale.LOG
        by_deviation = no_zero or both_signs or change.mean == 0
        found.append(_column_moved(name, change, len(X), copy_rows, by_deviation=by_deviation))
    return tuple(found)


def _column_moved(
    name: str, change: MomentChange, rows: int, copy_rows: int, *, by_deviation: bool
) -> ColumnChange:
    largest = change.largest_bias(round(copy_rows * change.values / rows))
    unit = change.deviation if by_deviation else abs(change.mean)
    return ColumnChange(
        column=name,
        mean=change.mean,
        bias=change.bias,
        largest_bias=largest,
        compared_to="standard deviation" if by_deviation else "mean",
        within=largest / unit,
        spread=change.deviation_in_copy / change.deviation,
    )


def _regression(before: NamedTable, after: NamedTable, asked: PreviewModels) -> Model | None:
    if asked.regression is None:
        return None
    target = before.numbers[asked.regression]
    return _model(target, asked.regression_known, _regression_score(before, after, asked))


def _tree(before: NamedTable, after: NamedTable, asked: PreviewModels) -> Model | None:
    if asked.tree is None:
        return None
    names = before.numbers if asked.tree.kind == "numeric" else before.categories
    target = names[asked.tree.position]
    return _model(target, asked.tree_known, _tree_score(before, after, asked))


def _is_predicted(score: PredictionScore | None) -> bool:
    return score is not None and score.score > score.constant + POINTS


def _regression_score(
    before: NamedTable, learnt: NamedTable, asked: PreviewModels
) -> PredictionScore | None:
    if asked.regression is None:
        return None
    return regression_score(before.cells, learnt.cells, asked.regression, asked.rows)


def _tree_score(
    before: NamedTable, learnt: NamedTable, asked: PreviewModels
) -> PredictionScore | None:
    if asked.tree is None:
        return None
    return tree_score(before.cells, learnt.cells, asked.tree, asked.rows, asked.seed % 2**31)


def _model(
    target: str, known: PredictionScore | None, found: PredictionScore | None
) -> Model | None:
    if known is None or found is None:
        return None
    return Model(target, known.measure, known.score, found.score, known.constant, known.tested)


def _pairs(gaps: PairDistances | None, names: tuple[str, ...]) -> PairChange | None:
    if gaps is None:
        return None
    i, j = gaps.between
    return PairChange(gaps.mean, gaps.largest, (names[i], names[j]), gaps.pairs)


def _first(table: MixedTable) -> MixedTable:
    return MixedTable(
        table.numeric[:, :MOST_COMPARED],
        table.codes[:, :MOST_COMPARED],
        table.categories[:MOST_COMPARED],
    )
