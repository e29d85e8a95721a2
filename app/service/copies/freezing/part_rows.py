"""The rows of parts as arrays, without those withdrawn: what is frozen is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from app.model import BLOCK_ROWS, Part
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.copies.shapes.row_moments import RowMoments, row_moments
from app.service.copies.typed_output import numbers
from app.service.resources import Resources
from app.store.blobs.store import BlobRows

RUN = 16
"""Row groups of a task: a million rows."""

SEGMENTS = 8
"""A sample is taken in this many runs of rows, spread evenly, so that sorted tables are met too."""


def spread_runs(rows: int, most_rows: int) -> tuple[tuple[int, int], ...]:
    """Runs [first, last) of at most `most_rows` rows in all: everything, or evenly spread."""
    if rows <= most_rows:
        return ((0, rows),)
    length = max(1, most_rows // SEGMENTS)
    count = min(SEGMENTS, most_rows)
    starts = [(rows - length) * i // max(count - 1, 1) for i in range(count)]
    return tuple((start, start + length) for start in starts)


class RowSource(Protocol):
    """The blob store, or some blobs of it with their keys."""

    def read_rows(
        self,
        name: str,
        first: int,
        last: int,
        columns: Sequence[str] | None = None,
        coded: Sequence[str] = (),
        /,
    ) -> Iterator[pa.RecordBatch]: ...


def part_batches(
    blobs: RowSource,
    part: Part,
    names: Sequence[str],
    retired: IntArray,
    rows: tuple[int, int] | None = None,
    *,
    coded: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """These columns of a part, batch by batch: all its rows, or the ordinals [first, last).

    `retired` are ordinals of the data set, ascending; `coded` are as in `BlobStore.read_rows`.
    """
    row, end = (part.first_row, part.end_row) if rows is None else rows
    offset = part.first_row
    for batch in blobs.read_rows(part.blob, row - offset, end - offset, list(names), coded):
        first, last = np.searchsorted(retired, (row, row + batch.num_rows))
        kept = np.ones(batch.num_rows, dtype=bool)
        kept[retired[first:last] - row] = False
        yield batch if first == last else batch.filter(pa.array(kept))
        row += batch.num_rows


def run_batches(
    blobs: RowSource,
    parts: Sequence[Part],
    names: Sequence[str],
    retired: IntArray,
    run: tuple[int, int],
) -> Iterator[pa.RecordBatch]:
    """These columns of the rows of a run of ordinals, as far as they lie in these parts."""
    for part in parts:
        rows = (max(run[0], part.first_row), min(run[1], part.end_row))
        if rows[0] < rows[1]:
            yield from part_batches(blobs, part, names, retired, rows)


def number_rows(batch: pa.RecordBatch, names: Sequence[str]) -> FloatArray:
    """The numbers of a batch, (n, d), NaN where missing."""
    found = np.empty((batch.num_rows, len(names)), order="F")
    for place, name in enumerate(names):
        found[:, place] = numbers(batch.column(name))
    return found


def batch_moments(batch: pa.RecordBatch, names: Sequence[str]) -> RowMoments:
    """The moments of the numbers of a batch."""
    return row_moments(number_rows(batch, names), overwrite=True)


@dataclass(frozen=True, repr=False)
class MomentsTask:
    """A run of a part's row groups, to be counted wherever the blob can be read.

    where:
        runs     rows [first, last) of the blob, a row group each
        retired  those of them that are withdrawn, counted from the blob's first
    """

    blob: str
    originals: BlobRows
    names: tuple[str, ...]
    runs: tuple[tuple[int, int], ...]
    retired: IntArray


def moments_of_runs(task: MomentsTask) -> list[RowMoments]:
    """The moments of each row group of a run: no row leaves the machine that reads it."""
    found = []
    for first, last in task.runs:
        (batch,) = task.originals.read_rows(task.blob, first, last, task.names)
        withdrawn = task.retired[slice(*np.searchsorted(task.retired, (first, last)))]
        if len(withdrawn):
            kept = np.ones(batch.num_rows, dtype=bool)
            kept[withdrawn - first] = False
            batch = batch.filter(pa.array(kept))
        found.append(batch_moments(batch, task.names))
    return found


def part_moments(
    resources: Resources, part: Part, names: Sequence[str], retired: IntArray
) -> RowMoments:
    """The moments of a part's rows in these columns, the same to the bit whoever counts them.

    Row groups are counted alone, by several at a time, and joined here in their order.
    """
    found = RowMoments.none(len(names))
    first, last = np.searchsorted(retired, (part.first_row, part.end_row))
    if not names:
        return replace(found, rows=part.rows - int(last - first))
    withdrawn = retired[first:last] - part.first_row
    groups = [
        (start, min(start + BLOCK_ROWS, part.rows)) for start in range(0, part.rows, BLOCK_ROWS)
    ]
    originals = resources.blobs.rows_of([part.blob])
    tasks = (
        MomentsTask(part.blob, originals, tuple(names), tuple(groups[at : at + RUN]), withdrawn)
        for at in range(0, len(groups), RUN)
    )
    for moments in resources.spread.over(moments_of_runs, tasks):
        for one in moments:
            found = found.merged(one)
    return found
