"""JSON parser for tables: `{"columns": {name: [values]}}`, a list of records or a record to a line, parsed by orjson."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import orjson
import pyarrow as pa

from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits
from app.tables.bodies.json_size import JsonSize, json_size
from app.tables.bodies.streams import CountedStream
from app.tables.media import JSON_LINES
from app.tables.values.normalisation import checked_names

JSON_BYTES = 16 * 2**20
"""Largest body. Parsed, it takes up to 26 times as much (texts of one or two letters): about 400 MB."""

OTHER_CONTAINERS = 1_000
"""Lists and objects beside those of the columns; an empty one takes 30 times its length, so they are counted first."""

RECORDS, RECORD_CELLS = 2**20, 2**22
"""Most records, and most cells of the table they make: one of the largest body has 2²² / 1.3, if no cell is missing."""

Cell = str | int | float | bool | None
TYPE_NAMES: dict[type, str] = {
    int: "numbers",
    float: "numbers",
    str: "texts",
    bool: "truth values",
    list: "a list",
    dict: "an object",
}
NESTED = ("a list", "an object")
WANTED = (
    'The body must be an object {"columns": {name: [values]}} or a list of records [{name: value}]'
)


def parse_json(body: CountedStream, limits: Limits) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the table in the JSON object that `body` is."""
    yield from _table(_whole(body), limits).to_batches(max_chunksize=BLOCK_ROWS)


def _table(text: bytes, limits: Limits) -> pa.Table:
    if not text.strip():
        raise InvalidTable("The body is empty")
    size = json_size(text)
    containers = size.containers
    if text.lstrip().startswith(b"[") or JSON_LINES.match(text):
        return pa.table(
            {name: _array(name, cells) for name, cells in _records(text, size, limits).items()}
        )
    if containers > limits.columns + OTHER_CONTAINERS:
        raise InvalidTable(
            f"{WANTED}, with no lists or objects among the values and at most {limits.columns}"
            " columns"
        )
    columns = _columns(text)
    checked_names(list(columns), limits)
    arrays = {name: _array(name, cells) for name, cells in columns.items()}
    if containers != 2 + len(columns):  # orjson keeps the last of two members of one name
        _refuse_duplicates(text)
        raise InvalidTable(WANTED)
    for (one, cells), (other, others) in pairwise(columns.items()):
        if len(cells) != len(others):
            raise InvalidTable(
                f"Column {one!r} has {len(cells)} values and column {other!r} has {len(others)}",
                column=other,
                row=min(len(cells), len(others)) + 1,
            )
    return pa.table(arrays)


def _whole(body: CountedStream) -> bytes:
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


def _columns(text: bytes) -> dict[str, list[Cell]]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _malformed() from None
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not all(isinstance(v, list) for v in columns.values()):
        raise InvalidTable(WANTED)
    return columns


def _records(text: bytes, size: JsonSize, limits: Limits) -> dict[str, list[Cell]]:
    """The columns of a list of records, or of lines of them; what a record has not is missing."""
    if size.containers > RECORDS:
        raise TooLarge(f"JSON may hold {RECORDS} records; send CSV", limit_records=RECORDS)
    try:
        if lines := JSON_LINES.match(text) is not None:
            records = [orjson.loads(line) for line in text.splitlines() if line.strip()]
        else:
            records = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _malformed() from None
    if not records or not all(isinstance(one, dict) for one in records):
        raise InvalidTable(WANTED)
    names = list(dict.fromkeys(name for one in records for name in one))
    checked_names(names, limits)
    if len(names) * len(records) > RECORD_CELLS:
        raise TooLarge(
            f"JSON records may make {RECORD_CELLS} cells; send CSV", limit_cells=RECORD_CELLS
        )
    # As many commas as there are between members: orjson keeps the last of two members of one name.
    between = sum(max(len(one) - 1, 0) for one in records) + (0 if lines else len(records) - 1)
    if size.containers == len(records) + (not lines) and size.commas != between:
        for line in text.splitlines() if lines else [text]:
            _refuse_duplicates(line)
    return {name: [one.get(name) for one in records] for name in names}


def _refuse_duplicates(text: bytes) -> None:
    """InvalidTable where a member of an object occurs twice."""

    def members(pairs: list[tuple[str, object]]) -> None:
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise InvalidTable(f"More than one column is called {name!r}", column=name)
            names.add(name)

    try:
        json.loads(text, object_pairs_hook=members)
    except (ValueError, RecursionError):
        raise _malformed() from None


def _array(name: str, cells: list[Cell]) -> pa.Array:
    """The values in Arrow's type for them; InvalidTable for values of two types, lists and objects."""
    types = set(map(type, cells)) - {type(None)}
    if list in types or dict in types or len({TYPE_NAMES[kind] for kind in types}) > 1:
        raise _mixed(name, cells)
    if float in types:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if str in types:
        return pa.array(cells, pa.large_string())
    try:
        return pa.array(cells)
    except (OverflowError, pa.ArrowInvalid):  # beyond 64 bits with a sign
        integers = [cell for cell in cells if isinstance(cell, int)]
        if min(integers) >= 0:
            return pa.array(cells, pa.uint64())
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.large_string())


def _mixed(name: str, cells: list[Cell]) -> InvalidTable:
    """The error for the first value of another type than those before it, or that is no value at all."""
    found = [None if cell is None else TYPE_NAMES[type(cell)] for cell in cells]
    first = next(filter(None, found))
    row = next(
        row for row, kind in enumerate(found, 1) if kind in NESTED or kind not in (None, first)
    )
    begins = "" if found[row - 1] in NESTED else f"begins with {first} and "
    return InvalidTable(
        f"Column {name!r} {begins}holds {found[row - 1]} in row {row}", column=name, row=row
    )


def _malformed() -> InvalidTable:
    return InvalidTable("The body is not well-formed JSON")
