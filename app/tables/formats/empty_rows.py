"""Empty rows below a table, as spreadsheets write them: lines of nothing but delimiters.

Such are records of nobody. They are told by their bytes, since a row of `NA` is as empty once it is parsed and may be
somebody's; what they are in rows is told by the cells, since a line in quotes is none. Those between others stay.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from app.model import Notice
from app.tables.bodies.encoding import Rewound

ROWS_AT_ONCE = 4096


class EmptyLines:
    """A body that counts the lines at its end that hold delimiters and nothing else."""

    closed = False

    def __init__(self, body: Rewound, delimiter: str) -> None:
        self._body = body
        self._delimiter = delimiter.encode()
        self._nothing = self._delimiter + b'\r\n" '
        self._ended = 0
        self._filled = False
        self._delimited = False

    def read(self, size: int, /) -> bytes:
        data = self._body.read(size)
        content = len(data.rstrip(self._nothing))
        if content:
            self._ended, self._filled = 0, True
        for line in data[content:].splitlines(keepends=True):
            self._delimited |= self._delimiter in line
            if line.endswith((b"\n", b"\r")):
                self._ended = self.count
                self._filled = self._delimited = False
        return data

    @property
    def count(self) -> int:
        """How many there are at the end of what was read."""
        return self._ended + (self._delimited and not self._filled)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The body belongs to the request, which closes it."""


def without_empty_end(
    batches: Iterator[pa.RecordBatch], lines: EmptyLines, notices: list[Notice]
) -> Iterator[pa.RecordBatch]:
    """The batches without the empty rows at their end, which a notice tells; a table of nothing else as it is."""
    held, schema = 0, None
    kept = 0
    for batch in batches:
        schema = batch.schema
        empty = _empty_at_end(batch)
        if empty < batch.num_rows:
            yield from _missing(held, schema)
            yield batch.slice(0, batch.num_rows - empty)
            kept += held + batch.num_rows - empty
            held = 0
        held += empty
    left_out = min(held, lines.count) if kept else 0
    if schema is not None:
        yield from _missing(held - left_out, schema)
    if left_out:
        first = kept + held - left_out + 1
        notices.append(
            Notice(
                "empty-rows",
                f"Left out at the end of the table: {left_out} row{'s' if left_out > 1 else ''} in which every "
                f"field is empty, from row {first} on. Spreadsheets write such for cells that once held "
                "something.",
            )
        )


def _empty_at_end(batch: pa.RecordBatch) -> int:
    """How many rows at the end have no cell."""
    if not batch.num_rows or any(cells[-1].is_valid for cells in batch.columns):
        return 0
    filled = np.zeros(batch.num_rows, dtype=bool)
    for cells in batch.columns:
        filled |= cells.is_valid().to_numpy(zero_copy_only=False)
    return int(np.argmax(filled[::-1])) if filled.any() else batch.num_rows


def _missing(rows: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while rows:
        some = min(rows, ROWS_AT_ONCE)
        yield pa.RecordBatch.from_arrays(
            [pa.nulls(some, field.type) for field in schema], schema=schema
        )
        rows -= some
