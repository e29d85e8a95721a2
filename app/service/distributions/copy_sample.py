"""A bounded part of a copy's rows: the first, or runs of rows spread evenly over it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from app.service.copies.making.pieces import within
from app.service.copies.making.release import Release

SAMPLE_ROWS = 50_000
RUNS = 32
"""Of a larger copy so many runs of consecutive rows are taken: a table may be sorted."""


def sampled(release: Release, rows: int = SAMPLE_ROWS, runs: int = RUNS) -> pa.Table:
    """At most about so many rows of a release, in their order."""
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


def leading(release: Release, rows: int) -> pa.Table:
    """The first rows of a release."""
    end = release.first + rows
    chosen = (within(batch, release.first, end) for batch in release.batches_of_rows)
    release = replace(release, batches_of_rows=tuple(batch for batch in chosen if batch))
    return pa.Table.from_batches(list(release.batches()), schema=release.schema)
