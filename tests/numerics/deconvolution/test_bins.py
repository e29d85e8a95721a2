"""Bins and the histogram of z that continues them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidParameter, InvalidTable
from app.numerics.deconvolution.bins import (
    checked_edges,
    histogram_on,
    summed_over,
    support_behind,
    uniform_edges,
    width_if_uniform,
)
from app.numerics.deconvolution.noise import Uniform


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50),
    st.integers(1, 40),
    st.floats(-100, 100),
    st.floats(0.5, 200),
)
def test_every_value_is_counted_within_half_a_cell_of_its_centre(
    values: list[float], bins: int, low: float, length: float
) -> None:
    edges = uniform_edges(low, low + length, bins)
    histogram = histogram_on(np.asarray(values), edges)
    width = length / bins
    assert histogram.total == len(values)
    quantised = np.repeat(histogram.centres, histogram.counts.astype(int))
    assert np.abs(quantised - np.sort(values)).max() <= width / 2 * (1 + 1e-6) + 1e-9


def test_cells_stand_on_the_bins() -> None:
    edges = uniform_edges(0, 10, 5)
    histogram = histogram_on(np.array([-3.0, 1.0, 10.0, 12.5]), edges)
    np.testing.assert_allclose(histogram.centres, np.arange(-3, 14, 2))
    np.testing.assert_allclose(histogram.counts, [1, 0, 1, 0, 0, 0, 0, 1, 1])


def test_cells_may_share_out_a_bin() -> None:
    histogram = histogram_on(np.array([0.2, 0.9, 3.1]), uniform_edges(0, 4, 2), cells_per_bin=2)
    np.testing.assert_allclose(histogram.centres, [0.5, 1.5, 2.5, 3.5])
    np.testing.assert_allclose(histogram.counts, [2, 0, 0, 1])


def test_fine_bins_sum_to_the_bins_that_cut_across_them() -> None:
    fine = uniform_edges(0, 4, 4)
    masses = summed_over(np.array([0.4, 0.2, 0.2, 0.2]), fine, np.array([0.0, 1.5, 4.0]))
    np.testing.assert_allclose(masses, [0.5, 0.5])


def test_an_outlier_that_would_need_a_million_cells_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        histogram_on(np.array([0.0, 1e12]), uniform_edges(0, 1, 10))


def test_the_support_behind_is_the_range_less_the_mean_of_the_noise() -> None:
    assert support_behind(np.array([3.0, 50.0]), Uniform(0.0, 20.0)) == (-7.0, 40.0)
    with pytest.raises(InvalidTable):
        support_behind(np.array([3.0, 3.0]), Uniform(0.0, 20.0))


def test_uniform_edges_are_told_from_others() -> None:
    assert width_if_uniform(uniform_edges(1e6, 1e6 + 1, 7)) == pytest.approx(1 / 7)
    assert width_if_uniform(np.array([0.0, 1.0, 2.1])) is None


@pytest.mark.parametrize(
    "edges", [[], [1.0], [1.0, 1.0], [2.0, 1.0], [0.0, float("nan")], [[0.0, 1.0]]]
)
def test_edges_that_do_not_increase_are_refused(edges: list[float]) -> None:
    with pytest.raises(InvalidParameter):
        checked_edges(edges)


@pytest.mark.parametrize(
    ("low", "high", "bins"), [(0, 1, 0), (1, 1, 5), (2, 1, 5), (0, float("inf"), 5)]
)
def test_a_support_without_length_is_refused(low: float, high: float, bins: int) -> None:
    with pytest.raises(InvalidParameter):
        uniform_edges(low, high, bins)
