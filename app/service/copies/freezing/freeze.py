"""Freezing: with the first copy, from all rows that are there and not withdrawn.

The rows are looked at before the data set is locked, since that takes as long as reading them, and
again under the lock only where they changed in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection

from app.errors import NotReleasable
from app.model import Column, Dataset, Kind, Part, Storage
from app.numerics.arrays import IntArray
from app.numerics.copies.calibrating.applied import Calibration
from app.numerics.copies.calibrating.calibration import calibrated, rows_shape
from app.numerics.copies.shapes.row_moments import RowMoments
from app.numerics.copies.shapes.shape import covariance_shape, enough_for_a_shape, without_spread
from app.service.copies.freezing.frozen import Frozen, keep_frozen, open_frozen
from app.service.copies.freezing.pool import keep_pool
from app.service.copies.freezing.rows import (
    batch_moments,
    part_batches,
    part_moments,
    sample_key,
    sample_of,
    sampled_columns,
)
from app.service.copies.freezing.shape import Shape, following, keep_shape, use_shape
from app.service.datasets.secrets import Statistics, open_secret, open_statistics
from app.service.resources import Resources
from app.store.database.copies.history import HistoryNotWhole
from app.store.database.engine import reading
from app.store.database.registered import datasets


@dataclass(frozen=True, repr=False)
class Rows:
    """Which rows and columns a look is of; rows never change."""

    columns: tuple[Column, ...]
    parts: tuple[Part, ...]
    retired: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Look:
    """What the rows told.

    where:
        numeric      the numbers that get noise; the others travel with the record
        moments      of those numbers, part by part
        records      a sample of the records, in the order in which donors are taken; None without any
        calibration  how numbers and records depend on each other; None likewise
    """

    of: Rows
    numeric: tuple[str, ...]
    moments: tuple[RowMoments, ...]
    records: pa.Table | None
    calibration: Calibration | None


def rows_to_freeze(connection: Connection, dataset: Dataset) -> Rows:
    """The rows that a freeze would be made of now; rows that wait are in no copy."""
    return Rows(
        columns=dataset.columns,
        parts=tuple(part for part in datasets.parts(connection, dataset.id) if not part.waiting),
        retired=tuple(datasets.retired(connection, dataset.id, 0, dataset.rows)),
    )


def look_ahead(resources: Resources, dataset_id: str) -> Look | None:
    """A look at the rows of a data set that is not frozen yet, for `frozen_now` to use.

    No connection is held while the rows are read.
    """
    with reading(resources.engine) as connection:
        dataset = datasets.one(connection, dataset_id)
        if dataset is None or dataset.frozen:
            return None
        secret = open_secret(resources, connection, dataset_id)
        rows = rows_to_freeze(connection, dataset)
    return look_at(resources, rows, secret)


def look_at(resources: Resources, rows: Rows, secret: bytes) -> Look:
    """Read the rows; NotReleasable when nothing is to be perturbed in them.

    Once, where the categories determine no number. Where they do, the rows that are complete in the others are other rows, and the others are looked at
    again. Where there is a cluster the sample is taken here, and the rest is counted there: of its rows
    only moments come back.
    """
    numbers, categories = sampled_columns(rows.columns)
    count = sum(part.rows for part in rows.parts) - len(rows.retired)
    _check_extent(rows.columns, count)
    retired: IntArray = np.array(rows.retired, dtype=np.int64)
    if not categories:
        moments = tuple(part_moments(resources, part, numbers, retired) for part in rows.parts)
        return Look(rows, numbers, moments, None, None)
    counted = () if resources.spread.elsewhere else numbers
    with ThreadPoolExecutor(1, thread_name_prefix="moments") as beside:
        taken = _MomentsBeside(counted, beside)
        batches = _batches_seen(resources, rows, (*numbers, *categories), taken)
        sample = sample_of(batches, rows.columns, sample_key(secret), count)
        matrix = sample.matrix()
        shape = beside.submit(rows_shape, matrix)
        calibration = calibrated(matrix, *sample.codes(), shape.result)
    travelling = tuple(numbers[place] for place in calibration.travelling)
    records = sample.table.select([*categories, *travelling])
    if not travelling and counted:
        return Look(rows, numbers, taken.result(), records, calibration)
    numeric = tuple(name for name in numbers if name not in travelling)
    moments = tuple(part_moments(resources, part, numeric, retired) for part in rows.parts)
    return Look(rows, numeric, moments, records, calibration)


BEHIND = 8
"""Batches whose moments may wait while others are read: so many are held, 60 MB of fifteen columns."""


class _MomentsBeside:
    """Moments of all parts, whose batches are added beside what reads on, in their order."""

    def __init__(self, names: Sequence[str], beside: ThreadPoolExecutor) -> None:
        self._names = names
        self._beside = beside
        self._found: list[RowMoments] = []
        self._asked: list[Future[None]] = []

    def begin_part(self) -> None:
        """What is added from now on is of a part more."""
        self._found.append(RowMoments.none(len(self._names)))

    def add(self, batch: pa.RecordBatch) -> None:
        """Waits while too many batches are held, of whatever parts."""
        if self._names and batch.num_rows:
            part = len(self._found) - 1
            self._asked.append(self._beside.submit(self._add, part, batch))
        for before in self._asked[-BEHIND - 1 : -BEHIND]:
            before.result()

    def result(self) -> tuple[RowMoments, ...]:
        """Part by part, of all batches; or whatever one of them failed by."""
        for one in self._asked:
            one.result()
        return tuple(self._found)

    def _add(self, part: int, batch: pa.RecordBatch) -> None:
        self._found[part] = self._found[part].merged(batch_moments(batch, self._names))


def _batches_seen(
    resources: Resources, rows: Rows, names: Sequence[str], moments: _MomentsBeside
) -> Iterator[pa.RecordBatch]:
    """All rows in these columns, which the moments are taken of."""
    retired: IntArray = np.array(rows.retired, dtype=np.int64)
    coded = [c.name for c in rows.columns if c.name in names and c.storage is Storage.TEXT]
    for part in rows.parts:
        moments.begin_part()
        for batch in part_batches(resources.blobs, part, names, retired, coded=coded):
            moments.add(batch)
            yield batch


def frozen_now(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    now: datetime,
    look: Look | None,
) -> Frozen:
    """What is frozen, frozen now if it was not before; the caller holds the data set's lock.

    NotReleasable when no noise can be shaped from what is known of the rows.
    """
    known = open_frozen(resources, connection, dataset.id)
    if known is not None:
        return known
    if dataset.frozen:
        raise HistoryNotWhole("the data set is frozen and what was frozen is lost")
    rows = rows_to_freeze(connection, dataset)
    if look is None or look.of != rows:
        look = look_at(resources, rows, open_secret(resources, connection, dataset.id))
    together = reduce(RowMoments.merged, look.moments)
    _check_releasable(look.numeric, together)
    _check_categories(dataset, open_statistics(resources, connection, dataset.id))
    found = _freeze_shapes(resources, connection, dataset.id, look, together)
    pool = None
    if look.records is not None:
        pool = keep_pool(resources, connection, dataset.id, look.records)
    frozen = keep_frozen(
        resources,
        connection,
        dataset.id,
        Frozen(
            numeric=look.numeric,
            means=together.present.means,
            variances=np.diag(found[0].matrix).copy(),
            records=() if pool is None else tuple(pool.values),
            calibration=look.calibration,
            shapes=tuple(shape.hash for shape in found),
            pool="" if pool is None else pool.hash,
        ),
    )
    datasets.freeze(connection, dataset.id, now)
    return frozen


def _freeze_shapes(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    look: Look,
    together: RowMoments,
) -> list[Shape]:
    """A shape for every part: that of all rows together, joined by each part's own.

    The first is of all rows, so that a part of one row is no obstacle where others stand beside it.
    """
    centre, matrix = together.present.means, covariance_shape(together)
    several = len(look.moments) > 1
    found: list[Shape] = []
    for part, moments in zip(look.of.parts, look.moments, strict=True):
        enough = enough_for_a_shape(moments)
        if found and not enough:
            use_shape(resources, connection, dataset_id, part.number, found[-1])
            continue
        if several and enough:
            centre, matrix = following(centre, matrix, moments)
        before = found[-1].hash if found else ""
        found.append(
            keep_shape(
                resources,
                connection,
                dataset_id,
                part.number,
                centre=centre,
                matrix=matrix,
                before=before,
            )
        )
    return found


def check_statistics(dataset: Dataset, statistics: Statistics) -> None:
    """NotReleasable when nothing, or a column, could not be released, as far as statistics tell.

    They count retired rows too: what varies in these alone is found by the first copy.
    """
    _check_extent(dataset.columns, dataset.released_rows)
    kept = [column for column in dataset.columns if column.storage is Storage.NUMBER]
    squares = np.diag(statistics.moments.comoment)
    for column, spread in zip(kept, squares.tolist(), strict=True):
        if column.kind.noised and not spread > 0:
            raise _constant(column.name)
    _check_categories(dataset, statistics)


def _check_extent(columns: Sequence[Column], rows: int) -> None:
    if not any(sampled_columns(columns)):
        raise NotReleasable("a copy needs a numeric or a categorical column; there is neither")
    if rows < 2:
        raise NotReleasable(
            "one row has no spread to hide it in; append more rows first", rows=rows
        )


def _check_releasable(numeric: tuple[str, ...], together: RowMoments) -> None:
    for place in without_spread(together):
        raise _constant(numeric[place])


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
