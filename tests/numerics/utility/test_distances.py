"""Distances against scipy and against their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.numerics.utility.quality import (
    kolmogorov_smirnov,
    total_variation,
    wasserstein,
)


@pytest.mark.parametrize("rounded", [False, True])
def test_kolmogorov_smirnov_and_wasserstein_agree_with_scipy(rounded: bool) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=300), rng.normal(0.3, 1.2, size=211)
    if rounded:
        x, y = np.round(x), np.round(y)
    assert kolmogorov_smirnov(x, y) == pytest.approx(stats.ks_2samp(x, y).statistic, abs=1e-14)
    assert wasserstein(x, y) == pytest.approx(stats.wasserstein_distance(x, y), rel=1e-12)


def test_equal_columns_have_distance_zero_and_disjoint_ones_the_greatest() -> None:
    x = np.arange(10.0)
    assert kolmogorov_smirnov(x, x) == wasserstein(x, x) == 0.0
    assert kolmogorov_smirnov(x, x + 100) == 1.0
    assert wasserstein(x, x + 100) == pytest.approx(100.0)


def test_total_variation_is_half_the_difference_of_shares_among_what_is_present() -> None:
    assert total_variation(np.array([0, 0, 1, -1]), np.array([1, 2, 2]), 3) == pytest.approx(2 / 3)
    assert np.isnan(total_variation(np.array([-1]), np.array([0]), 1))


def test_an_empty_side_is_misuse() -> None:
    with pytest.raises(ValueError, match="at least one"):
        kolmogorov_smirnov(np.empty(0), np.ones(2))
