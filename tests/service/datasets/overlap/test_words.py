"""Cells as words: equal cells agree whatever carried them, and nothing else does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from app.service.datasets.overlap.row_fingerprints import MISSING, cell_words, row_words
from app.tables.stream import Decimal

KEY = b"sixteen bytes ok"


def test_numbers_are_their_bits_and_zero_has_one_sign() -> None:
    words = cell_words(pa.array([1.5, -0.0, 0.0, None], pa.float64()), KEY)
    assert words[0] == np.float64(1.5).view(np.uint64)
    assert words[1] == words[2] == 0
    assert words[3] == MISSING


def test_texts_are_keyed_digests_whatever_batch_they_are_in() -> None:
    words = cell_words(pa.array(["Rome", None, "Oslo", "Rome"], pa.large_string()), KEY)
    assert words[0] == words[3] != words[2]
    assert words[1] == MISSING
    assert cell_words(pa.array(["Oslo"], pa.large_string()), KEY)[0] == words[2]
    assert cell_words(pa.array(["Oslo"], pa.large_string()), KEY[::-1])[0] != words[2]


def test_a_text_that_spells_a_number_is_that_number() -> None:
    numbers = cell_words(pa.array([1234.5, 7.0, None], pa.float64()), KEY)
    english = pa.array(["1,234.50", "007", "NA"], pa.large_string())
    german = pa.array(["1.234,50 €", "7", ""], pa.large_string())
    assert (cell_words(english, KEY) == numbers).all()
    assert (cell_words(german, KEY, Decimal.COMMA) == numbers).all()
    assert cell_words(pa.array(["1,234.50"]), KEY, Decimal.COMMA)[0] != numbers[0]


def test_a_column_without_values_and_a_slice_are_read_right() -> None:
    nothing = pa.array([None, None], pa.large_string())
    assert (cell_words(nothing, KEY) == MISSING).all()
    long = pa.array(["a", "b", "c"], pa.large_string())
    assert (cell_words(long.slice(1), KEY) == cell_words(long, KEY)[1:]).all()


def test_rows_have_their_cells_in_the_order_asked_for() -> None:
    batch = pa.record_batch({"b": pa.array([1.0]), "a": pa.array(["x"], pa.large_string())})
    words = row_words(batch, ["a", "b"], KEY)
    assert words.shape == (1, 2)
    assert words[0, 1] == np.float64(1.0).view(np.uint64)
