"""Bins of numeric columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.swapping.binning import binned, equal_frequency_edges, equal_width_edges

numbers = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60)


def test_equal_frequency_fills_bins_alike() -> None:
    values = np.random.default_rng(0).normal(size=1_000)
    codes = binned(values, equal_frequency_edges(values, 10))
    assert np.bincount(codes).tolist() == [100] * 10


def test_a_frequent_value_keeps_a_bin_of_its_own() -> None:
    values = np.array([1.0] + [40.0] * 90 + [50.0, 60.0, 70.0])
    codes = binned(values, equal_frequency_edges(values, 5))
    assert len(set(codes[values == 40.0])) == 1
    assert codes[-1] > codes[1]


def test_equal_width_divides_the_range() -> None:
    assert equal_width_edges(np.array([0.0, 3.0, 10.0]), 5).tolist() == [2, 4, 6, 8]


def test_a_value_on_an_edge_belongs_above() -> None:
    assert binned(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]), np.array([0.0, 1.0])).tolist() == [
        0,
        1,
        1,
        2,
        2,
    ]


def test_a_missing_value_has_a_code_of_its_own() -> None:
    values = np.array([np.nan, 1.0, 2.0])
    assert binned(values, equal_frequency_edges(values, 2)).tolist() == [2, 0, 1]


@pytest.mark.parametrize("edges_of", [equal_frequency_edges, equal_width_edges])
@settings(deadline=None)
@given(values=numbers, bins=st.integers(1, 12))
def test_bins_keep_the_order_of_the_values_and_are_at_most_as_many_as_asked(
    edges_of: type, values: list[float], bins: int
) -> None:
    column = np.array(values)
    edges = edges_of(column, bins)
    codes = binned(column, edges)
    order = np.argsort(column, kind="stable")
    assert np.all(np.diff(codes[order]) >= 0)
    assert len(edges) < bins
    assert np.all(codes[column == column[0]] == codes[0])


@pytest.mark.parametrize("edges_of", [equal_frequency_edges, equal_width_edges])
def test_constant_and_empty_columns_have_one_bin(edges_of: type) -> None:
    for values in (np.full(7, 3.0), np.full(3, np.nan), np.empty(0)):
        assert len(edges_of(values, 4)) == 0


@pytest.mark.parametrize("edges", [[1.0, 1.0], [2.0, 1.0], [np.nan], [0.0, np.inf]])
def test_edges_out_of_order_are_misuse(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="increasing"):
        binned(np.zeros(2), np.array(edges))


def test_no_bins_are_misuse() -> None:
    with pytest.raises(ValueError, match="at least one"):
        equal_width_edges(np.zeros(2), 0)
