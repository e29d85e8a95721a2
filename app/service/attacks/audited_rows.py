"""What an audit looks at: a sample of the original rows, and the same rows of copies.

Issued copies are read as they are released, rounded and bounded. Copies that were never issued are
simulated from the same law with noise that is thrown away afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection

from app.errors import Conflict, NotReleasable
from app.model import Dataset, Part, Storage
from app.numerics.arrays import Flags, FloatArray, IntArray
from app.numerics.copies.path import coefficient_rows, independent_coefficients, shaped_noise
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor
from app.service.asking import Ask
from app.service.copies.freezing.protection import first_protection
from app.service.copies.freezing.rows import (
    RowSource,
    number_rows,
    part_batches,
    run_batches,
    spread_runs,
)
from app.service.copies.making.release import Selection, open_release
from app.service.copies.released.plans import FilePlan
from app.service.copies.released.writing import made_rows
from app.service.datasets.secrets import open_statistics
from app.service.resources import Resources
from app.store.blobs.store import BlobRows
from app.store.database.registered import datasets


@dataclass(frozen=True, repr=False)
class AuditedRows:
    """Original rows without gaps, and what every copy of the data set is shaped by.

    where:
        names       the numeric columns, d of them
        values      n × d
        complete    which of the rows in the runs have no gap
        means       (d,), as they were when the first copy was issued, or are now
        covariance  d × d, likewise
        shape       d × d, S of the noise
    """

    names: tuple[str, ...]
    values: FloatArray
    runs: tuple[tuple[int, int], ...]
    complete: Flags
    means: FloatArray
    covariance: FloatArray
    shape: FloatArray

    def without_values(self) -> AuditedRows:
        """The same for whoever reads the rows itself."""
        return replace(self, values=np.empty((0, len(self.names))))


def audited_rows(
    resources: Resources, connection: Connection, dataset: Dataset, most_rows: int
) -> AuditedRows:
    """At most `most_rows` rows of a data set; NotReleasable when there are no two to look at."""
    names = tuple(column.name for column in dataset.columns if column.kind.noised)
    if not names:
        raise NotReleasable("an audit needs a numeric column with noise, and there is none")
    runs = spread_runs(dataset.rows, most_rows)
    rows = _originals(resources, connection, dataset, names, runs)
    complete = np.asarray(~np.isnan(rows).any(axis=1))
    if complete.sum() < 2:
        raise NotReleasable(
            "an audit needs two rows without a missing number, and finds none among those it looks at. Copies are issued all the"
            " same, with noise by the columns that rows have. To audit such noise, register the columns that"
            " rows have together as a table of its own"
        )
    means, covariance = _moments(resources, connection, dataset, names)
    shape = _shape(resources, connection, dataset.id, rows)
    return AuditedRows(names, rows[complete], runs, complete, means, covariance, shape)


def issued_values(resources: Resources, ask: Ask, copy_id: str, rows: AuditedRows) -> FloatArray:
    """The same rows of an issued copy, as its recipients have them, n × d."""
    batches = []
    for first, last in rows.runs:
        release = open_release(resources, ask, copy_id, Selection(rows.names, first, last))
        batches += list(release.batches())
    return _complete(batches, rows)


def planned_values(plans: Sequence[FilePlan], originals: BlobRows, rows: AuditedRows) -> FloatArray:
    """The same for whoever makes them."""
    return _complete([one for plan in plans for one in made_rows(plan, originals)], rows)


def _complete(batches: Sequence[pa.RecordBatch], rows: AuditedRows) -> FloatArray:
    values = np.concatenate([number_rows(batch, rows.names) for batch in batches])
    if len(values) != len(rows.complete):
        raise Conflict("Rows were retired while the audit ran; ask again.")
    return values[rows.complete]


def read_values(
    originals: RowSource,
    pieces: Sequence[tuple[Part, tuple[int, int], IntArray]],
    names: tuple[str, ...],
) -> FloatArray:
    """The numbers of these rows, gaps among them: parts, ordinals of them, and those retired."""
    found = [np.empty((0, len(names)))]
    for part, rows, retired in pieces:
        batches = part_batches(originals, part, names, retired, rows)
        found += [number_rows(batch, names) for batch in batches]
    return np.concatenate(found)


def simulated_values(
    rows: AuditedRows, variances: FloatArray, rng: np.random.Generator, *, independent: bool
) -> list[FloatArray]:
    """Copies at these variances under noise drawn now, corner-wave or independent, n × d each."""
    factor = shape_factor(rows.shape)
    coefficients = (independent_coefficients if independent else coefficient_rows)(
        variances.tolist()
    )
    normals = rng.normal(size=(len(variances), len(rows.values), factor.shape[1]))
    return [rows.values + noise for noise in shaped_noise(coefficients, normals, factor)]


def _originals(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    names: tuple[str, ...],
    runs: Sequence[tuple[int, int]],
) -> FloatArray:
    parts = datasets.parts(connection, dataset.id)
    pieces = [np.empty((0, len(names)))]
    for first, last in runs:
        retired = np.array(datasets.retired(connection, dataset.id, first, last), np.int64)
        batches = run_batches(resources.blobs, parts, names, retired, (first, last))
        pieces += [number_rows(batch, names) for batch in batches]
    return np.concatenate(pieces)


def _moments(
    resources: Resources, connection: Connection, dataset: Dataset, names: tuple[str, ...]
) -> tuple[FloatArray, FloatArray]:
    moments = open_statistics(resources, connection, dataset.id).moments
    kept = [column.name for column in dataset.columns if column.storage is Storage.NUMBER]
    places = np.array([kept.index(name) for name in names])
    return moments.means[places], moments.covariance()[np.ix_(places, places)]


def _shape(
    resources: Resources, connection: Connection, dataset_id: str, rows: FloatArray
) -> FloatArray:
    """S of the first part, or as it would be for these rows."""
    first = first_protection(resources, connection, dataset_id)
    return covariance_shape(row_moments(rows)) if first is None else first.matrix
