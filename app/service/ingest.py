"""One pass over a table on its way in: its rows are kept, and all that is known of them is found.

Nothing here knows of a database. Memory holds a block of numbers, d² moments and at most the allowed
number of categories for each text column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter
from app.model import Column, ColumnWish, Kind, Limits, Storage
from app.numerics.moments import Moments
from app.service.kinds import Facts, column_of, refuse_unknown
from app.service.number_blocks import NumberBlocks, NumbersSeen
from app.service.table_stream import TableStream, category_text


class RowSink(Protocol):
    """Where rows are kept: an upload to the blob store."""

    def write(self, batch: pa.RecordBatch, /) -> None: ...


@dataclass(frozen=True)
class Ingested:
    """What a pass found.

    where:
        numbers     names of the columns kept as numbers, in the order of `moments`
        categories  for each column of text, or wished categorical, how often each value occurs,
                    unless there are too many
        largest     for each column kept as numbers, the largest magnitude in it
    """

    rows: int
    columns: tuple[Column, ...]
    numbers: tuple[str, ...]
    moments: Moments
    categories: Mapping[str, Mapping[str, int]]
    largest: Mapping[str, float]


def ingest(
    stream: TableStream, wishes: Mapping[str, ColumnWish], sink: RowSink, limits: Limits
) -> Ingested:
    """Pass all rows of `stream` on to `sink` and say what they are.

    InvalidParameter for a wish about a column that is not there or that its values do not allow,
    InvalidTable for numbers whose variance exceeds the doubles; whatever the stream finds wrong
    passes through. The sink may have rows by then: the caller throws them away.
    """
    refuse_unknown(wishes, tuple(column.name for column in stream.columns))
    names = tuple(c.name for c in stream.columns if c.storage is Storage.NUMBER)
    numbers = NumberBlocks(names)
    counted = [
        CountedColumn(c.name, limits.categories)
        for c in stream.columns
        if c.storage is Storage.TEXT or _kind(wishes.get(c.name)) is Kind.CATEGORICAL
    ]
    rows = 0
    for batch in stream.batches:
        sink.write(batch)
        rows += batch.num_rows
        numbers.add(batch)
        for column in counted:
            column.see(batch.column(column.name))
    seen = numbers.seen()
    facts = {column.name: column.facts(rows) for column in counted} | _number_facts(seen, names)
    columns = tuple(
        column_of(facts[c.name], wishes.get(c.name), limits.categories) for c in stream.columns
    )
    categories = {column.name: column.counts for column in counted if column.counts is not None}
    refuse_too_many(columns, categories, limits.categories)
    return Ingested(
        rows=rows,
        columns=columns,
        numbers=names,
        moments=seen.moments,
        categories=categories,
        largest=dict(zip(names, seen.largest.tolist(), strict=True)),
    )


class CountedColumn:
    """How often each value of a column occurs, as far as there are not too many different ones."""

    def __init__(self, name: str, categories: int) -> None:
        self.name = name
        self._allowed = categories
        self._missing = 0
        self.counts: Counter[str] | None = Counter()

    def see(self, values: pa.Array) -> None:
        """Take note of a batch."""
        self._missing += values.null_count
        if self.counts is None:
            return
        found = pc.value_counts(values.drop_null())
        if len(found) <= self._allowed:
            distinct, counts = found.flatten()
            names = category_text(distinct).to_pylist()
            self.counts.update(dict(zip(names, counts.to_pylist(), strict=True)))
        if max(len(found), len(self.counts)) > self._allowed:
            self.counts = None

    def facts(self, rows: int) -> Facts:
        return Facts(
            self.name,
            Storage.TEXT,
            values=rows - self._missing,
            missing=self._missing,
            distinct=None if self.counts is None else len(self.counts),
        )


def _kind(wish: ColumnWish | None) -> Kind | None:
    return None if wish is None else wish.kind


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


def _number_facts(seen: NumbersSeen, names: tuple[str, ...]) -> dict[str, Facts]:
    found = zip(names, seen.missing.tolist(), seen.integer.tolist(), strict=True)
    return {
        name: Facts(
            name, Storage.NUMBER, values=seen.rows - missing, missing=missing, integer=integer
        )
        for name, missing, integer in found
    }
