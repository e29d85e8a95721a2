"""Columns as codes and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidParameter
from app.tables.arrays.coded import BinRule, coded

numbers = st.lists(st.none() | st.floats(-1e9, 1e9), max_size=30)
texts = st.lists(st.none() | st.text(st.characters(codec="utf-8"), min_size=1), max_size=30)


@settings(deadline=None)
@given(numbers)
def test_numbers_survive_the_way_to_codes_and_back(values: list[float | None]) -> None:
    column = coded(pa.table({"x": pa.array(values, pa.float64())}), "x")
    assert column.column(column.codes).to_pylist() == values


@settings(deadline=None)
@given(texts)
def test_texts_survive_the_way_to_codes_and_back(values: list[str | None]) -> None:
    column = coded(pa.table({"x": pa.array(values, pa.large_string())}), "x")
    assert column.column(column.codes).to_pylist() == values


@settings(deadline=None)
@given(numbers, st.integers(2, 6))
def test_codes_are_dense_and_missing_cells_are_found(values: list[float | None], bins: int) -> None:
    table = pa.table({"x": pa.array(values, pa.float64())})
    for column in (coded(table, "x"), coded(table, "x", BinRule(equal_frequency=bins))):
        assert np.unique(column.codes).tolist() == list(range(column.categories))
        missing = [row for row, value in enumerate(values) if value is None]
        assert column.missing.tolist() == missing


def test_codes_follow_the_order_of_the_values() -> None:
    table = pa.table({"t": ["b", "a", None, "c"], "x": [2.0, 1.0, None, 3.0]})
    assert coded(table, "t").codes.tolist() == [1, 0, 3, 2]
    assert coded(table, "x").codes.tolist() == [1, 0, 3, 2]


def test_bins_are_named_by_their_borders() -> None:
    table = pa.table({"x": [1.0, 2.5, 7.0, None]})
    column = coded(table, "x", BinRule(edges=(2.5, 5.0)))
    assert column.values.to_pylist() == ["(-inf, 2.5)", "[2.5, 5)", "[5, inf)", None]


def test_a_column_in_several_chunks_is_one_column() -> None:
    chunks = pa.chunked_array([["b"], ["a", "b"]], pa.large_string())
    assert coded(pa.table({"t": chunks}), "t").codes.tolist() == [1, 0, 1]


def test_text_has_no_bins() -> None:
    with pytest.raises(InvalidParameter):
        coded(pa.table({"t": ["a"]}), "t", BinRule(equal_width=2))
