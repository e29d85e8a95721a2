"""Copies from originals and path: the formula, the grid, slices and threads."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from app.numerics.brownian import path_block
from app.numerics.gaussian import covariance_factor
from app.numerics.grid import grid_exponents
from app.numerics.multilevel import bridges
from app.numerics.noise import BLOCK_ROWS, draw_key
from app.numerics.perturbation import perturbed, perturbed_copy

HISTORY = bridges([0.5, 0.25, 0.3])
KEYS = {
    position: draw_key(bytes(32), hashlib.sha256(bytes([position])).digest())
    for position in range(3)
}


@pytest.mark.parametrize("rank_deficient", [False, True])
def test_a_copy_is_the_original_plus_shaped_noise_within_half_a_step(rank_deficient: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(4, 70)) * np.array([[1.0], [1e3], [1e-5], [7.0]])
    if rank_deficient:
        X[3] = X[0] + X[1]
    L = covariance_factor(np.cov(X))
    exponents = grid_exponents(np.diag(L @ L.T), 0.3)
    B = path_block(HISTORY, KEYS, 2, start=0, stop=70, columns=L.shape[1])
    Y = perturbed(X, B, L, exponents)
    steps = 2.0 ** np.array(exponents)[:, np.newaxis]
    assert (np.abs(Y - (X + L @ B)) <= steps * 0.5000001).all()
    np.testing.assert_array_equal(Y / steps, np.rint(Y / steps))


def test_slices_threads_and_blocks_change_no_bit() -> None:
    rng = np.random.default_rng(1)
    n = BLOCK_ROWS + 20_000
    X = rng.normal(size=(3, n))
    L = covariance_factor(np.cov(X))
    exponents = grid_exponents(np.diag(L @ L.T), 0.3)
    whole = perturbed_copy(X, HISTORY, KEYS, 2, L=L, exponents=exponents)
    threaded = perturbed_copy(X, HISTORY, KEYS, 2, L=L, exponents=exponents, threads=3)
    np.testing.assert_array_equal(whole, threaded)
    for start, stop in [(0, 1), (17, 30_001), (BLOCK_ROWS - 3, BLOCK_ROWS + 4), (n - 1, n)]:
        B = path_block(HISTORY, KEYS, 2, start=start, stop=stop, columns=3)
        part = perturbed(X[:, start:stop], B, L, exponents)
        np.testing.assert_array_equal(part, whole[:, start:stop])


def test_missing_originals_stay_missing_and_disturb_nothing_else() -> None:
    X = np.random.default_rng(2).normal(size=(2, 50))
    L = np.array([[1.0, 0.0], [0.5, 1.0]])
    B = path_block(HISTORY, KEYS, 0, start=0, stop=50, columns=2)
    gaps = X.copy()
    gaps[0, 7] = np.nan
    complete, holed = perturbed(X, B, L, [-20, -20]), perturbed(gaps, B, L, [-20, -20])
    assert np.isnan(holed[0, 7])
    complete[0, 7] = np.nan
    np.testing.assert_array_equal(holed, complete)
