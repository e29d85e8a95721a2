"""Utility of a released table against its original, and reappearing records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.cancellation import cancellable
from app.numerics.tables import MixedTable
from app.numerics.utility import reappearance as reappearing
from app.numerics.utility.association import CORRELATIONS, association_biases, relative_bias
from app.numerics.utility.prediction import PredictionTarget, train_on_release_test_on_original
from app.numerics.utility.quality import kolmogorov_smirnov, quality, total_variation, wasserstein
from app.service.progress import NO_PROGRESS, Progress
from app.service.synthesis.utility_report import (
    AssociationReport,
    ColumnUtility,
    CorrelationBias,
    MeasuredLeakage,
    PredictionReport,
    QualityReport,
    ReappearanceReport,
    ShareReport,
    UtilityReport,
)
from app.tables.arrays.mixed import EncodedTable, empty_columns, encoded, is_number, vocabulary

KENDALL_RECORDS = 5_000
"""Records for Kendall's correlation at most, the same ones of either table."""

COMPARED_RECORDS = 500
"""Records whose distances to all released ones are computed, at most."""

DEFAULT_DISTANCE = 0.1


@dataclass(frozen=True)
class AlignedTables:
    """Tables with equal columns and equal codes, and the columns that only one of them has."""

    original: EncodedTable
    released: EncodedTable
    holdout: EncodedTable | None
    only_in_original: list[str]
    only_in_released: list[str]


def compared(original: pa.Table, released: pa.Table, holdout: pa.Table | None) -> AlignedTables:
    """The tables by the columns that all of them have.

    InvalidTable where they have none in common, or one column is numbers here and text there.
    Columns without values in the original are not compared.
    """
    tables = [table for table in (original, released, holdout) if table is not None]
    empty = {name for table in tables for name in empty_columns(table)}
    names = [
        name
        for name in original.column_names
        if name not in empty and all(name in table.column_names for table in tables)
    ]
    if not names:
        raise InvalidTable("The tables have no column with values in common")
    for name in names:
        if len({is_number(table, name) for table in tables}) > 1:
            raise InvalidTable(
                f"Column {name!r} holds numbers in one table and text in another", column=name
            )
    texts = [name for name in names if not is_number(original, name)]
    words = {
        name: pc.unique(pa.chunked_array([vocabulary(table, name) for table in tables]))
        for name in texts
    }
    first, second = encoded(original, names, words), encoded(released, names, words)
    return AlignedTables(
        first,
        second,
        None if holdout is None else encoded(holdout, names, words),
        [name for name in original.column_names if name not in names],
        [name for name in released.column_names if name not in names],
    )


def measure_utility(
    tables: AlignedTables,
    *,
    target: str | None = None,
    distance: float = DEFAULT_DISTANCE,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> UtilityReport:
    """The whole report. InvalidParameter for a target that is not there or cannot be predicted."""
    rng = np.random.default_rng(seed)
    original, released = tables.original, tables.released
    with cancellable(progress.raise_if_cancelled):
        progress.report("comparing columns", 0, 6)
        columns = column_utilities(original, released)
        progress.report("comparing correlations", 1, 6)
        correlations = correlation_biases(original.cells, released.cells, rng)
        progress.report("comparing associations", 2, 6)
        associations = association_reports(original.cells, released.cells)
        progress.report("comparing pairs of columns", 3, 6)
        likeness = quality_report(original.cells, released.cells, np.random.default_rng(seed))
        progress.report("looking for records that reappear", 4, 6)
        leakage = measured_leakage(tables, distance, rng)
        progress.report("predicting", 5, 6)
        prediction = None if target is None else _prediction(tables, target, rng)
    return UtilityReport(
        original_records=original.cells.records,
        released_records=released.cells.records,
        columns=columns,
        correlations=correlations,
        associations=associations,
        quality=likeness,
        leakage=leakage,
        prediction=prediction,
        only_in_original=tables.only_in_original,
        only_in_released=tables.only_in_released,
        kendall_records=min(KENDALL_RECORDS, original.cells.records, released.cells.records),
        seed=seed,
    )


def column_utilities(original: EncodedTable, released: EncodedTable) -> list[ColumnUtility]:
    """The distance of every column, numbers first; none where a released column has no values."""
    deviation = reappearing.units(original.cells)
    missing = [each.cells.missing.mean(axis=0).tolist() for each in (original, released)]
    found = []
    for position, name in enumerate(original.numbers):
        before, after = (each.cells.numeric[:, position] for each in (original, released))
        before, after = before[~np.isnan(before)], after[~np.isnan(after)]
        smirnov = transport = None
        if before.size and after.size:
            smirnov = kolmogorov_smirnov(before, after)
            transport = wasserstein(before, after) / float(deviation[position])
        rates = (missing[0][position], missing[1][position])
        found.append(ColumnUtility(name, "numeric", smirnov, transport, None, *rates))
    for position, name in enumerate(original.texts):
        codes, codes_after = (each.cells.codes[:, position] for each in (original, released))
        variation = total_variation(codes, codes_after, original.cells.categories[position])
        place = len(original.numbers) + position
        rates = (missing[0][place], missing[1][place])
        found.append(ColumnUtility(name, "categorical", None, None, _number(variation), *rates))
    return found


def correlation_biases(
    original: MixedTable, released: MixedTable, rng: np.random.Generator
) -> list[CorrelationBias]:
    """Relative bias of Pearson, Spearman and Kendall; none where there are no two numeric columns."""
    if original.numeric.shape[1] < 2:
        return []
    found = []
    for measure, matrix in CORRELATIONS.items():
        tables = [original, released]
        if measure == "kendall":
            tables = [_sample(table, KENDALL_RECORDS, rng) for table in tables]
        before, after = (matrix(table.numeric) for table in tables)
        bias = relative_bias(before, after)
        found.append(CorrelationBias(measure, _number(bias.mean), bias.pairs, bias.left_out))
    return found


def association_reports(original: MixedTable, released: MixedTable) -> list[AssociationReport]:
    """Associations with categories, by measure."""
    return [
        AssociationReport(measure, _number(found.mean), found.pairs)
        for measure, found in association_biases(original, released).items()
    ]


def quality_report(
    original: MixedTable, released: MixedTable, rng: np.random.Generator
) -> QualityReport:
    """Shapes and trends in one number."""
    found = quality(original, released, rng)
    return QualityReport(_number(found.columns), _number(found.pairs), _number(found.mean))


def measured_leakage(
    tables: AlignedTables, distance: float, rng: np.random.Generator
) -> MeasuredLeakage:
    """Measure reappearance of the original, and of the holdout, in the release."""
    deviation = reappearing.units(tables.original.cells)
    released = tables.released.cells

    def reappears(records: MixedTable) -> tuple[ReappearanceReport, FloatArray]:
        some = _sample(records, COMPARED_RECORDS, rng)
        nearest = reappearing.nearest_distances(some, released, deviation=deviation)
        near = reappearing.ReappearanceShare(int((nearest <= distance).sum()), some.records)
        exactly = reappearing.equal_records(records, released)
        found = ReappearanceReport(_share(exactly), _share(near), float(np.median(nearest)))
        return found, nearest

    original, near_original = reappears(tables.original.cells)
    if tables.holdout is None:
        return MeasuredLeakage(distance, original, None, None)
    holdout, near_holdout = reappears(tables.holdout.cells)
    excess = original.within_distance.rate - holdout.within_distance.rate
    area = reappearing.membership_area(near_original, near_holdout)
    return MeasuredLeakage(distance, original, holdout, excess, area)


def _share(share: reappearing.ReappearanceShare) -> ShareReport:
    return ShareReport(share.count, share.total, share.rate, *share.interval)


def _prediction(tables: AlignedTables, target: str, rng: np.random.Generator) -> PredictionReport:
    original = tables.original
    place = place_of(original, target)
    if place is None:
        raise InvalidParameter(
            f"There is no column {target!r} in both tables to predict", parameter="target"
        )
    try:
        scores = train_on_release_test_on_original(
            original.cells, tables.released.cells, place, rng
        )
    except ValueError:
        raise InvalidParameter(
            f"Column {target!r} cannot be predicted: that takes ten records with a value in either "
            "table, two different values and one other column",
            parameter="target",
        ) from None
    return PredictionReport(
        target,
        scores.measure,
        scores.trained_on_original,
        scores.trained_on_release,
        scores.constant,
        scores.tested_records,
    )


def place_of(table: EncodedTable, name: str) -> PredictionTarget | None:
    """Return the index of a column, None if absent."""
    if name in table.numbers:
        return PredictionTarget("numeric", table.numbers.index(name))
    return PredictionTarget("categorical", table.texts.index(name)) if name in table.texts else None


def _sample(table: MixedTable, most: int, rng: np.random.Generator) -> MixedTable:
    if table.records <= most:
        return table
    return table.taken(rng.permutation(table.records)[:most])


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
