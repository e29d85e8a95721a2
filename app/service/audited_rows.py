"""What an audit looks at: a sample of the original rows, and the same rows of copies.

Issued copies are read as they are released, rounded and bounded. Copies that were never issued are
simulated from the same law with noise that is thrown away afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.errors import Conflict, NotReleasable
from app.model import Dataset, Kind, Storage
from app.numerics.gaussian import covariance_factor
from app.numerics.multilevel import (
    coefficient_rows,
    independent_coefficients,
    shaped_noise,
)
from app.service.asking import Ask
from app.service.release import Selection, open_release
from app.service.resources import Resources
from app.service.shape import open_shape
from app.service.statistics import open_statistics
from app.service.typed_output import numbers
from app.store import datasets

FloatArray = NDArray[np.float64]

SEGMENTS = 8
"""A sample is taken in this many runs of rows, spread evenly, so that sorted tables are met too."""


@dataclass(frozen=True, repr=False)
class AuditedRows:
    """Original rows without gaps, and what every copy of the data set is shaped by.

    where:
        names       the numeric columns, d of them
        values      n × d
        complete    which of the rows in the runs have no gap
        means       (d,), frozen with the first copy or as they are now
        covariance  d × d, likewise
    """

    names: tuple[str, ...]
    values: FloatArray
    runs: tuple[tuple[int, int], ...]
    complete: NDArray[np.bool_]
    means: FloatArray
    covariance: FloatArray


def audited_rows(
    resources: Resources, connection: Connection, dataset: Dataset, most_rows: int
) -> AuditedRows:
    """At most `most_rows` rows of a data set; NotReleasable when there are no two to look at."""
    names = tuple(column.name for column in dataset.columns if column.kind is Kind.NUMERIC)
    if not names:
        raise NotReleasable("an audit needs a numeric column, and the data set has none")
    runs = spread_runs(dataset.rows, most_rows)
    rows = _originals(resources, connection, dataset, names, runs)
    complete = np.asarray(~np.isnan(rows).any(axis=1))
    if complete.sum() < 2:
        raise NotReleasable("an audit needs two rows without a missing number")
    means, covariance = _moments(resources, connection, dataset, names)
    return AuditedRows(names, rows[complete], runs, complete, means, covariance)


def issued_values(resources: Resources, ask: Ask, copy_id: str, rows: AuditedRows) -> FloatArray:
    """The same rows of an issued copy, as its recipients have them, n × d."""
    pieces = []
    for first, last in rows.runs:
        release = open_release(resources, ask, copy_id, Selection(rows.names, first, last))
        pieces += [_matrix(batch, rows.names) for batch in release.batches()]
    values = np.concatenate(pieces)
    if len(values) != len(rows.complete):
        raise Conflict("rows were retired while the audit ran; ask again")
    return values[rows.complete]


def simulated_values(
    rows: AuditedRows, variances: FloatArray, rng: np.random.Generator, *, independent: bool
) -> list[FloatArray]:
    """Copies at these variances under noise drawn now, corner-wave or independent, n × d each."""
    factor = covariance_factor(rows.covariance)
    coefficients = (independent_coefficients if independent else coefficient_rows)(
        variances.tolist()
    )
    normals = rng.normal(size=(len(variances), len(rows.values), factor.shape[1]))
    return [rows.values + noise for noise in shaped_noise(coefficients, normals, factor)]


def spread_runs(rows: int, most_rows: int) -> tuple[tuple[int, int], ...]:
    """Runs [first, last) of at most `most_rows` rows in all: everything, or evenly spread."""
    if rows <= most_rows:
        return ((0, rows),)
    length = max(1, most_rows // SEGMENTS)
    count = min(SEGMENTS, most_rows)
    starts = [(rows - length) * i // max(count - 1, 1) for i in range(count)]
    return tuple((start, start + length) for start in starts)


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
        found = [
            _matrix(batch, names)
            for part in parts
            for batch in resources.blobs.read_rows(
                part.blob, max(first - part.first_row, 0), max(last - part.first_row, 0), names
            )
        ]
        run = np.concatenate(found)
        kept = np.ones(len(run), dtype=bool)
        kept[np.array(datasets.retired(connection, dataset.id, first, last), int) - first] = False
        pieces.append(run[kept])
    return np.concatenate(pieces)


def _matrix(batch: pa.RecordBatch, names: tuple[str, ...]) -> FloatArray:
    return np.column_stack([numbers(batch.column(name)) for name in names])


def _moments(
    resources: Resources, connection: Connection, dataset: Dataset, names: tuple[str, ...]
) -> tuple[FloatArray, FloatArray]:
    shape = open_shape(resources, connection, dataset.id)
    if shape is not None:
        return shape.means, shape.factor @ shape.factor.T
    moments = open_statistics(resources, connection, dataset.id).moments
    kept = [column.name for column in dataset.columns if column.storage is Storage.NUMBER]
    places = np.array([kept.index(name) for name in names])
    return moments.means[places], moments.covariance()[np.ix_(places, places)]
