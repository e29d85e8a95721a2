"""SF and PCA-DR: what they keep, and theorem 5.2."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.closed_forms import pca_error
from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.evidence import Knowledge, partial_knowledge
from app.numerics.attacks.spectral import (
    fixed_count,
    largest_gap,
    noise_eigenvalue_bound,
    pca_reconstruction,
    share_of_variance,
    spectral_filter,
)
from tests.numerics.attacks.simulated import covariance_with, disguised, mean_squared, normal_rows


@pytest.mark.parametrize(
    ("eigenvalues", "kept"),
    [([10.0, 9.0, 2.0, 1.0], 2), ([10.0, 1.0, 0.9], 1), ([5.0, 5.0, 5.0], 3), ([2.0], 1)],
)
def test_the_largest_gap_decides(eigenvalues: list[float], kept: int) -> None:
    assert largest_gap(np.array(eigenvalues)) == kept


@pytest.mark.parametrize(("share", "kept"), [(0.5, 1), (0.7, 2), (0.9, 2), (1.0, 3)])
def test_the_fewest_directions_that_carry_a_share_are_kept(share: float, kept: int) -> None:
    assert share_of_variance(share)(np.array([6.0, 3.0, 1.0, 0.0])) == kept


def test_a_count_beyond_the_attributes_keeps_all() -> None:
    assert fixed_count(9)(np.array([2.0, 1.0])) == 2


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        share_of_variance(share)


def test_no_direction_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fixed_count(0)


@pytest.mark.parametrize("kept", [1, 4, 10])
def test_pca_leaves_p_over_d_of_the_noise(kept: int) -> None:
    """Theorem 5.2 of huang2005, and beside it the wrong exponent is rejected."""
    rng = np.random.default_rng(kept)
    K = covariance_with(np.geomspace(50, 1, 10), rng)
    seen = disguised(np.zeros((20_000, 10)), 4 * np.eye(10), rng)
    left = mean_squared(pca_reconstruction(seen, Knowledge(np.zeros(10), K), fixed_count(kept)))
    expected = 4.0 * kept / 10
    assert left == pytest.approx(expected, rel=0.03)
    assert left != pytest.approx(1.1 * expected, rel=0.03)


def test_pca_also_loses_the_data_it_drops() -> None:
    rng = np.random.default_rng(3)
    K = covariance_with(np.array([30.0, 20.0, 3.0, 2.0]), rng)
    x = normal_rows(K, 20_000, rng)
    seen = disguised(x, np.eye(4), rng)
    error = mean_squared(pca_reconstruction(seen, Knowledge(np.zeros(4), K)) - x)
    assert error == pytest.approx(pca_error(K, np.eye(4), largest_gap), rel=0.03)


def test_keeping_all_directions_gives_back_what_was_seen() -> None:
    rng = np.random.default_rng(4)
    seen = disguised(normal_rows(np.eye(3), 50, rng), np.eye(3), rng)
    found = pca_reconstruction(seen, partial_knowledge(seen), fixed_count(3))
    np.testing.assert_allclose(found, seen.values, atol=1e-12)


def test_the_bound_holds_for_pure_noise_and_is_tight() -> None:
    rng = np.random.default_rng(5)
    noise = 3 * rng.normal(size=(2000, 200))
    largest = np.linalg.eigvalsh(np.cov(noise, rowvar=False))[-1]
    bound = noise_eigenvalue_bound(9 * np.eye(200), 2000)
    assert 0.95 * bound < largest < 1.03 * bound


def test_of_pure_noise_the_filter_keeps_the_mean_only() -> None:
    rng = np.random.default_rng(6)
    seen = Observation(rng.normal(size=(5000, 20)), 1.2 * np.eye(20))
    np.testing.assert_allclose(
        spectral_filter(seen), np.broadcast_to(seen.values.mean(axis=0), (5000, 20)), atol=1e-12
    )


def test_the_filter_keeps_the_directions_that_stand_out() -> None:
    rng = np.random.default_rng(7)
    x = normal_rows(covariance_with(np.r_[[400.0] * 2, [0.0] * 18], rng), 2000, rng)
    seen = disguised(x, 25 * np.eye(20), rng)
    assert mean_squared(spectral_filter(seen) - x) == pytest.approx(25 * 2 / 20, rel=0.1)


@pytest.mark.parametrize("eigenvalues", [[9.0, 1.0, 0.01], [4.0, 1.0, 0.0]])
def test_without_noise_both_return_what_they_saw(eigenvalues: list[float]) -> None:
    rng = np.random.default_rng(8)
    x = 7 + normal_rows(covariance_with(np.array(eigenvalues), rng), 100, rng)
    seen = Observation(x, np.zeros((3, 3)))
    np.testing.assert_array_equal(pca_reconstruction(seen, partial_knowledge(seen)), x)
    np.testing.assert_allclose(spectral_filter(seen), x, atol=1e-6)
