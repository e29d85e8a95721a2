"""Leakage in theory, against enumeration, simulation and exact rational arithmetic."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from app.errors import InvalidParameter
from app.numerics.synthesis.leakage import (
    joint_leakage,
    joint_mass_function,
    leakage,
    mass_function,
)


def enumerated(n: int, m: int, rows: int) -> np.ndarray:
    """P{N = k} by going through all permutations; the first one may be the identity."""
    permutations = list(itertools.permutations(range(n)))
    counts = Counter(
        sum(all(p[i] == i for p in chosen) for i in range(rows))
        for chosen in itertools.product(permutations, repeat=m - 1)
    )
    total = sum(counts.values())
    return np.array([counts[k] / total for k in range(rows + 1)])


def simulated(n: int, m: int, trials: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    places = np.broadcast_to(np.arange(n, dtype=np.int16), (trials, n))
    met = np.ones((trials, n), dtype=bool)
    for _ in range(m - 1):
        met &= rng.permuted(places, axis=1) == places
    return np.asarray(met.sum(axis=1))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_mass_function_is_that_of_the_enumeration(n: int, m: int) -> None:
    for rows in range(1, n + 1):
        expected = enumerated(n, m, rows)
        np.testing.assert_allclose(mass_function(n, m, rows), expected, atol=1e-15)
        k = np.arange(rows + 1)
        found = leakage(n, m, rows)
        assert found.risk == pytest.approx(1 - expected[0], abs=1e-15)
        assert found.mean == pytest.approx(k @ expected, abs=1e-15)
        assert found.variance == pytest.approx(k**2 @ expected - (k @ expected) ** 2, abs=1e-14)


def test_two_records_and_three_components_give_the_corrected_golden_numbers() -> None:
    np.testing.assert_allclose(mass_function(2, 3), [3 / 4, 0, 1 / 4], atol=1e-16)


@pytest.mark.parametrize("m", [2, 3])
def test_the_mass_function_is_accepted_by_simulated_permutations(m: int) -> None:
    counts = np.bincount(simulated(50, m, 100_000, seed=m), minlength=21)[:21]

    def p_value(mass: np.ndarray) -> float:
        pooled = 5 if m == 2 else 2  # later cells expect too few
        observed = np.append(counts[:pooled], counts[pooled:].sum())
        expected = np.append(mass[:pooled], 1 - mass[:pooled].sum()) * counts.sum()
        return float(stats.chisquare(observed, expected).pvalue)

    assert p_value(mass_function(50, m)) > 1e-3
    off = mass_function(50, m)
    off[1:] *= 1.1
    off[0] = 1 - off[1:].sum()
    assert p_value(off) < 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("m", [2, 3, 7])
def test_risk_mean_and_variance_are_the_theorems_in_rational_arithmetic(n: int, m: int) -> None:
    def r(taken: int) -> Fraction:
        falling = Fraction(math.factorial(n - taken), math.factorial(n))
        return falling ** (m - 2) / math.factorial(taken)

    found = leakage(n, m)
    risk = sum((-1) ** (i + 1) * r(i) for i in range(1, n + 1))
    assert found.risk == pytest.approx(float(risk), rel=1e-14)
    share = Fraction(1, n) ** (m - 2)
    assert found.mean == pytest.approx(float(share), rel=1e-14)
    rest = Fraction(1, n - 1) ** (m - 2) if n > 1 else Fraction(0)
    assert found.variance == pytest.approx(float(share * (1 - share + rest)), rel=1e-14)
    mass = mass_function(n, m, most=n)
    for k in range(n + 1):
        exact = sum((-1) ** (i - k) * math.comb(i, k) * r(i) for i in range(k, n + 1))
        assert mass[k] == pytest.approx(float(exact), rel=1e-13, abs=0)


def test_for_two_components_the_risk_tends_to_one_less_the_inverse_of_e() -> None:
    found = leakage(10**9, 2)
    assert found.risk == pytest.approx(1 - math.exp(-1), rel=1e-15)
    assert (found.mean, found.variance) == (1.0, 1.0)
    poisson = stats.poisson(1).pmf(np.arange(21))
    np.testing.assert_allclose(mass_function(10**9, 2), poisson, rtol=1e-12)


def test_a_tiny_risk_keeps_its_digits() -> None:
    assert leakage(10**9, 3).risk == pytest.approx(1e-9 - 5e-19, rel=1e-15)
    assert leakage(10**9, 30).risk == pytest.approx(1e-252, rel=1e-13)
    assert leakage(10**9, 10**6).risk == 0.0


def test_the_mass_sums_to_one_and_has_the_mean_for_any_number_of_rows() -> None:
    for rows in (1, 7, 20, 21, 65):
        mass = mass_function(20, 2, rows, most=rows)
        found = leakage(20, 2, rows)
        k = np.arange(rows + 1)
        assert mass.sum() == pytest.approx(1.0, rel=1e-12)
        assert k @ mass == pytest.approx(found.mean, rel=1e-12)
        assert k**2 @ mass - (k @ mass) ** 2 == pytest.approx(found.variance, rel=1e-10)
        assert 1 - mass[0] == pytest.approx(found.risk, rel=1e-12)


def test_a_single_record_always_leaks() -> None:
    assert leakage(1, 5).risk == 1.0
    np.testing.assert_array_equal(mass_function(1, 5), [0.0, 1.0])


@pytest.mark.parametrize(
    ("records", "components", "rows", "named"),
    [(0, 2, None, "records"), (5, 1, None, "components"), (5, 2, 0, "rows")],
)
def test_impossible_sizes_are_refused_by_name(
    records: int, components: int, rows: int | None, named: str
) -> None:
    for function in (leakage, mass_function):
        with pytest.raises(InvalidParameter) as refused:
            function(records, components, rows)
        assert refused.value.fields["parameter"] == named


def test_parts_that_are_permuted_on_their_own_add_up() -> None:
    parts = [(5, 2, 5), (5, 2, 5), (8, 3, 4)]
    found = joint_leakage(parts)
    alone = [leakage(*part) for part in parts]
    assert found.mean == pytest.approx(sum(one.mean for one in alone))
    assert found.variance == pytest.approx(sum(one.variance for one in alone))
    assert found.risk == pytest.approx(1 - np.prod([1 - one.risk for one in alone]))
    mass = joint_mass_function(parts, most=14)
    assert mass.sum() == pytest.approx(1)
    assert mass[0] == pytest.approx(1 - found.risk)
    assert mass @ np.arange(15) == pytest.approx(found.mean)
    assert joint_leakage([(1, 2, 1), (9, 2, 9)]).risk == 1
