"""Differential privacy in figures: against formulas written again, and rejected beside the truth."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, inf, log, log1p

import numpy as np
import pytest
from scipy.stats import norm

from app.numerics.arrays import FloatArray
from app.numerics.copies.grid import FORMAL_FINENESS, FORMAL_ROUNDING
from app.numerics.privacy_accounting import (
    DRAW_DELTA,
    DRAW_EPSILON,
    RowMechanism,
    Unattainable,
    certainty,
    gaussian_delta,
    gaussian_epsilon,
    pure_mu,
    pure_rho,
    response_epsilon,
)

NORMALS_OFF = 5e-14
"""Of the table of normals, on its unit (`tests/numerics/copies/noise/test_normal_table.py`)."""

ROW = RowMechanism((1.0, 0.5), (2, 5, 5))


def mixed_delta(row: RowMechanism, v: float, epsilon: float) -> float:
    """δ(ε) = E[δ_μ(ε - L)], L being the sum of the categories' losses: exact, without any step."""
    q = 1 / (1 + v)
    mu = np.sqrt(row.rows * sum(1 / w for w in row.weights) / v)
    total = 0.0
    columns = [k for k in row.categories for _ in range(row.rows)]
    for signs in product((1, 0, -1), repeat=len(columns)):
        chances = {
            k: {1: q + (1 - q) / k, -1: (1 - q) / k, 0: (k - 2) * (1 - q) / k} for k in columns
        }
        chance = float(np.prod([chances[k][sign] for k, sign in zip(columns, signs, strict=True)]))
        loss = sum(sign * log1p(k / v) for k, sign in zip(columns, signs, strict=True))
        total += chance * gaussian_delta(mu, epsilon - loss)
    return total


@pytest.mark.parametrize("row", [ROW, RowMechanism((2.0,), (3,), rows=3)])
@pytest.mark.parametrize(("v", "epsilon"), [(2.0, 4.0), (8.0, 1.0), (30.0, 0.5)])
def test_the_loss_of_a_row_is_that_of_its_independent_columns(
    row: RowMechanism, v: float, epsilon: float
) -> None:
    exact = mixed_delta(row, v, epsilon)
    numbers = row.rows * len(row.weights)
    found = row.delta(v, epsilon)
    assert exact <= found
    assert found < exact * 1.02 + numbers * (DRAW_DELTA * (1 + exp(epsilon)) + DRAW_EPSILON)
    back = row.epsilon(v, found)
    assert epsilon * 0.999 < back <= epsilon * (1 + 1e-6)
    # A tenth less noise, or a column left out, is told apart.
    assert row.delta(0.9 * v, epsilon) > 1.02 * found
    assert RowMechanism(row.weights, row.categories[1:], row.rows).delta(v, epsilon) < 0.98 * exact


def test_numbers_alone_are_gaussian() -> None:
    row = RowMechanism((1.0, 0.25), ())
    assert row.mu(5.0) == pytest.approx(1.0)
    assert row.rho(5.0) == pytest.approx(0.5)
    assert row.epsilon(5.0, 1e-6) == pytest.approx(gaussian_epsilon(1.0, 1e-6), rel=1e-3)
    assert certainty(1.0) == pytest.approx(norm.cdf(0.5))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 12.0])
def test_a_pure_guarantee_implies_a_gaussian_one_that_touches_it(epsilon: float) -> None:
    alpha = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 2_001), [1 / (1 + exp(epsilon))]])
    pure = np.maximum(0, np.maximum(1 - exp(epsilon) * alpha, exp(-epsilon) * (1 - alpha)))

    def gaps(mu: float) -> np.ndarray:
        return np.asarray(pure - norm.cdf(norm.ppf(1 - alpha) - mu))

    assert gaps(pure_mu(epsilon)).min() == pytest.approx(0, abs=1e-12)
    assert gaps(0.99 * pure_mu(epsilon)).min() < -1e-9


@pytest.mark.parametrize("k", [2, 7, 1_000])
@pytest.mark.parametrize("v", [0.1, 2.0, 50.0])
def test_renyi_divergences_of_a_category_are_below_its_rho(k: int, v: float) -> None:
    rho = pure_rho(log1p(k / v))
    q = 1 / (1 + v)
    own, other = q + (1 - q) / k, (1 - q) / k
    for order in (1.0001, 1.5, 2, 4, 16, 64):
        moment = own * (own / other) ** (order - 1) + other * (other / own) ** (order - 1)
        assert log(moment + (k - 2) * other) / (order - 1) <= rho * order * (1 + 1e-9)


@pytest.mark.parametrize("k", [2, 3, 100, 10_000])
@pytest.mark.parametrize("v", [1e-3, 1.0, 1e3])
def test_a_category_is_counted_as_finite_words_draw_it(k: int, v: float) -> None:
    """Of 2³⁰ words some values have one less than others: never less loss than in real numbers, and hardly more."""
    firsts = (np.arange(k + 1) * 2**30 + k - 1) // k
    rarest = float(np.diff(firsts).min()) / 2**30
    share = 1 / (1 + v)
    assert response_epsilon(k, v) >= log1p(share / ((1 - share) * rarest)) >= log1p(k / v)
    assert response_epsilon(k, v) == pytest.approx(log1p(k / v), rel=1e-4)


@pytest.mark.parametrize("row", [ROW, RowMechanism((1.0,), ()), RowMechanism((), (4,))])
def test_the_least_variance_of_a_guarantee_is_found(row: RowMechanism) -> None:
    cases: list[tuple[float, Callable[[float], float], float]] = [
        (row.variance_of_mu(1.5), row.mu, 1.5),
        (row.variance_of_rho(0.7), row.rho, 0.7),
        (row.variance_of_epsilon(3.0, 1e-5), lambda v: row.delta(v, 3.0), 1e-5),
    ]
    for found, loss, wanted in cases:
        assert loss(found) <= wanted < loss(found * (1 - 1e-4))


def test_rounding_moves_masses_of_the_grid_by_less_than_is_counted() -> None:
    """Ends of the intervals of the coarsest grid, moved apart and together as far as sums and normals may be off."""
    step = 2.0**-FORMAL_FINENESS
    ends = np.arange(0, 8.3, step)

    def masses(moved: float) -> FloatArray:
        return np.asarray(norm.sf(ends - moved) - norm.sf(ends + step + moved))

    moved = step * 2.0**-FORMAL_ROUNDING + 2 * NORMALS_OFF
    most, least = (np.abs(np.log(masses(m) / masses(0.0))).max() for m in (moved, -moved))
    assert DRAW_EPSILON / 4 < most + least < DRAW_EPSILON


def test_rows_of_one_person_add() -> None:
    person = RowMechanism(ROW.weights, ROW.categories, rows=4)
    assert person.mu(3.0) == pytest.approx(2 * ROW.mu(3.0))
    assert person.rho(3.0) == pytest.approx(4 * ROW.rho(3.0))


def test_what_finite_precision_costs_as_much_cannot_be_had() -> None:
    with pytest.raises(Unattainable):
        ROW.variance_of_epsilon(20.0, 1e-6)
    assert ROW.epsilon(1e-3, 1e-6) == inf
