"""Samples of a copy: first rows, evenly spaced runs, or a column with its noise.

An estimate of the distribution behind a column must be a function of what a recipient has, or it would tell more
than its copy does. It is one of the released numbers and of the public noise law.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from app.errors import Hidden, InvalidParameter, InvalidTable, TooLarge
from app.model import Scale
from app.numerics.arrays import FloatArray
from app.numerics.deconvolution.noise import Normal
from app.service.context import RequestContext
from app.service.copies.generation.history import LAW_WITHHELD
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.copies.generation.row_ranges import within
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work

SAMPLE_ROWS = 50_000
RUNS = 32
"""Runs of consecutive rows sampled from a larger copy: a table may be sorted."""


def sampled(release: Release, rows: int = SAMPLE_ROWS, runs: int = RUNS) -> pa.Table:
    """Sample rows of a release in order, at most about `rows`."""
    whole = release.last - release.first
    if whole > rows:
        length = -(-rows // runs)
        starts = [release.first + number * (whole - length) // (runs - 1) for number in range(runs)]
        chosen = (
            within(batch, start, start + length)
            for start in starts
            for batch in release.batches_of_rows
        )
        release = replace(release, batches_of_rows=tuple(batch for batch in chosen if batch))
    return pa.Table.from_batches(list(release.batches()), schema=release.schema)


def leading(release: Release, rows: int, skipped: int = 0) -> pa.Table:
    """The first rows of a release, after those skipped."""
    begin = release.first + skipped
    chosen = (within(batch, begin, begin + rows) for batch in release.batches_of_rows)
    release = replace(release, batches_of_rows=tuple(batch for batch in chosen if batch))
    return pa.Table.from_batches(list(release.batches()), schema=release.schema)


MOST_ROWS = 20_000_000
"""Rows of a copy that are read at once: 160 MB."""


def column_of_copy(
    resources: Resources, context: RequestContext, copy_id: str, name: str
) -> tuple[FloatArray, Normal]:
    """The released numbers of one column, missing ones left out, and their noise.

    For principals who may download the copy; that it was read is recorded. InvalidParameter when the
    column is not numeric, InvalidTable when its numbers are all equal.
    """
    release = open_release(resources, context, copy_id, Selection((name,)))
    column = release.columns[0]
    if len(release.columns) > 1 or column.name not in release.recipe.noised:
        raise InvalidParameter(
            "an estimate is made of one numeric column with noise of its own", parameter="column"
        )
    if column.scale is Scale.LOG:
        raise InvalidParameter(
            "This column has noise on a log scale: ask POST /v1/copies/{id}/estimates for its distribution.",
            parameter="column",
        )
    if column.name not in release.noise_variances:
        raise Hidden(LAW_WITHHELD)
    if release.last - release.first > MOST_ROWS:
        raise TooLarge(f"an estimate reads {MOST_ROWS} rows of a copy", limit_rows=MOST_ROWS)
    with unit_of_work(resources, context) as uow:
        uow.record("copy.estimate", release.entry.copy, dataset=release.dataset.id, columns=1)
    blocks = [
        batch.column(0).drop_null().to_numpy(zero_copy_only=False) for batch in release.batches()
    ]
    values = np.concatenate([np.empty(0), *blocks]).astype(np.float64)
    if values.size == 0 or values.min() == values.max():
        raise InvalidTable("All values are equal: there is no distribution to estimate.")
    return values, Normal(release.noise_variances[column.name])
