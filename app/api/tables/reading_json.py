"""JSON in: `{"columns": {name: [values]}}`, in memory and therefore smaller than the other formats."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise

import orjson
import pyarrow as pa

from app.api.tables.cells import checked_names
from app.api.tables.encoding import Counted
from app.api.tables.normalising import normalised
from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.service.table_stream import TableStream

JSON_BYTES = 64 * 2**20
"""The largest JSON body; a table above it is better sent as CSV, Parquet or an Arrow stream."""

Cell = str | int | float | bool | None
NUMBERS, TEXTS, TRUTHS = "numbers", "texts", "truth values"
SORTS: dict[type, str] = {int: NUMBERS, float: NUMBERS, str: TEXTS, bool: TRUTHS}


def read_json(body: Counted, limits: Limits, wished: Mapping[str, Storage]) -> TableStream:
    """The table in the JSON object that `body` is."""
    text = _whole(body)
    columns = _parsed(text)
    checked_names(list(columns), limits)
    lengths = {name: len(values) for name, values in columns.items()}
    for (one, rows), (other, others) in pairwise(lengths.items()):
        if rows != others:
            raise InvalidTable(
                f"Column {one!r} has {rows} values and column {other!r} has {others}",
                column=other,
                row=min(rows, others) + 1,
            )
    arrays = {name: _array(name, values) for name, values in columns.items()}
    _refuse_equal_names(text, len(columns))
    return normalised(_batches(pa.table(arrays)), limits, wished)


def _parsed(body: bytes) -> dict[str, list[Cell]]:
    """The columns by name, or InvalidTable. Cells are not looked at yet."""
    if not body.strip():
        raise InvalidTable("The body is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:  # also for nesting beyond orjson's limit
        raise InvalidTable("The body is not well-formed JSON") from None
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not all(isinstance(v, list) for v in columns.values()):
        raise InvalidTable('The body must be an object {"columns": {name: [values]}}')
    return columns


def _refuse_equal_names(body: bytes, columns: int) -> None:
    """InvalidTable when a name occurs twice, of which a parser keeps the last in silence.

    With all names different there is one colon for each and one behind "columns"; more of them,
    be it in a text, call for a slower look.
    """
    if body.count(b":") > 1 + columns:
        try:
            json.loads(body, object_pairs_hook=_refuse_twice)
        except RecursionError:
            raise InvalidTable('The body must be an object {"columns": {name: [values]}}') from None


def _whole(body: Counted) -> bytes:
    parts = []
    while data := body.read(2**20):
        parts.append(data)
        if body.count > JSON_BYTES:
            raise TooLarge(
                f"A JSON body may have {JSON_BYTES} bytes; send a larger table as CSV, Parquet or "
                "an Arrow stream",
                limit_bytes=JSON_BYTES,
            )
    return b"".join(parts)


def _refuse_twice(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise InvalidTable(f"More than one column is called {name!r}", column=name)
        seen.add(name)


def _array(name: str, values: list[Cell]) -> pa.Array:
    """One column as Arrow has it, if its cells are all of one sort."""
    sorts = {SORTS.get(kind, "nested values") for kind in set(map(type, values)) - {type(None)}}
    if not sorts:
        return pa.nulls(len(values))
    if len(sorts) > 1 or "nested values" in sorts:
        raise _mixed(name, values)
    if sorts == {NUMBERS}:
        return _numbers(values)
    return pa.array(values, pa.bool_() if sorts == {TRUTHS} else pa.large_string())


def _numbers(values: list[Cell]) -> pa.Array:
    if float in set(map(type, values)):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    try:
        return pa.array(values, pa.int64())
    except OverflowError:
        return pa.array([None if value is None else str(value) for value in values])


def _mixed(name: str, values: list[Cell]) -> InvalidTable:
    sort = None
    for row, value in enumerate(values, start=1):
        if value is None:
            continue
        this = SORTS.get(type(value))
        sort = sort or this
        if this is None:
            return InvalidTable(
                f"Column {name!r} holds a list or an object in row {row}", column=name, row=row
            )
        if this != sort:
            return InvalidTable(
                f"Column {name!r} begins with {sort} and holds {this} in row {row}",
                column=name,
                row=row,
            )
    raise ValueError("the column is of one sort")


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=BLOCK_ROWS)
