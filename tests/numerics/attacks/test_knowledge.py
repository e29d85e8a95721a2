"""What an adversary learns of the covariance, and what happens when it is none."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.evidence import partial_knowledge, perfect_knowledge
from tests.numerics.attacks.simulated import covariance_with, disguised, normal_rows


def test_the_noise_is_subtracted_from_the_covariance() -> None:
    rng = np.random.default_rng(1)
    K = covariance_with(np.array([9.0, 4.0, 2.0]), rng)
    noise = covariance_with(np.array([1.0, 2.0, 3.0]), rng)
    found = partial_knowledge(disguised(normal_rows(K, 100_000, rng), noise, rng))
    np.testing.assert_allclose(found.covariance, K, atol=0.15)
    assert not found.projected


def test_perfect_knowledge_is_that_of_the_original() -> None:
    x = np.random.default_rng(2).normal(size=(30, 1))
    found = perfect_knowledge(x)
    assert found.covariance.shape == (1, 1)
    assert found.covariance[0, 0] == pytest.approx(x.var(ddof=1))


def test_an_indefinite_difference_is_projected_and_said_so() -> None:
    rng = np.random.default_rng(3)
    x = normal_rows(np.diag([1.0, 1.0, 1e-3]), 50, rng)
    found = partial_knowledge(disguised(x, 4 * np.eye(3), rng))
    assert found.projected
    assert 0 < found.removed < 1
    assert np.linalg.eigvalsh(found.covariance)[0] >= -1e-12


def test_a_difference_that_is_negative_altogether_becomes_zero() -> None:
    y = np.random.default_rng(4).normal(size=(50, 2))
    found = partial_knowledge(Observation(y, 100 * np.eye(2)))
    np.testing.assert_allclose(found.covariance, 0, atol=1e-12)
    assert found.removed == pytest.approx(1)


def test_only_the_sampled_rows_are_used() -> None:
    y = np.random.default_rng(5).normal(size=(100, 2))
    found = partial_knowledge(Observation(y, np.zeros((2, 2))), slice(0, 10))
    np.testing.assert_allclose(found.covariance, np.cov(y[:10], rowvar=False))


def test_one_row_has_no_covariance() -> None:
    with pytest.raises(ValueError, match="two rows"):
        partial_knowledge(Observation(np.zeros((1, 2)), np.eye(2)))
