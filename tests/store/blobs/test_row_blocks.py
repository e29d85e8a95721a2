"""Rows are regrouped into blocks, and a block has a limit of memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from app.errors import TooLarge
from app.model import BLOCK_ROWS
from app.store.blobs import row_blocks
from app.store.blobs.row_blocks import RowBlocks

TABLE = pa.table({"x": [float(i) for i in range(100)]})


@pytest.mark.parametrize("batch_rows", [1, 7, 10, 33, 100])
def test_blocks_have_so_many_rows_and_the_last_the_rest(batch_rows: int) -> None:
    blocks = list(row_blocks.row_blocks(iter(TABLE.to_batches(max_chunksize=batch_rows)), 30))
    assert [block.num_rows for block in blocks] == [30, 30, 30, 10]
    assert pa.concat_tables(blocks).equals(TABLE)


def test_rows_that_fill_their_blocks_leave_no_rest() -> None:
    blocks = list(row_blocks.row_blocks(iter(TABLE.to_batches(max_chunksize=7)), 50))
    assert [block.num_rows for block in blocks] == [50, 50]


def test_what_is_held_back_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 400)
    blocks = RowBlocks(100)
    batches = TABLE.to_batches(max_chunksize=25)
    assert list(blocks.add(batches[0])) == []
    assert list(blocks.add(batches[1])) == []
    with pytest.raises(TooLarge) as refused:
        list(blocks.add(batches[2]))
    assert refused.value.fields == {"limit_bytes": 400}


def test_the_limit_is_of_what_is_held_and_not_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 400)
    batches = iter(TABLE.to_batches(max_chunksize=25))
    assert len(list(row_blocks.row_blocks(batches, 50))) == 2


def test_the_largest_allowed_number_of_columns_fits() -> None:
    row = 8 + 1 / 8
    assert 2_000 * row * BLOCK_ROWS < row_blocks.BLOCK_BYTES
