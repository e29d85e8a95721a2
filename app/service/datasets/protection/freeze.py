"""Freeze of a data set at its first copy: measure its rows, and each later part alone.

Rows are measured before the data set is locked, since that takes as long as reading them, and again under the lock
only where they changed in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Self

import numpy as np
from sqlalchemy import Connection

from app.errors import Conflict, NotReleasable
from app.model import Column, Dataset, Kind, Part, Storage
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.grid import FINENESS
from app.numerics.copies.scales import on_scale
from app.numerics.copies.shapes.row_moments import RowMoments, row_moments
from app.numerics.copies.shapes.shape import (
    covariance_shape,
    dominate,
    shape_factor,
    without_spread,
)
from app.service.datasets.protection.declaration import Declaration, declared_columns
from app.service.datasets.protection.donor_pool import Donors
from app.service.datasets.protection.part_protection import (
    PartProtection,
    first_protection,
    keep_protection,
    open_protections,
)
from app.service.datasets.protection.row_sample import (
    Batch,
    Sample,
    part_batches,
    part_moments,
    sample_key,
    sample_of,
    sampled_columns,
)
from app.service.datasets.secrets import Statistics, open_secret, open_statistics
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole
from app.store.database.datasets import datasets
from app.store.database.engine import reading


@dataclass(frozen=True, repr=False)
class FreezeInput:
    """Rows and columns to measure; rows never change."""

    columns: tuple[Column, ...]
    parts: tuple[Part, ...]
    retired: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class RecordModel:
    """Donors, and how much numbers and categories tell of each other, as far as these may be shown."""

    donors: Donors | None
    r_squared: float

    @classmethod
    def of(cls, sample: Sample | None, before: Donors | None = None) -> Self:
        """Record model of a sample of rows; `before` are the donors of earlier parts."""
        if sample is None:
            return cls(None, 0.0)
        donors = Donors.of(sample) if before is None else before.with_rows(sample)
        return cls(
            donors, squared_canonical_correlation(sample.numbers, *donors.shown_codes(sample))
        )


@dataclass(frozen=True, repr=False)
class PartMeasurement:
    """Measurement of a part's rows.

    where:
        numeric    the columns whose numbers get noise
        moments    of those numbers on their scales
        sample     rows in the order of a keystream; None without categorical columns
        records    what follows for the records, were these the first rows
    """

    of: FreezeInput
    numeric: tuple[Column, ...]
    moments: RowMoments
    sample: Sample | None
    records: RecordModel


def rows_to_freeze(connection: Connection, dataset: Dataset) -> FreezeInput:
    """The rows that a first copy would be made of now."""
    return FreezeInput(
        columns=dataset.columns,
        parts=tuple(datasets.parts(connection, dataset.id)),
        retired=tuple(datasets.retired(connection, dataset.id, 0, dataset.rows)),
    )


def measure_ahead(resources: Resources, dataset_id: str) -> PartMeasurement | None:
    """A measurement of the rows of a data set that is not frozen yet, for `freeze_dataset` to use.

    No connection is held while the rows are read. NotReleasable when nothing is to be perturbed in them.
    """
    with reading(resources.engine) as connection:
        dataset = datasets.one(connection, dataset_id)
        if dataset is None or dataset.frozen or dataset.formal:
            return None
        secret = open_secret(resources, connection, dataset_id)
        rows = rows_to_freeze(connection, dataset)
    _check_extent(rows)
    return measure_rows(resources, rows, secret)


def measure_rows(resources: Resources, rows: FreezeInput, secret: bytes) -> PartMeasurement:
    """Read the rows once.

    Where there is a cluster the sample is taken here, and moments are counted there.
    """
    numbers, categories = sampled_columns(rows.columns)
    retired: IntArray = np.array(rows.retired, dtype=np.int64)
    if not categories:
        moments = _part_moments(resources, rows, numbers, retired)
        return PartMeasurement(rows, numbers, moments, None, RecordModel.of(None))
    count = sum(part.rows for part in rows.parts) - len(rows.retired)
    here = bool(numbers) and not resources.executor.elsewhere
    with ThreadPoolExecutor(1, thread_name_prefix="moments") as beside:
        taken = _MomentsBeside(len(numbers), beside)
        batches = _batches_seen(resources, rows, taken if here else None)
        sample = sample_of(batches, rows.columns, sample_key(secret), count)
        records = RecordModel.of(sample)
        moments = taken.result() if here else _part_moments(resources, rows, numbers, retired)
    return PartMeasurement(rows, numbers, moments, sample, records)


def _part_moments(
    resources: Resources, rows: FreezeInput, numbers: Sequence[Column], retired: IntArray
) -> RowMoments:
    each = (part_moments(resources, part, numbers, retired) for part in rows.parts)
    return reduce(RowMoments.merged, each, RowMoments.none(len(numbers)))


BEHIND = 8
"""Batches whose moments may wait while others are read: so many are held, 60 MB of fifteen columns."""


class _MomentsBeside:
    """Moments of all rows, whose batches are added beside what reads on, in their order."""

    def __init__(self, columns: int, beside: ThreadPoolExecutor) -> None:
        self._beside = beside
        self._found = RowMoments.none(columns)
        self._asked: list[Future[None]] = []

    def add(self, X: FloatArray) -> None:
        """Waits while too many batches are held."""
        if len(X):
            self._asked.append(self._beside.submit(self._add, X))
        for before in self._asked[-BEHIND - 1 : -BEHIND]:
            before.result()

    def result(self) -> RowMoments:
        """Return the moments of all batches, or raise the error of one of them."""
        for one in self._asked:
            one.result()
        return self._found

    def _add(self, X: FloatArray) -> None:
        self._found = self._found.merged(row_moments(X))


def _batches_seen(
    resources: Resources, rows: FreezeInput, moments: _MomentsBeside | None
) -> Iterator[Batch]:
    """The numbers and records of all rows; where moments are taken here, of these numbers."""
    numbers, records = sampled_columns(rows.columns)
    retired: IntArray = np.array(rows.retired, dtype=np.int64)
    coded = [c.name for c in rows.columns if c.name in records and c.storage is Storage.TEXT]
    for part in rows.parts:
        names = (*(column.name for column in numbers), *records)
        for read in part_batches(resources.blobs, part, names, retired, coded=coded):
            batch = Batch.of(read, numbers, records)
            if moments is not None:
                moments.add(batch.numbers)
            yield batch


def freeze_dataset(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    now: datetime,
    measurement: PartMeasurement | None,
) -> PartProtection:
    """The protection of the first part, made now if there was none; the principal holds the data set's lock.

    NotReleasable when no noise can be shaped from what is known of the rows.
    """
    known = first_protection(resources, connection, dataset.id)
    if known is not None:
        return known
    if dataset.frozen or history.of(connection, dataset.id):
        raise HistoryNotWhole("the data set is frozen and its protection is lost")
    if dataset.formal:
        protection = declared_protection(dataset)
    else:
        rows = rows_to_freeze(connection, dataset)
        _check_extent(rows)
        if measurement is None or measurement.of != rows:
            secret = open_secret(resources, connection, dataset.id)
            measurement = measure_rows(resources, rows, secret)
        statistics = open_statistics(resources, connection, dataset.id)
        _check_categories(dataset, statistics)
        protection = first_part(measurement, statistics.largest)
    kept = keep_protection(resources, connection, dataset.id, protection)
    datasets.protect_all(connection, dataset.id, kept.hash)
    datasets.freeze(connection, dataset.id, now)
    return kept


def declared_protection(dataset: Dataset) -> PartProtection:
    """The protection of every part under formal protection: it follows from the declaration, and from no row."""
    columns = declared_columns(dataset.columns, {})
    numeric, records = sampled_columns(columns)
    if not (numeric or records):
        raise NotReleasable(
            "a copy needs a column with declared bounds or a declared list of values; there is neither"
        )
    declared = Declaration.of(columns)
    ranges = declared.upper - declared.lower
    weights = np.array([column.weight for column in numeric])
    return PartProtection(
        numeric=tuple(column.name for column in numeric),
        scale_units=tuple(column.scale_unit for column in numeric),
        rows=0,
        counts=np.zeros(len(numeric), dtype=np.int64),
        means=declared.lower + ranges / 2,
        largest=np.maximum(np.abs(declared.lower), np.abs(declared.upper)),
        factor=np.diag(np.sqrt(weights) * ranges),
        r_squared=0.0,
        donors=None,
        declared=declared,
    )


def first_part(measurement: PartMeasurement, largest: Mapping[str, float]) -> PartProtection:
    """The protection of all rows that are there at the first copy; NotReleasable where a column has no spread."""
    _check_releasable(measurement.numeric, measurement.moments)
    return PartProtection(
        numeric=tuple(column.name for column in measurement.numeric),
        scale_units=tuple(column.scale_unit for column in measurement.numeric),
        rows=measurement.moments.rows,
        counts=measurement.moments.present.counts,
        means=measurement.moments.present.means,
        largest=_magnitudes(measurement.numeric, largest),
        factor=shape_factor(covariance_shape(measurement.moments)),
        r_squared=measurement.records.r_squared,
        donors=measurement.records.donors,
    )


def protect_part(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    measurement: PartMeasurement,
    largest: Mapping[str, float],
) -> PartProtection:
    """Keep the protection of a part that comes after the first copy; the principal holds the data set's lock."""
    parts = datasets.parts(connection, dataset_id)
    known = open_protections(resources, connection, dataset_id, [parts[0], parts[-1]])
    first, newest = known[parts[0].number], known[parts[-1].number]
    issued = [entry.noise_variance for entry in history.of(connection, dataset_id)]
    protection = later_part(first, newest, measurement, largest, min(issued, default=1.0))
    return keep_protection(resources, connection, dataset_id, protection)


def later_part(
    first: PartProtection,
    newest: PartProtection,
    measurement: PartMeasurement,
    largest: Mapping[str, float],
    noise_variance: float,
) -> PartProtection:
    """The protection of a part that comes after the first copy; `noise_variance` is the smallest that was issued.

    Its noise dominates the part's own rows, and is never less than that of the first part. No part in between
    has an influence but by the counts that its donors follow from.
    """
    magnitudes = _magnitudes(measurement.numeric, largest)
    S = dominate(first.matrix, covariance_shape(measurement.moments))
    needed = _carried_variances(magnitudes, noise_variance)
    S += np.diag(np.maximum(needed - np.diag(S), 0.0))
    records = RecordModel.of(measurement.sample, newest.donors)
    counts = measurement.moments.present.counts
    return PartProtection(
        numeric=first.numeric,
        scale_units=first.scale_units,
        rows=measurement.moments.rows,
        # S_0 may be all that S is: a large part must not publish it more precisely than the first part does.
        counts=np.where(first.counts > 0, np.minimum(first.counts, counts), counts),
        means=measurement.moments.present.means,
        largest=magnitudes,
        factor=shape_factor(S),
        r_squared=max(first.r_squared, records.r_squared),
        donors=records.donors,
    )


def _magnitudes(numeric: Sequence[Column], largest: Mapping[str, float]) -> FloatArray:
    """The largest magnitude of each column on its scale."""
    return np.array(
        [
            on_scale(np.array(largest.get(column.name, 0.0)), column.scale_unit)
            for column in numeric
        ],
        dtype=np.float64,
    )


def _carried_variances(magnitudes: FloatArray, noise_variance: float) -> FloatArray:
    """S_jj from which on numbers as large as these carry their noise at a level (`grid`)."""
    steps = np.ldexp(np.array([math.ulp(one) for one in magnitudes.tolist()]), FINENESS + 1)
    return np.asarray(steps**2 / noise_variance, dtype=np.float64)


def require_frozen(dataset: Dataset) -> None:
    """Conflict before the first copy: its rows and columns are the owner's to settle."""
    if not dataset.frozen:
        raise Conflict(
            "The owner has not released this data set yet. Ask the owner to issue its first copy, or to finalise"
            " an agreement on it."
        )


def check_statistics(dataset: Dataset, statistics: Statistics) -> None:
    """NotReleasable when nothing, or a column, could not be released, as far as statistics tell.

    They count retired rows too: what varies in these alone is found by the first copy.
    """
    if dataset.formal:
        declared_protection(dataset)
        return
    _check_columns(dataset.columns, dataset.released_rows)
    kept = [column for column in dataset.columns if column.storage is Storage.NUMBER]
    squares = np.diag(statistics.moments.comoment)
    for column, spread in zip(kept, squares.tolist(), strict=True):
        if column.kind.noised and not spread > 0:
            raise _constant(column.name)
    _check_categories(dataset, statistics)


def _check_extent(rows: FreezeInput) -> None:
    _check_columns(rows.columns, sum(part.rows for part in rows.parts) - len(rows.retired))


def _check_columns(columns: Sequence[Column], rows: int) -> None:
    if not any(sampled_columns(columns)):
        raise NotReleasable("a copy needs a numeric or a categorical column; there is neither")
    if rows < 2:
        raise NotReleasable(
            "one row has no spread to hide it in; append more rows first", rows=rows
        )


def _check_releasable(numeric: Sequence[Column], together: RowMoments) -> None:
    for place in without_spread(together):
        raise _constant(numeric[place].name)


def _constant(name: str) -> NotReleasable:
    return NotReleasable(
        f"column {name!r} is constant, or its values differ by less than noise can be shaped for (10⁻¹⁵⁰, or"
        " the rounding of their mean); mark it as an identifier to leave it out, or as passthrough to"
        " release it as it is, or send such small numbers in another unit",
        column=name,
    )


def _check_categories(dataset: Dataset, statistics: Statistics) -> None:
    for column in dataset.columns:
        counts = statistics.categories.get(column.name, {})
        if column.kind is Kind.CATEGORICAL and sum(counts.values()) == 0:
            raise NotReleasable(
                f"the categories of column {column.name!r} are not known: it has no values, or too"
                " many different ones; mark it as an identifier to leave it out",
                column=column.name,
            )
