"""JSON in: `{"columns": {name: [values]}}`, held as text and parsed piece by piece.

The outline of the text is found first (`tables/bodies/json_outline.py`). It says where the columns' lists
begin and end and how many cells they have, so that nothing is unpacked that cannot be a table; then
each list is parsed in pieces, and what a piece unpacked to is an Arrow array before the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables.bodies.encoding import Counted
from app.tables.bodies.json_outline import BRACKET, COMMA, positions
from app.tables.stream import TableStream
from app.tables.values.cells import checked_names
from app.tables.values.normalising import normalised

JSON_BYTES, JSON_CELLS = 64 * 2**20, 6_000_000
"""The largest JSON body and its cells; what is above is better sent as CSV, Parquet or Arrow."""

PIECE_CELLS = 2**15
"""Cells parsed at once: the parser keeps the interpreter's lock."""

OTHER_MEMBERS = 1_000
"""Commas there may be besides those between columns and cells."""

Cell = str | int | float | bool | None
NUMBERS, TEXTS, TRUTHS = "numbers", "texts", "truth values"
SORTS: dict[type, str] = {int: NUMBERS, float: NUMBERS, str: TEXTS, bool: TRUTHS}
WANTED = 'The body must be an object {"columns": {name: [values]}}'


def read_json(body: Counted, limits: Limits, wished: Mapping[str, Storage]) -> TableStream:
    """The table in the JSON object that `body` is."""
    text = _whole(body)
    if not text.strip():
        raise InvalidTable("The body is empty")
    outline = _outlined(text, limits)
    names = _names(text, outline)
    checked_names(names, limits)
    lengths = [outline.cells(text, number) for number in range(len(names))]
    columns = [_Column(name, outline.pieces(text, at)) for at, name in enumerate(names)]
    for (one, rows), (other, others) in pairwise(zip(names, lengths, strict=True)):
        if rows != others:
            raise InvalidTable(
                f"Column {one!r} has {rows} values and column {other!r} has {others}",
                column=other,
                row=min(rows, others) + 1,
            )
    arrays = {column.name: column.array() for column in columns}
    return normalised(_batches(pa.table(arrays)), limits, wished)


@dataclass(frozen=True)
class _Outline:
    """Where the lists of a text begin and end, and all commas."""

    opened: NDArray[np.int64]
    closed: NDArray[np.int64]
    commas: NDArray[np.int64]

    def within(self, number: int) -> NDArray[np.int64]:
        """The commas between the cells of a list."""
        first, last = np.searchsorted(self.commas, (self.opened[number], self.closed[number]))
        return self.commas[first:last]

    def cells(self, text: bytes, number: int) -> int:
        """How many cells a list has."""
        content = text[int(self.opened[number]) + 1 : int(self.closed[number])]
        return len(self.within(number)) + 1 if content.strip() else 0

    def pieces(self, text: bytes, number: int) -> Iterator[bytes]:
        """The content of a list, cut at commas."""
        start, end = int(self.opened[number]) + 1, int(self.closed[number])
        for comma in self.within(number)[PIECE_CELLS - 1 :: PIECE_CELLS]:
            yield text[start : int(comma)]
            start = int(comma) + 1
        yield text[start:end]


def _outlined(text: bytes, limits: Limits) -> _Outline:
    """The outline of a text that can be a table; refused is what would unpack to much else."""
    brackets = positions(text, BRACKET, 2 * limits.columns + OTHER_MEMBERS)
    if brackets is None:
        raise InvalidTable(
            f"{WANTED}, with no lists or objects among the values and at most {limits.columns}"
            " columns"
        )
    commas = positions(text, COMMA, JSON_CELLS + limits.columns + OTHER_MEMBERS)
    if commas is None:
        raise TooLarge(
            f"A table as JSON may have {JSON_CELLS} values; send a larger one as CSV, Parquet or an"
            " Arrow stream",
            limit_cells=JSON_CELLS,
        )
    kinds = np.frombuffer(text, dtype=np.uint8)[brackets]
    at = np.flatnonzero(kinds == ord("["))
    follows = np.append(kinds, 0)[at + 1]
    if (nested := np.flatnonzero(follows != ord("]"))).size:
        raise _nested(text, brackets, commas, int(at[nested[0]]))
    outline = _Outline(brackets[at], brackets[at + 1], commas)
    between = len(commas) - sum(len(outline.within(number)) for number in range(len(at)))
    if between > limits.columns + OTHER_MEMBERS:
        raise InvalidTable(WANTED)
    return outline


def _nested(
    text: bytes, brackets: NDArray[np.int64], commas: NDArray[np.int64], at: int
) -> InvalidTable:
    """The error for a list that holds another, or that is never closed."""
    if at + 1 >= len(brackets):
        return _malformed()
    start, inner = int(brackets[at]), int(brackets[at + 1])
    if text[inner : inner + 1] not in b"[{":
        return _malformed()
    row = int(np.diff(np.searchsorted(commas, (start, inner)))[0]) + 1
    # The last string before the list is its name, unless there is a quote in that.
    try:
        before = json.loads(
            text[text.rindex(b'"', 0, text.rindex(b'"', 0, start)) :].split(b":")[0]
        )
    except ValueError:
        return InvalidTable(f"A column holds a list or an object in row {row}", row=row)
    return InvalidTable(
        f"Column {before!r} holds a list or an object in row {row}", column=before, row=row
    )


def _names(text: bytes, outline: _Outline) -> list[str]:
    """The names of the columns, in the order of their lists; InvalidTable where one is met twice."""
    parts, start = [], 0
    for number, (opened, closed) in enumerate(zip(outline.opened, outline.closed, strict=True)):
        parts += [text[start : int(opened)], b"[%d]" % number]
        start = int(closed) + 1
    parts.append(text[start:])
    try:
        document = json.loads(b"".join(parts), object_pairs_hook=_refuse_twice)
    except (ValueError, RecursionError):
        raise _malformed() from None
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not all(isinstance(v, list) for v in columns.values()):
        raise InvalidTable(WANTED)
    if [number for [number] in columns.values()] != list(range(len(outline.opened))):
        raise InvalidTable(WANTED)  # there are lists elsewhere
    return list(columns)


def _refuse_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    seen: dict[str, object] = {}
    for name, value in pairs:
        if name in seen:
            raise InvalidTable(f"More than one column is called {name!r}", column=name)
        seen[name] = value
    return seen


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


@dataclass
class _Column:
    """A column that is parsed piece by piece."""

    name: str
    pieces: Iterator[bytes]
    rows: int = 0
    sort: str | None = None
    parsed: list[pa.Array] = field(default_factory=list)

    def array(self) -> pa.ChunkedArray:
        """All cells as Arrow has them, if they are of one sort."""
        for piece in self.pieces:
            if piece.strip():
                self._add(_cells(piece))
            elif self.rows:
                raise _malformed()  # a comma with nothing behind it
        kinds = {part.type for part in self.parsed} - {pa.null()}
        if len(kinds) > 1:
            self.parsed = [_alike(part, kinds) for part in self.parsed]
        kind = next(iter({part.type for part in self.parsed} - {pa.null()}), pa.null())
        return pa.chunked_array(
            [part.cast(kind) if pa.types.is_null(part.type) else part for part in self.parsed],
            kind,
        )

    def _add(self, cells: list[Cell]) -> None:
        sorts = {SORTS.get(kind, "") for kind in set(map(type, cells)) - {type(None)}}
        if len(sorts | ({self.sort} if self.sort else set())) > 1:
            raise self._mixed(cells)
        self.sort = next(iter(sorts), self.sort)
        self.parsed.append(_array(cells, sorts))
        self.rows += len(cells)

    def _mixed(self, cells: list[Cell]) -> InvalidTable:
        for row, cell in enumerate(cells, start=self.rows + 1):
            this = None if cell is None else SORTS[type(cell)]
            self.sort = self.sort or this
            if this not in (None, self.sort):
                return InvalidTable(
                    f"Column {self.name!r} begins with {self.sort} and holds {this} in row {row}",
                    column=self.name,
                    row=row,
                )
        raise ValueError("the column is of one sort")


def _cells(piece: bytes) -> list[Cell]:
    try:
        cells: list[Cell] = orjson.loads(b"[" + piece + b"]")
    except orjson.JSONDecodeError:
        raise _malformed() from None
    return cells


def _array(cells: list[Cell], sorts: set[str]) -> pa.Array:
    if not sorts:
        return pa.nulls(len(cells))
    if sorts == {TEXTS}:
        return pa.array(cells, pa.large_string())
    if sorts == {TRUTHS}:
        return pa.array(cells, pa.bool_())
    if float in set(map(type, cells)):
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    try:
        return pa.array(cells, pa.int64())
    except OverflowError:
        return (
            pa.array(cells, pa.uint64())
            if all(cell is None or (isinstance(cell, int) and cell >= 0) for cell in cells)
            else pa.array(
                [None if cell is None else str(cell) for cell in cells], pa.large_string()
            )
        )


def _alike(part: pa.Array, kinds: set[pa.DataType]) -> pa.Array:
    """Numbers of several types as one: doubles where there is one, else digits, which lose nothing."""
    if pa.types.is_null(part.type):
        return part
    return pc.cast(part, pa.float64() if pa.float64() in kinds else pa.large_string(), safe=False)


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=BLOCK_ROWS)


def _malformed() -> InvalidTable:
    return InvalidTable("The body is not well-formed JSON")
