"""Batches of any length regrouped into blocks of exactly so many rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

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
