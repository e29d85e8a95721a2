"""Definition 8.1 of huang2005 by hand."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.closed_forms import correlation_dissimilarity


def test_noise_in_the_shape_of_the_data_is_not_dissimilar() -> None:
    K = np.array([[4.0, 1.0], [1.0, 1.0]])
    assert correlation_dissimilarity(K, 7 * K) == pytest.approx(0, abs=1e-15)


def test_two_attributes_differ_by_their_correlations() -> None:
    K = np.array([[4.0, 1.0], [1.0, 1.0]])
    assert correlation_dissimilarity(K, np.diag([3.0, 9.0])) == pytest.approx(0.5)


def test_it_is_the_root_of_the_mean_square_off_the_diagonal() -> None:
    K = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.6], [0.0, 0.6, 1.0]])
    expected = np.sqrt((0.3**2 + 0.6**2 + 0.0) / 3)
    assert correlation_dissimilarity(K, np.eye(3)) == pytest.approx(expected)


def test_one_attribute_has_no_correlations() -> None:
    assert correlation_dissimilarity(np.eye(1), 2 * np.eye(1)) == 0


def test_a_constant_attribute_counts_as_uncorrelated() -> None:
    assert correlation_dissimilarity(np.diag([1.0, 0.0]), np.eye(2)) == 0
