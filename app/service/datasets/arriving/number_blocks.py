"""Number columns gathered into blocks, each looked at once.

Batches are as short as the reader made them. Merging moments costs d² for each block however few rows
it has, so rows are gathered until the products over them are what takes the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.errors import InvalidTable
from app.model import BLOCK_ROWS
from app.numerics.arrays import Flags, FloatArray, IntArray
from app.numerics.copies.grid import largest_magnitude
from app.numerics.moments import Moments, block_moments

BLOCK_BYTES = 32 * 2**20
"""What a block may take: 2,000 columns have 2,097 rows in it, up to 64 columns all 65,536."""


@dataclass(frozen=True)
class NumbersSeen:
    """What was seen of d number columns; arrays of length d, in their order.

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

    def seen(self) -> NumbersSeen:
        """What all rows taken in tell; InvalidTable when a variance exceeds the doubles."""
        self._look()
        finite = np.isfinite(np.diag(self._moments.comoment))
        if not finite.all():
            name = self._names[int(np.argmin(finite))]
            raise InvalidTable(
                f"The numbers of column {name!r} are so large that their variance cannot be "
                "computed",
                column=name,
            )
        return NumbersSeen(
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
