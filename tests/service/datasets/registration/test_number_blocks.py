"""Numbers gathered into blocks give what the whole gives, wherever batches and blocks begin."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from app.errors import InvalidTable
from app.model import BLOCK_ROWS
from app.service.datasets.registration import ingestion
from app.service.datasets.registration.ingestion import NumberBlocks


@pytest.mark.parametrize("batch_rows", [1, 3, 7, 50, 1_000])
@pytest.mark.parametrize("block_rows", [1, 4, 10, 1_000])
def test_where_batches_and_blocks_begin_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, batch_rows: int, block_rows: int
) -> None:
    monkeypatch.setattr(ingestion, "BLOCK_BYTES", block_rows * 8 * 2)
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "x": pa.array(rng.normal(size=100) + 1e6, mask=rng.random(100) < 0.1),
            "t": ["a"] * 100,
            "i": pa.array(rng.integers(9, size=100) * 1.0, mask=rng.random(100) < 0.3),
        }
    )
    blocks = NumberBlocks(["x", "i"])
    for batch in table.to_batches(max_chunksize=batch_rows):
        blocks.add(batch)
    seen = blocks.seen()
    moments = seen.moments
    x = table["x"].to_numpy()
    np.testing.assert_allclose(moments.means[0], np.nanmean(x), rtol=1e-14)
    np.testing.assert_allclose(moments.covariance()[0, 0], np.nanvar(x, ddof=1), rtol=1e-9)
    assert seen.rows == 100
    assert seen.missing.tolist() == [table["x"].null_count, table["i"].null_count]
    assert seen.integer.tolist() == [False, True]
    assert seen.largest.tolist() == [np.nanmax(x), 8.0]


def test_a_block_is_bounded_in_rows_and_in_bytes() -> None:
    assert NumberBlocks(["x"])._block.shape == (1, BLOCK_ROWS)
    wide = NumberBlocks([f"c{j}" for j in range(2_000)])._block
    assert wide.nbytes <= ingestion.BLOCK_BYTES
    assert wide.shape[1] > 2_000


def test_one_value_that_is_no_integer_is_enough_wherever_it_is() -> None:
    values = np.zeros(BLOCK_ROWS + 10)
    values[-1] = 0.5
    blocks = NumberBlocks(["x"])
    blocks.add(pa.record_batch({"x": values}))
    assert blocks.seen().integer.tolist() == [False]


def test_a_variance_beyond_the_doubles_names_its_column() -> None:
    blocks = NumberBlocks(["x", "huge"])
    blocks.add(pa.record_batch({"x": [1.0, 2.0], "huge": [1e200, -1e200]}))
    with pytest.raises(InvalidTable) as refused:
        blocks.seen()
    assert refused.value.fields["column"] == "huge"


def test_no_number_columns_are_no_trouble() -> None:
    blocks = NumberBlocks([])
    blocks.add(pa.record_batch({"t": ["a", "b"]}))
    assert blocks.seen().moments.covariance().shape == (0, 0)
