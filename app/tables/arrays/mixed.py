"""Numeric matrix and category codes of a table, and back to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.tables import MixedTable
from app.tables.values.dates import CAME_AS_DATE, FIRST_DAY, LAST_DAY, as_dates

LARGEST_NUMBER = 1e150
"""Squares of larger numbers are beyond the doubles."""


@dataclass(frozen=True)
class EncodedTable:
    """A table as arrays, with the names of its columns and categories.

    where:
        numbers, texts  names of the columns of `cells.numeric` and of `cells.codes`
        vocabularies    the categories of each text column, by code
        dates           the columns of numbers that are days
    """

    cells: MixedTable
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    vocabularies: tuple[pa.Array, ...]
    dates: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return self.numbers + self.texts


def encoded(
    table: pa.Table, names: Sequence[str], vocabularies: Mapping[str, pa.Array] | None = None
) -> EncodedTable:
    """Return the columns `names` as arrays; InvalidTable for numbers beyond 1e150.

    Tables that are compared need the same `vocabularies`; without them each text column has its own.
    """
    numbers = tuple(name for name in names if is_number(table, name))
    texts = tuple(name for name in names if not is_number(table, name))
    rows = table.num_rows
    numeric = np.empty((rows, len(numbers)))
    for position, name in enumerate(numbers):
        numeric[:, position] = _values(table, name)
    words = tuple(
        vocabulary(table, name) if vocabularies is None else vocabularies[name] for name in texts
    )
    codes = np.empty((rows, len(texts)), dtype=np.intp)
    for position, (name, known) in enumerate(zip(texts, words, strict=True)):
        places = pc.index_in(table.column(name), value_set=known)
        codes[:, position] = pc.fill_null(places, -1).to_numpy()
    sizes = tuple(len(known) for known in words)
    dates = frozenset(name for name in numbers if table.schema.field(name).metadata == CAME_AS_DATE)
    return EncodedTable(MixedTable(numeric, codes, sizes), numbers, texts, words, dates)


def decoded(made: MixedTable, like: EncodedTable, names: Sequence[str]) -> pa.Table:
    """Return an Arrow table of the columns `names`; one that `like` does not have is empty.

    A number column without any fraction is a column of integers, so that no format writes 40.0, and one of
    days a column of dates.
    """
    columns: dict[str, pa.Array] = {}
    for values, name in zip(made.numeric.T, like.numbers, strict=True):
        if name in like.dates:
            days = np.clip(np.rint(values), FIRST_DAY, LAST_DAY)
            columns[name] = as_dates(pa.array(days, from_pandas=True))
            continue
        column = pa.array(values, from_pandas=True)
        whole = np.isnan(values) | (values == np.rint(values))
        exact = whole.all() and np.nanmax(np.abs(values), initial=0.0) < 2**53
        columns[name] = column.cast(pa.int64()) if exact else column
    for codes, name, known in zip(made.codes.T, like.texts, like.vocabularies, strict=True):
        columns[name] = known.take(pa.array(codes, mask=codes < 0))
    nothing = pa.nulls(made.records, pa.large_string())
    return pa.table({name: columns.get(name, nothing) for name in names})


def is_number(table: pa.Table, name: str) -> bool:
    """Return whether the column holds numbers; everything else is text."""
    return bool(pa.types.is_floating(table.schema.field(name).type))


def vocabulary(table: pa.Table, name: str) -> pa.Array:
    """Return the different texts of a column, in order of appearance."""
    return pc.unique(table.column(name).drop_null())


def empty_columns(table: pa.Table) -> list[str]:
    """The columns without any value."""
    return [name for name in table.column_names if table.column(name).null_count == table.num_rows]


def _values(table: pa.Table, name: str) -> FloatArray:
    values: FloatArray = table.column(name).to_numpy()
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST_NUMBER:
        raise InvalidTable(f"Column {name!r} has a number beyond {LARGEST_NUMBER:g}", column=name)
    return values
