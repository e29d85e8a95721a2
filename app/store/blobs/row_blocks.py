"""Rows on their way into a blob: in blocks of exactly so many, and digested, the same however they were cut into batches.

What rows are is 32 bytes:

    column = SHA-256(numbers, little-endian doubles, missing ones as one NaN), or
             SHA-256(lengths of the texts in bytes, 4 bytes each, little-endian, -1 where missing)
             followed by SHA-256(the texts, one after the other)
    digest = SHA-256("cornerwave rows v1" ‖ 0 ‖ rows ‖ for each column: length of its name ‖ name ‖
             "n" or "t" ‖ column), numbers as 8 bytes, big-endian

Whoever keeps it must key it: with the rows of a guess, anybody computes it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import TooLarge
from app.model import BLOCK_ROWS

BLOCK_BYTES = 2**30
"""What a block may take in memory: 2,000 columns of numbers, or texts of 16 KiB a row."""


class RowBlocks:
    """Holds back rows until a block is full."""

    def __init__(self, rows: int = BLOCK_ROWS) -> None:
        self._rows = rows
        self._held: list[pa.RecordBatch] = []
        self._count = 0
        self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """The blocks that are full now that `batch` came; TooLarge when one takes too much."""
        while self._count + batch.num_rows >= self._rows:
            taken = self._rows - self._count
            self._held.append(batch.slice(0, taken))
            yield from self.rest()
            batch = batch.slice(taken)
        if batch.num_rows:
            self._held.append(batch)
            self._count += batch.num_rows
            self._bytes += batch.nbytes
            if self._bytes > BLOCK_BYTES:
                raise TooLarge(
                    f"{self._rows} rows of the table take more than {BLOCK_BYTES} bytes; leave out "
                    "long texts",
                    limit_bytes=BLOCK_BYTES,
                )

    def rest(self) -> Iterator[pa.Table]:
        """What is held back, as a last and shorter block, if it is anything."""
        held, self._held, self._count, self._bytes = self._held, [], 0, 0
        if held:
            yield pa.Table.from_batches(held)


def row_blocks(batches: Iterator[pa.RecordBatch], rows: int = BLOCK_ROWS) -> Iterator[pa.Table]:
    """The same rows in blocks of `rows`, the last one perhaps shorter."""
    blocks = RowBlocks(rows)
    for batch in batches:
        yield from blocks.add(batch)
    yield from blocks.rest()


class RowDigest:
    """Takes note of rows as they come."""

    def __init__(self, schema: pa.Schema) -> None:
        self._rows = 0
        self._columns = [
            (field.name, Numbers() if pa.types.is_floating(field.type) else Texts())
            for field in schema
        ]

    def add(self, batch: pa.RecordBatch) -> None:
        """Take note of the rows of `batch`, of any number."""
        self._rows += batch.num_rows
        for name, column in self._columns:
            column.add(batch.column(name))

    def digest(self) -> bytes:
        """The digest of all rows so far."""
        whole = hashlib.sha256(b"cornerwave rows v1\0" + struct.pack(">Q", self._rows))
        for name, column in self._columns:
            said = name.encode()
            whole.update(struct.pack(">Q", len(said)) + said + column.tag + column.digest())
        return whole.digest()


class Numbers:
    """A column of doubles."""

    tag = b"n"

    def __init__(self) -> None:
        self._values = hashlib.sha256()

    def add(self, values: pa.Array) -> None:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        missing = np.isnan(numbers)
        if missing.any():  # a NaN has many spellings
            numbers = np.where(missing, np.nan, numbers)
        self._values.update(np.ascontiguousarray(numbers, dtype="<f8").data)

    def digest(self) -> bytes:
        return self._values.digest()


class Texts:
    """A column of texts."""

    tag = b"t"

    def __init__(self) -> None:
        self._lengths, self._bytes = hashlib.sha256(), hashlib.sha256()

    def add(self, values: pa.Array) -> None:
        texts = values.cast(pa.large_binary())
        lengths = pc.fill_null(pc.binary_length(texts), -1).to_numpy()
        self._lengths.update(np.ascontiguousarray(lengths, dtype="<i4").data)
        there = texts.drop_null()
        if len(there):
            _, offsets, content = there.buffers()
            places = np.frombuffer(offsets, dtype=np.int64)[there.offset :][: len(there) + 1]
            self._bytes.update(memoryview(content)[places[0] : places[-1]] if content else b"")

    def digest(self) -> bytes:
        return self._lengths.digest() + self._bytes.digest()
