"""Rows at opposite corners of their box: no test tells them apart better than the guarantee says, and the best one as well.

Errors of the best test are counted on draws of the mechanism itself, and compared with the trade-off curve by Clopper–Pearson
limits; a tenth less noise fails.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import beta, norm

from app.model import BLOCK_ROWS
from app.numerics.arrays import Codes, FloatArray
from app.numerics.copies.grid import FORMAL_FINENESS, grid_exponents
from app.numerics.copies.noise import steps
from app.numerics.copies.path import PathDraws, RowRange, bridges
from app.numerics.copies.perturbation import perturbed_block
from app.numerics.copies.records import show_cells
from app.numerics.privacy_accounting import RowMechanism, response_epsilon
from papers.li2012_theory import coefficient_rows

CONFIDENCE = 1 - 1e-6
LOWER, RANGES, WEIGHTS = np.array([-3.0, 1_000.0]), np.array([2.0, 50.0]), np.array([1.0, 0.5])
FACTOR = np.diag(np.sqrt(WEIGHTS) * RANGES)
LEVELS = [float(v) for v in np.random.default_rng(7).permutation(np.geomspace(4.0, 400.0, 50))]
BEST = int(np.argmin(LEVELS))
K, VALUES = 5, (1, 3)


def limits(hits: int, draws: int) -> tuple[float, float]:
    """Clopper–Pearson limits of a share."""
    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, draws - hits + 1))
    high = 1.0 if hits == draws else float(beta.ppf(1 - tail, hits + 1, draws - hits))
    return low, high


def key(*place: object) -> bytes:
    return hashlib.sha256(repr(place).encode()).digest()


def likelihood_weights(levels: Sequence[float]) -> FloatArray:
    """Weights of the copies in the best test of a pool: Σ⁻¹·1, Σ being their covariance."""
    C = coefficient_rows(levels)
    return np.asarray(np.linalg.solve(C @ C.T, np.ones(len(levels))), dtype=np.float64)


def statistic(row: FloatArray, levels: Sequence[float], rows: int, less: float = 1.0) -> FloatArray:
    """The log likelihood ratio of the corners, but for a constant, of copies of a row that is there many times.

    The copies are drawn in the order of the levels.
    """
    found = np.zeros(rows)
    keys = {position: key(row.tolist(), position) for position in range(len(levels))}
    history, weights = bridges(levels), likelihood_weights(levels)
    slopes = RANGES / np.diag(FACTOR) ** 2
    for start in range(0, rows, BLOCK_ROWS):
        block = RowRange(start // BLOCK_ROWS, 0, min(BLOCK_ROWS, rows - start))
        X = np.repeat(row[:, None], block.last, axis=1)
        for position, v in enumerate(levels):
            draws = PathDraws(history, position, keys, len(row))
            exponents = grid_exponents(np.diag(FACTOR) ** 2, v, FORMAL_FINENESS)
            Y = perturbed_block(X, draws, block, L=FACTOR * less, exponents=exponents)
            found[start : start + block.last] += weights[position] * (slopes @ Y)
    return found


def curve(one: FloatArray, other: FloatArray, mu: float) -> tuple[bool, float]:
    """Whether errors of the test "large" stay above G_μ, and the μ that the best of them shows."""
    holds, shown = True, []
    for threshold in np.quantile(np.concatenate([one, other]), np.linspace(0.1, 0.9, 17)):
        first, second = int((one > threshold).sum()), int((other <= threshold).sum())
        alpha, below = limits(first, one.size)[1], limits(second, other.size)[1]
        holds &= bool(below >= norm.cdf(norm.ppf(1 - alpha) - mu))
        shown.append(norm.ppf(1 - first / one.size) - norm.ppf(second / other.size))
    return holds, float(np.mean(shown))


def check_numbers(
    levels: Sequence[float], rows: int, less: float = 1.0
) -> tuple[bool, float, float]:
    mu = RowMechanism(tuple(WEIGHTS), ()).mu(min(levels))
    one, other = (statistic(corner, levels, rows, less) for corner in (LOWER, LOWER + RANGES))
    return (*curve(one, other, mu), mu)


@pytest.mark.parametrize("v", [0.5, 4.0])
def test_one_copy_is_as_private_as_promised_and_no_more(v: float) -> None:
    holds, shown, mu = check_numbers([v], 2 * BLOCK_ROWS)
    assert holds
    assert shown == pytest.approx(mu, rel=0.02)
    holds, _, _ = check_numbers([v], 2 * BLOCK_ROWS, less=0.9)
    assert not holds


def test_the_likelihood_ratio_of_fifty_pooled_copies_is_that_of_the_best() -> None:
    weights = likelihood_weights(LEVELS)
    expected = np.zeros(len(LEVELS))
    expected[BEST] = 1 / LEVELS[BEST]
    assert np.abs(weights - expected).max() < 1e-9 * expected.max()
    holds, shown, mu = check_numbers(LEVELS, 4_096)
    assert holds
    assert shown == pytest.approx(mu, rel=0.1)


@pytest.mark.slow
def test_a_million_draws_of_one_copy_and_of_fifty_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_in_use", [steps.CompiledSteps()])
    holds, shown, mu = check_numbers([2.0], 10**6)
    assert holds
    assert shown == pytest.approx(mu, rel=0.02)
    holds, shown, mu = check_numbers(LEVELS, 10**6)
    assert holds
    assert shown == pytest.approx(mu, rel=0.02)
    holds, _, _ = check_numbers(LEVELS[:5], 10**6, less=0.9)
    assert not holds


def cells_of(value: int, levels: Sequence[float], rows: int) -> Codes:
    """Copies (m, rows) of a cell that is there many times."""
    found = np.full((len(levels), 1, rows), value, dtype=np.int32)
    for codes, v in zip(found, levels, strict=True):
        show_cells(codes, [K], v, key=key("cell", value), start=0)
    return found[:, 0]


def check_cells(v: float, rows: int, promised: float) -> tuple[bool, float]:
    """Whether the best test of two values stays within ε, and the ε that it shows."""
    own = int((cells_of(VALUES[0], [v], rows) == VALUES[0]).sum())
    other = int((cells_of(VALUES[1], [v], rows) == VALUES[0]).sum())
    low, high = limits(own, rows)[0], limits(other, rows)[1]
    return bool(np.log(low / high) <= promised), float(np.log(own / other))


@pytest.mark.parametrize(("v", "rows"), [(1.0, 400_000), (20.0, 4_000_000)])
def test_a_category_is_as_private_as_promised_and_no_more(v: float, rows: int) -> None:
    promised = response_epsilon(K, v)
    holds, shown = check_cells(v, rows, promised)
    assert holds
    assert shown == pytest.approx(promised, rel=0.02)
    holds, _ = check_cells(0.9 * v, rows, promised)
    assert not holds


def test_a_noisier_copy_of_a_category_follows_from_the_better_one_alone() -> None:
    """P(y₂ | y₁, x) does not depend on x, whatever y₁ is: the likelihood ratio of a pool is that of its best copy."""
    levels, rows = [0.7, 3.0], 400_000
    first, second = (cells_of(value, levels, rows) for value in VALUES)
    for shown in range(K):
        shares = []
        for copies in (first, second):
            there = copies[1][copies[0] == shown]
            shares.append(limits(int((there == shown).sum()), there.size))
        (low, high), (other_low, other_high) = shares
        assert max(low, other_low) <= min(high, other_high)
        stays = (1 + levels[0]) / (1 + levels[1])
        assert low <= stays + (1 - stays) / K <= high


def test_the_exact_likelihood_ratio_of_a_pool_of_cells_is_that_of_the_best() -> None:
    """By the transition matrices of the chain, for every pool of three copies."""
    levels = [0.7, 3.0, 11.0]

    def transition(kept: float) -> FloatArray:
        return np.asarray(kept * np.eye(K) + (1 - kept) / K)

    before, steps = 0.0, []
    for v in levels:
        steps.append(transition((1 + before) / (1 + v)))
        before = v
    alone = transition(1 / (1 + levels[0]))
    for pool in np.ndindex(K, K, K):
        ratio = np.prod(
            [steps[0][VALUES[0], pool[0]], steps[1][pool[0], pool[1]], steps[2][pool[1], pool[2]]]
        )
        ratio /= np.prod(
            [steps[0][VALUES[1], pool[0]], steps[1][pool[0], pool[1]], steps[2][pool[1], pool[2]]]
        )
        assert ratio == pytest.approx(
            alone[VALUES[0], pool[0]] / alone[VALUES[1], pool[0]], rel=1e-9
        )
