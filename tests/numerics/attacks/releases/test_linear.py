"""The best linear attacker: exactly what theory leaves it, also of few rows; and less where noise is too small."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.releases.findings import Finding, Verdict
from app.numerics.attacks.releases.linear import best_linear, worst_combination
from app.numerics.attacks.releases.released_rows import ReleasedRows, targets
from tests.numerics.attacks.schemes import Matrix, released


def attacked(rows: ReleasedRows, promised: float = 0.5) -> dict[str, Finding]:
    rng = np.random.default_rng(1)
    return {one.target: one for one in best_linear(rows, targets(rows, rng), promised, rng)}


def correlated(n: int, d: int, rng: np.random.Generator) -> Matrix:
    return np.asarray(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)))


@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0])
def test_normal_numbers_keep_what_is_promised_of_each_and_of_the_worst_combination(
    variance: float,
) -> None:
    rng = np.random.default_rng(2)
    promised = variance / (1 + variance)
    found = attacked(released(correlated(20_000, 6, rng), None, variance, rng), promised)
    assert len(found) >= 7
    for one in found.values():
        assert one.left == pytest.approx(promised, rel=0.04)
        assert one.verdict is Verdict.OK


def test_half_the_noise_is_a_broken_promise() -> None:
    rng = np.random.default_rng(3)
    found = attacked(released(correlated(4_000, 4, rng), None, 1.0, rng, noise=0.5))
    assert {found[f"x{j}"].verdict for j in range(4)} == {Verdict.BROKEN}
    assert found["x0"].left == pytest.approx(0.2, abs=0.02)
    assert found["x0"].remedy is not None


def test_a_shape_that_misses_a_direction_is_found_though_every_column_has_noise() -> None:
    rng = np.random.default_rng(4)
    numbers = rng.normal(size=(4_000, 1)) + 0.05 * rng.normal(size=(4_000, 3))
    rows = released(numbers, None, 1.0, rng)
    law = rows.laws[0]
    object.__setattr__(law, "shape", np.ones((3, 3)) + 1e-6 * np.eye(3))
    combination = attacked(rows)["a combination of numbers, part 0"]
    assert combination.verdict is Verdict.BROKEN
    assert combination.left < 0.01


def test_few_rows_and_many_columns_are_no_alarm() -> None:
    """Least squares on the very rows that it learns from: without its correction half of the promise would seem gone."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 5, (100, 2)).astype(np.int32)
        numbers = rng.normal(size=(100, 5))
        for one in attacked(released(numbers, codes, 1.0, rng)).values():
            assert one.verdict is not Verdict.BROKEN, (seed, one)
        for one in attacked(released(numbers, codes, 1.0, rng, draws=40)).values():
            assert one.verdict is Verdict.OK, (seed, one)


def test_what_is_left_is_no_less_for_being_learnt_from_the_rows_that_it_is_measured_on() -> None:
    shares, exact = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = released(rng.normal(size=(420, 20)), None, 1.0, rng)
        found = attacked(rows)
        K = np.cov(rows.numbers.T)
        unknown = K - K @ np.linalg.solve(K + rows.laws[0].covariance, K)
        shares += [found[f"x{j}"].left for j in range(20)]
        exact += (np.diag(unknown) / np.diag(K)).tolist()
    assert np.mean(shares) == pytest.approx(np.mean(exact), rel=0.015)


def test_several_draws_of_few_rows_tell_what_many_rows_tell() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=(200, 2))
    found = attacked(released(numbers, None, 1.0, rng, draws=20))
    exact = np.linalg.inv(np.eye(2) + np.cov(numbers.T) @ np.linalg.inv(1.01 * np.cov(numbers.T)))
    assert found["x0"].left == pytest.approx(exact[0, 0], abs=0.02)


def test_parts_are_judged_within_themselves() -> None:
    """A second part stands far away: taken together with the first nearly all of the variance would be known."""
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=(2_000, 2))
    numbers[1_900:] += 1_000
    found = attacked(released(numbers, None, 1.0, rng, starts=[1_900]))
    assert found["x0"].left == pytest.approx(0.5, abs=0.03)
    assert {"a combination of numbers, part 0", "a combination of numbers, part 1"} <= found.keys()


def test_numbers_that_categories_tell_are_guessed_from_both() -> None:
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 2, (4_000, 1)).astype(np.int32)
    numbers = 3.0 * codes + rng.normal(size=(4_000, 1))
    alone = attacked(released(numbers, None, 1.0, rng))["x0"].left
    found = attacked(released(numbers, codes, 1.0, rng))
    assert alone == pytest.approx(0.5, abs=0.03)
    assert found["x0"].left < 0.48
    assert found["c0 = value 1"].left < 0.65


def test_the_worst_combination_is_the_least_generalised_eigenvector() -> None:
    rng = np.random.default_rng(8)
    N, K = (A @ A.T for A in rng.normal(size=(2, 4, 4)))
    w = worst_combination(N, K)
    least = w @ N @ w / (w @ K @ w)
    assert least == pytest.approx(np.linalg.eigvals(np.linalg.solve(K, N)).real.min())
    units = np.array([1e-9, 1.0, 1e6, 1e12])
    scaled = worst_combination(N * np.outer(units, units), K * np.outer(units, units)) * units
    assert np.abs(scaled / np.linalg.norm(scaled)) == pytest.approx(np.abs(w / np.linalg.norm(w)))
    assert not worst_combination(N, np.zeros((4, 4))).any()
