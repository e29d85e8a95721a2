"""What attackers gain who pool copies: nothing, be they linear or not [li2012, eq. 10]."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.grid import grid_exponents
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.path import PathDraws, RowRange, bridges, path_block, standard_normals
from app.numerics.copies.perturbation import perturbed
from app.numerics.covariances import covariance_factor

FloatArray = NDArray[np.float64]

ROWS = 100_000
LEVELS = 30


@dataclass(frozen=True)
class Setting:
    """Two skewed, correlated columns, copies at 30 levels, and the same with independent noise."""

    X: FloatArray
    variances: list[float]
    corner_wave: FloatArray
    independent: FloatArray


@pytest.fixture(scope="module")
def setting() -> Setting:
    rng = np.random.default_rng(2012)
    shared = rng.gamma(1.5, size=ROWS)
    X = np.stack([shared + rng.exponential(size=ROWS), shared**1.3 - rng.lognormal(size=ROWS)])
    variances = rng.uniform(0.25, 1.0, LEVELS).tolist()
    L = covariance_factor(np.cov(X))
    history = bridges(variances)
    keys = {
        position: draw_key(bytes(32), hashlib.sha256(bytes([position])).digest(), bytes(32))
        for position in range(LEVELS)
    }
    corner_wave, independent = np.empty((2, LEVELS, 2, ROWS))
    for i, variance in enumerate(variances):
        exponents = grid_exponents(np.diag(L @ L.T), variance)
        path = path_block(PathDraws(history, i, keys, 2), RowRange(0, 0, ROWS))
        corner_wave[i] = perturbed(X, path, L, exponents)
        alone = math.sqrt(variance) * standard_normals(keys[i], RowRange(0, 0, ROWS), 2)
        independent[i] = perturbed(X, alone, L, exponents)
    return Setting(X, variances, corner_wave, independent)


def joint_moments(X: FloatArray, copies: FloatArray) -> FloatArray:
    """Sample covariance of X and all copies together, (2 + 2m) × (2 + 2m)."""
    return np.cov(np.concatenate([X, copies.reshape(-1, X.shape[1])]))


def estimation_error(moments: FloatArray, subset: list[int]) -> float:
    """Normalised error of the best linear estimate of X from a subset of copies [eq. 7]."""
    chosen = [2 + 2 * i + a for i in subset for a in (0, 1)]
    cross, observed = moments[np.ix_([0, 1], chosen)], moments[np.ix_(chosen, chosen)]
    explained = cross @ np.linalg.lstsq(observed, cross.T, rcond=None)[0]
    return float(1 - np.trace(explained) / np.trace(moments[:2, :2]))


def test_a_single_copy_leaves_the_error_of_equation_9(setting: Setting) -> None:
    moments = joint_moments(setting.X, setting.corner_wave)
    for i, variance in enumerate(setting.variances):
        expected = variance / (1 + variance)
        measured = estimation_error(moments, [i])
        assert measured == pytest.approx(expected, rel=0.02)
        assert measured != pytest.approx(1.1 * expected, rel=0.02)
        assert measured != pytest.approx(0.9 * expected, rel=0.02)


def test_200_random_subsets_are_worth_their_best_copy(setting: Setting) -> None:
    """Fitting 2m weights to n rows explains 2m/n of what is left by chance alone."""
    moments = joint_moments(setting.X, setting.corner_wave)
    rng = np.random.default_rng(7)
    for _ in range(200):
        subset = rng.choice(LEVELS, rng.integers(2, LEVELS + 1), replace=False).tolist()
        best = min(subset, key=lambda i: setting.variances[i])
        gain = 1 - estimation_error(moments, subset) / estimation_error(moments, [best])
        by_chance = 2 * len(subset) / ROWS
        assert -1e-9 < gain < by_chance + 5 * math.sqrt(2 * by_chance / ROWS) + 1e-5


def test_independent_noise_on_the_same_levels_is_beaten_as_theorem_3_says(
    setting: Setting,
) -> None:
    moments = joint_moments(setting.X, setting.independent)
    for count in (2, 5, 30):
        expected = 1 / (1 + sum(1 / v for v in setting.variances[:count]))
        measured = estimation_error(moments, list(range(count)))
        assert measured == pytest.approx(expected, rel=0.02)
    assert estimation_error(moments, list(range(30))) < 0.1 * min(
        v / (1 + v) for v in setting.variances
    )


@pytest.mark.parametrize("attacker", ["gradient boosting", "nearest neighbours"])
def test_a_nonlinear_attacker_gains_nothing_from_more_copies(
    setting: Setting, attacker: str
) -> None:
    """Trained on 12,000 of the true rows, judged on as many; the control with independent noise must gain."""
    half = 12_000
    order = sorted(range(LEVELS), key=lambda i: setting.variances[i])
    chosen = [order[0], *order[5:25:5]]
    target = setting.X[0, : 2 * half]

    def squared_errors(copies: FloatArray, used: list[int]) -> FloatArray:
        features = copies[used, :, : 2 * half].reshape(2 * len(used), -1).T
        model = regressor(attacker)
        model.fit(features[:half], target[:half])
        errors: FloatArray = (model.predict(features[half:]) - target[half:]) ** 2
        return errors

    best = squared_errors(setting.corner_wave, chosen[:1])
    pooled = squared_errors(setting.corner_wave, chosen)
    control = squared_errors(setting.independent, chosen)
    gain = best - pooled
    assert gain.mean() < 3 * gain.std() / math.sqrt(half)
    assert control.mean() < 0.8 * best.mean()


def regressor(attacker: str):  # type: ignore[no-untyped-def]  # scikit-learn has no types
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.neighbors import KNeighborsRegressor

    if attacker == "gradient boosting":
        return HistGradientBoostingRegressor(max_iter=60, random_state=0)
    return KNeighborsRegressor(n_neighbors=40)
