"""The rotation found is the one that was hidden, and failing to find it is told."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import FastICA

from app.numerics.synthesis.components import PART_ROWS, orthogonalised, unmixing
from app.numerics.synthesis.moments import whitened


def hidden_sources(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return whitened(
        np.column_stack(
            [rng.random(n), rng.exponential(size=n), rng.laplace(size=n), rng.random(n) ** 3]
        )
    )


def farthest_from_a_permutation(product: np.ndarray) -> float:
    """How far the rows are from having one entry ±1 and zeros else."""
    return float(np.abs(np.sort(np.abs(product), axis=1) - [0, 0, 0, 1]).max())


def test_hidden_sources_are_found_up_to_order_and_sign() -> None:
    sources = hidden_sources(20_000, 1)
    mixing = orthogonalised(np.random.default_rng(2).normal(size=(4, 4)))
    found = unmixing(sources @ mixing, np.random.default_rng(3))
    assert found.converged
    assert farthest_from_a_permutation(found.rotation @ mixing.T) < 0.05


def test_the_rotation_agrees_with_that_of_scikit_learn() -> None:
    white = hidden_sources(5_000, 4) @ orthogonalised(np.random.default_rng(5).normal(size=(4, 4)))
    ours = unmixing(white, np.random.default_rng(6), tolerance=1e-10).rotation
    theirs = FastICA(whiten=False, tol=1e-10, max_iter=1000, random_state=7).fit(white).components_
    assert farthest_from_a_permutation(ours @ theirs.T) < 1e-4


def test_a_long_table_starts_from_a_part_and_ends_at_the_same_rotation() -> None:
    white = hidden_sources(4 * PART_ROWS, 8)
    found = unmixing(white, np.random.default_rng(9))
    assert found.converged
    assert found.iterations <= 8
    assert farthest_from_a_permutation(found.rotation) < 0.05


def test_the_rotation_is_orthogonal_also_when_the_search_does_not_come_to_rest() -> None:
    gaussian = whitened(np.random.default_rng(10).normal(size=(500, 4)))
    found = unmixing(gaussian, np.random.default_rng(11), tolerance=1e-12, max_iterations=3)
    assert not found.converged
    assert found.iterations == 3
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(4), atol=1e-12)
