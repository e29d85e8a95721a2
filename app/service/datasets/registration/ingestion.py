"""Ingestion of a table in one pass: store rows, collect statistics, fingerprints and column profiles.

Nothing here knows of a database. Memory holds a block of numbers, d² moments and at most the allowed
number of categories for each text column.

Number columns are gathered into blocks, each looked at once. Batches are as short as the reader made them. Merging
moments costs d² for each block however few rows it has, so rows are gathered until the products over them are what
takes the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from app.errors import InvalidParameter, InvalidTable
from app.model import BLOCK_ROWS, Column, ColumnOverrides, Kind, Limits, Storage
from app.numerics.arrays import Flags, FloatArray, IntArray
from app.numerics.copies.grid import largest_magnitude
from app.numerics.moments import Moments, block_moments
from app.service.progress import NO_PROGRESS, Progress
from app.tables.columns import (
    ColumnProfile,
    ColumnProfiler,
    inferred_column,
    refuse_unknown_columns,
    repeating_columns,
)
from app.tables.dialect.number_syntax import NUMBERS_FROM, is_number
from app.tables.stream import TableColumn, TableStream

BLOCK_BYTES = 32 * 2**20
"""What a block may take: 2,000 columns have 2,097 rows in it, up to 64 columns all 65,536."""


@dataclass(frozen=True)
class NumberStatistics:
    """Statistics of d number columns; arrays of length d, in their order.

    where:
        missing  how many cells are missing
        integer  whether there are values, all of them integers
        largest  the largest magnitude
    """

    rows: int
    missing: IntArray
    integer: Flags
    largest: FloatArray
    moments: Moments


class NumberBlocks:
    """Gathers the rows of some number columns and looks at each full block."""

    def __init__(self, names: Sequence[str]) -> None:
        d = len(names)
        self._names = names
        self._block = np.empty((d, min(BLOCK_ROWS, BLOCK_BYTES // (8 * max(d, 1)))))
        self._filled = 0
        self._rows = 0
        self._missing = np.zeros(d, np.int64)
        self._integer = np.ones(d, np.bool_)
        self._largest = np.zeros(d)
        self._moments = Moments.none(d)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the columns of a batch; missing cells are NaN from here on."""
        columns = [batch.column(name) for name in self._names]
        taken = 0
        while taken < batch.num_rows:
            stop = min(self._block.shape[1], self._filled + batch.num_rows - taken)
            length = stop - self._filled
            for row, values in zip(self._block, columns, strict=True):
                part = values.slice(taken, length).to_numpy(zero_copy_only=False)
                row[self._filled : stop] = part
            self._filled = stop
            taken += length
            if stop == self._block.shape[1]:
                self._look()

    def seen(self) -> NumberStatistics:
        """Return the statistics of all rows so far; InvalidTable when a variance exceeds the doubles."""
        self._look()
        finite = np.isfinite(np.diag(self._moments.comoment))
        if not finite.all():
            name = self._names[int(np.argmin(finite))]
            raise InvalidTable(
                f"The numbers of column {name!r} are so large that their variance cannot be "
                "computed",
                column=name,
            )
        return NumberStatistics(
            rows=self._rows,
            missing=self._missing,
            integer=self._integer & (self._missing < self._rows),
            largest=self._largest,
            moments=self._moments,
        )

    def _look(self) -> None:
        """Look at the block as far as it is filled, and begin anew."""
        block = self._block[:, : self._filled]
        absent = np.isnan(block)
        self._rows += self._filled
        self._missing = self._missing + absent.sum(axis=1)
        for position in np.flatnonzero(self._integer):
            values = block[position]
            # Beyond 2⁵³ doubles have gaps: whatever was counted there, it was not integers.
            whole = (values == np.floor(values)) & (np.abs(values) <= 2.0**53)
            whole |= absent[position]
            self._integer[position] = whole.all()
        magnitudes = [largest_magnitude(values) for values in block]
        self._largest = np.maximum(self._largest, magnitudes)
        self._moments = self._moments.merged(block_moments(block.T))
        self._filled = 0


class RowSink(Protocol):
    """Destination of rows: an upload to the blob store."""

    def write(self, batch: pa.RecordBatch, /) -> None: ...


@dataclass(frozen=True)
class IngestedTable:
    """Result of an ingestion.

    where:
        numbers     names of the columns kept as numbers, in the order of `moments`
        categories  for each column of text, or said to be categorical, how often each value occurs,
                    unless there are too many
        largest     for each column kept as numbers, the largest magnitude in it
        looks       for each column, what its owner is shown of it
        repeats     column → one before it that says the same, one to one
    """

    rows: int
    columns: tuple[Column, ...]
    numbers: tuple[str, ...]
    moments: Moments
    categories: Mapping[str, Mapping[str, int]]
    largest: Mapping[str, float]
    looks: Mapping[str, ColumnProfile]
    repeats: Mapping[str, str]


def ingest(
    stream: TableStream,
    overrides: Mapping[str, ColumnOverrides],
    sink: RowSink,
    limits: Limits,
    progress: Progress = NO_PROGRESS,
) -> IngestedTable:
    """Pass all rows of `stream` on to `sink` and say what they are.

    InvalidParameter for an override of a column that is not there or that its values do not allow,
    InvalidTable for numbers whose variance exceeds the doubles; whatever the stream finds wrong
    passes through. The sink may have rows by then: the principal throws them away.
    """
    refuse_unknown_columns(overrides, [column.name for column in stream.columns])
    names = tuple(c.name for c in stream.columns if c.storage is Storage.NUMBER)
    numbers = NumberBlocks(names)
    profilers = [
        ColumnProfiler(
            column,
            limits.categories,
            counted=overrides.get(column.name, ColumnOverrides()).kind is Kind.CATEGORICAL,
        )
        for column in stream.columns
    ]
    rows = 0
    repeats: dict[str, str] = {}
    for batch in stream.batches:
        progress.raise_if_cancelled()
        sink.write(batch)
        if rows == 0:
            repeats = repeating_columns(batch)
        rows += batch.num_rows
        numbers.add(batch)
        for one, values in zip(profilers, batch.columns, strict=True):
            one.add(values)
    seen = numbers.seen()
    looks = {one.name: one.profile() for one in profilers}
    for column in stream.columns:
        if column.empty and column.name not in overrides:
            _refuse_late_numbers(column, looks[column.name])
    whole = dict(zip(names, seen.integer.tolist(), strict=True))
    columns = tuple(
        inferred_column(
            column,
            looks[column.name],
            overrides.get(column.name),
            limits.categories,
            integer=whole.get(column.name, False),
        )
        for column in stream.columns
    )
    categories = {
        column.name: counts
        for column in columns
        if (counts := looks[column.name].counts) is not None
        and (column.storage is Storage.TEXT or column.kind is Kind.CATEGORICAL)
    }
    refuse_too_many(columns, categories, limits.categories)
    return IngestedTable(
        rows=rows,
        columns=columns,
        numbers=names,
        moments=seen.moments,
        categories=categories,
        largest=dict(zip(names, seen.largest.tolist(), strict=True)),
        looks=looks,
        repeats=repeats,
    )


def refuse_too_many(
    columns: tuple[Column, ...], categories: Mapping[str, Mapping[str, int]], limit: int
) -> None:
    """InvalidParameter for a categorical column with more values than are counted, or than `limit`."""
    for column in columns:
        counted = column.name in categories and len(categories[column.name]) <= limit
        if column.kind is Kind.CATEGORICAL and not counted:
            raise InvalidParameter(
                f"Column {column.name!r} has more than {limit} different values and cannot be "
                "categorical",
                column=column.name,
                limit=limit,
            )


def _refuse_late_numbers(column: TableColumn, look: ColumnProfile) -> None:
    """InvalidTable when a column that began empty, and was taken for text, turns out to be numbers."""
    numbers = sum(map(is_number, look.sample))
    if (
        look.values
        and column.storage is Storage.TEXT
        and numbers >= NUMBERS_FROM * len(look.sample)
    ):
        raise InvalidTable(
            f"Column {column.name!r} is empty at first and holds numbers further down; say "
            f'columns={{"{column.name}": "numeric"}} to have it read as such.',
            column=column.name,
        )
