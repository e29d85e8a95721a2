"""Rows of parts as arrays, without retired ones, and a random sample of them.

The sample is for what is frozen beside the shapes: donors, and how numbers and categories depend. The rows are
those with the lowest words of a keystream of the data set's secret: nobody can tell which before, and the same
rows are chosen again after a restore.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.model import BLOCK_ROWS, Column, Kind, Part
from app.numerics.arrays import Codes, FloatArray, IntArray, Places, Words
from app.numerics.copies.records import MOST_DONORS, part_words
from app.numerics.copies.shapes.row_moments import RowMoments, row_moments
from app.service.datasets.output_columns import scaled_numbers
from app.service.resources import Resources
from app.store.blobs.store import BlobRows
from app.tables.stream import category_text

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


def number_rows(batch: pa.RecordBatch | pa.Table, columns: Sequence[Column]) -> FloatArray:
    """The numbers of these columns on their scales, (n, d), NaN where missing."""
    n, d = batch.num_rows, len(columns)
    # Arrow keeps memory for the next batch; numpy's goes back to the system each time.
    memory = pa.allocate_buffer(8 * n * d)
    found = np.frombuffer(memory, dtype=np.float64).reshape(d, n).T
    for place, column in enumerate(columns):
        found[:, place] = scaled_numbers(column, batch.column(column.name))
    return found


@dataclass(frozen=True, repr=False)
class MomentsTask:
    """A run of a part's row groups, to be counted wherever the blob can be read.

    where:
        runs     rows [first, last) of the blob, a row group each
        retired  those of them that are withdrawn, counted from the blob's first
    """

    blob: str
    originals: BlobRows
    columns: tuple[Column, ...]
    runs: tuple[tuple[int, int], ...]
    retired: IntArray


def moments_of_runs(task: MomentsTask) -> list[RowMoments]:
    """The moments of each row group of a run: no row leaves the machine that reads it."""
    found = []
    for first, last in task.runs:
        names = [column.name for column in task.columns]
        (batch,) = task.originals.read_rows(task.blob, first, last, names)
        withdrawn = task.retired[slice(*np.searchsorted(task.retired, (first, last)))]
        if len(withdrawn):
            kept = np.ones(batch.num_rows, dtype=bool)
            kept[withdrawn - first] = False
            batch = batch.filter(pa.array(kept))
        found.append(row_moments(number_rows(batch, task.columns)))
    return found


def part_moments(
    resources: Resources, part: Part, columns: Sequence[Column], retired: IntArray
) -> RowMoments:
    """The moments of a part's rows in these columns, the same whoever counts them, to the bit where both count by compiled code or both by numpy (`runs`).

    Row groups are counted alone, by several at a time, and joined here in their order.
    """
    found = RowMoments.none(len(columns))
    first, last = np.searchsorted(retired, (part.first_row, part.end_row))
    if not columns:
        return replace(found, rows=part.rows - int(last - first))
    withdrawn = retired[first:last] - part.first_row
    groups = [
        (start, min(start + BLOCK_ROWS, part.rows)) for start in range(0, part.rows, BLOCK_ROWS)
    ]
    originals = resources.blobs.rows_of([part.blob])
    tasks = (
        MomentsTask(part.blob, originals, tuple(columns), tuple(groups[at : at + RUN]), withdrawn)
        for at in range(0, len(groups), RUN)
    )
    for moments in resources.executor.map(moments_of_runs, tasks):
        for one in moments:
            found = found.merged(one)
    return found


MOST_ROWS = MOST_DONORS
MOST_CELLS = 20_000_000
"""A table of more than 305 columns is sampled by fewer rows."""


@dataclass(frozen=True, repr=False)
class Batch:
    """Rows: their numbers (n, d), NaN where missing, and their records, coded as they were read or as text."""

    numbers: FloatArray
    records: pa.RecordBatch

    @classmethod
    def of(
        cls, rows: pa.RecordBatch | pa.Table, numbers: Sequence[Column], records: Sequence[str]
    ) -> Self:
        """These columns of rows."""
        return cls(number_rows(rows, numbers), rows.select(list(records)))

    def take(self, places: Places) -> Batch:
        """The rows at these places."""
        return Batch(self.numbers.T.take(places, axis=1).T, self.records.take(pa.array(places)))


@dataclass(frozen=True, repr=False)
class Sample:
    """Rows in the order of their words: their numbers (n, d), NaN where missing, and their categories.

    where:
        values  categorical column → the values that occur, a missing one among them
        codes   the places of all cells in these, (n, c)
    """

    numbers: FloatArray
    values: Mapping[str, pa.Array]
    codes: Codes

    @classmethod
    def of(cls, numbers: FloatArray, records: pa.Table) -> Self:
        """Batch from numbers and records of the same rows."""
        coded = {
            name: coded_values(category_text(records.column(name))) for name in records.column_names
        }
        codes = np.empty((len(numbers), len(coded)), dtype=np.int32)
        for place, column in enumerate(coded.values()):
            codes[:, place] = column.indices.to_numpy(zero_copy_only=False)
        values = {name: column.dictionary.cast(pa.large_string()) for name, column in coded.items()}
        return cls(numbers, values, codes)


def sampled_columns(columns: Sequence[Column]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The numeric columns, and the names of the categorical ones."""
    numbers = tuple(column for column in columns if column.kind.noised)
    records = tuple(column.name for column in columns if column.kind is Kind.CATEGORICAL)
    return numbers, records


def sample_key(secret: bytes) -> bytes:
    """The key of the words that choose rows."""
    info = b"cornerwave sample v1"
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


def sample_of(batches: Iterable[Batch], columns: Sequence[Column], key: bytes, rows: int) -> Sample:
    """The rows with the lowest words, in their order; all of them where there are few. `rows` is how many there are.

    Words are uniform, so that where the lowest end is known before: a batch keeps what lies below,
    with six standard deviations to spare.
    """
    most = most_rows(sum(map(len, sampled_columns(columns))))
    share = min(1.0, (most + 6.0 * most**0.5) / max(rows, 1))
    seen = 0
    words: list[Words] = []
    numbers: list[FloatArray] = []
    records: list[pa.Table] = []
    for batch in batches:
        here = part_words(key, 0, seen, len(batch.numbers))
        seen += len(here)
        kept = batch
        if share < 1:
            low = np.flatnonzero(here < np.uint64(share * 2.0**64))
            here, kept = here[low], batch.take(low)
        words.append(here)
        numbers.append(kept.numbers.T)
        records.append(_of_their_own(kept.records))
    order = np.argsort(np.concatenate(words))[:most]  # of 64 bits: no two are the same
    X = np.empty((len(numbers[0]), len(order)))
    for own, pieces in zip(X, zip(*numbers, strict=True), strict=True):
        own[:] = np.concatenate(pieces)[order]
    return Sample.of(
        X.T,
        pa.concat_tables(records).unify_dictionaries().combine_chunks().take(order),
    )


def _of_their_own(batch: pa.RecordBatch) -> pa.Table:
    """Rows to be held; lists of values longer than they are stay behind."""
    columns = [
        values.dictionary_decode().dictionary_encode()
        if pa.types.is_dictionary(values.type) and len(values.dictionary) > len(values)
        else values
        for values in batch.columns
    ]
    return pa.table(columns, names=batch.schema.names)


def most_rows(columns: int) -> int:
    """Return how many rows a sample of that many columns has, at most."""
    return min(MOST_ROWS, MOST_CELLS // max(columns, 1))


def coded_values(values: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """The values as places in a list of those that occur, a missing one among them."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if not pa.types.is_dictionary(whole.type):
        return whole.dictionary_encode(null_encoding="encode")
    # Values that only other rows have are left out of the list.
    listed = len(whole.dictionary)
    places = whole.indices.fill_null(listed).to_numpy(zero_copy_only=False)
    occurs = np.zeros(listed + 1, dtype=bool)
    occurs[places] = True
    own = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    known = whole.dictionary.cast(pa.large_string()).filter(pa.array(occurs[:listed]))
    missing = pa.nulls(int(occurs[listed]), pa.large_string())
    return pa.DictionaryArray.from_arrays(own[places], pa.concat_arrays([known, missing]))
