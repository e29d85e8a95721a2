"""What trees learn beyond lines: cells of records, the attacker by cells, and the noise that it makes necessary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.calibrating import calibration, cell_attack
from app.numerics.copies.calibrating.applied import (
    Calibration,
    applied_variance,
    largest_applied,
    own_variances,
)
from app.numerics.copies.calibrating.association import indicators
from app.numerics.copies.calibrating.calibration import calibrated
from app.numerics.copies.calibrating.cell_attack import CellRows, shares_of_lines
from app.numerics.copies.calibrating.cells import record_cells
from app.numerics.copies.calibrating.learnt import Learnt
from app.numerics.copies.calibrating.univariate_error import best_guess_error

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]

LEVELS = (0.25, 1.0, 4.0)


def people(rows: int = 12_000) -> tuple[Matrix, Codes, list[int]]:
    """Ages and incomes that a status tells of, some of it only together with a sex; and schooling."""
    rng = np.random.default_rng(1)
    status = rng.choice(4, rows, p=[0.35, 0.4, 0.15, 0.1])
    sex = rng.integers(0, 2, rows)
    school = rng.integers(0, 6, rows)
    spread = np.array([4.0, 10.0, 14.0, 8.0])[status]
    age = np.array([24.0, 42.0, 50.0, 66.0])[status] + spread * rng.normal(size=rows)
    income = 1_000 + 20 * age + 300 * (2 * sex - 1) * (status % 2) + 400 * rng.normal(size=rows)
    years = np.array([4.0, 8.0, 9.0, 12.0, 13.0, 16.0])[school]
    return (
        np.column_stack([age, income, years]),
        np.column_stack([status, sex, school]).astype(np.int32),
        [4, 2, 6],
    )


def applied(numbers: Matrix, codes: Codes, sizes: list[int]) -> list[float]:
    found = calibrated(numbers, codes, sizes)
    return [applied_variance(found, v) for v in LEVELS]


def by_lines(found: Calibration) -> Calibration:
    return replace(found, learnt=Learnt.nothing())


def test_a_determined_number_does_not_change_the_applied_variance() -> None:
    """What the categories leave of it is rounding, and nothing is divided by rounding."""
    numbers, codes, sizes = people()
    found = calibrated(numbers, codes, sizes)
    assert found.travelling == (2,)
    without = applied(numbers[:, :2], codes, sizes)
    assert applied(numbers, codes, sizes) == pytest.approx(without, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6, 0.3])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_the_unit_of_a_column_does_not_change_the_applied_variance(
    column: int, scale: float
) -> None:
    numbers, codes, sizes = people()
    other = numbers.copy()
    other[:, column] *= scale
    assert applied(other, codes, sizes) == pytest.approx(applied(numbers, codes, sizes), rel=1e-6)


@pytest.mark.parametrize(("factor", "offset"), [(3.7, 11.0), (-1e-3, 0.1), (1e6, -7.0)])
def test_an_affine_copy_of_a_determined_number_changes_nothing(
    factor: float, offset: float
) -> None:
    numbers, codes, sizes = people()
    expected = applied(numbers, codes, sizes)
    copied = numbers[:, 2] * factor + offset
    replaced = np.column_stack([numbers[:, :2], copied])
    beside = np.column_stack([numbers, copied])
    assert applied(replaced, codes, sizes) == pytest.approx(expected, rel=1e-6)
    assert applied(beside, codes, sizes) == pytest.approx(expected, rel=1e-6)


def test_two_travelling_numbers_with_the_same_rest_tell_as_much_as_one() -> None:
    """Their difference is rounding, and must not seem to tell of the ages."""
    numbers, codes, sizes = people()
    rng = np.random.default_rng(2)
    nearly = numbers[:, 2] + 0.5 * rng.normal(size=len(numbers)) + 0.01 * numbers[:, 0]
    one = np.column_stack([numbers[:, :2], nearly])
    two = np.column_stack([one, 3.7 * nearly + 11.0])
    assert calibrated(two, codes, sizes).travelling == (2, 3)
    lines = [by_lines(calibrated(table, codes, sizes)) for table in (one, two)]
    for v in LEVELS:
        a = [applied_variance(found, v) for found in lines]
        assert a[1] == pytest.approx(a[0], rel=1e-6)


def test_cells_are_of_categories_that_tell_and_of_no_others() -> None:
    rng = np.random.default_rng(3)
    rows = 8_000
    product, region, customer = (rng.integers(0, size, rows) for size in (4, 4, 3_000))
    price = np.where((product < 2) & (region < 2), 2.0, 0.0)
    codes = np.column_stack([product, region, customer]).astype(np.int32)
    sizes = [4, 4, 3_000]
    targets = (price + 0.5 * rng.normal(size=rows))[:, None]
    judged, cells = record_cells(
        indicators(codes, sizes), np.cumsum([0, *sizes]), targets, most=32, least=100
    )
    assert judged.tolist() == list(range(1, rows, 2))
    left = sum(targets[judged][cells == cell].var() * (cells == cell).mean() for cell in set(cells))
    assert left < 0.3, "what two columns tell beyond their sum is found"
    noise = rng.normal(size=(rows, 1))
    _, cells = record_cells(
        indicators(codes, sizes), np.cumsum([0, *sizes]), noise, most=32, least=100
    )
    assert not cells.any(), "three thousand customers tell nothing of noise"


@pytest.mark.parametrize("a", [0.25, 1.0, 4.0])
def test_the_attack_by_cells_is_the_best_there_is_where_cells_are_normal(a: float) -> None:
    """One number, two cells: quadrature tells what the best guess without the record leaves."""
    rng = np.random.default_rng(4)
    cells = (rng.random(40_000) < 0.3).astype(np.intp)
    x = np.where(cells == 1, 3.0, 0.0) + np.where(cells == 1, 0.5, 1.0) * rng.normal(size=40_000)
    left = x - np.array([x[cells == cell].mean() for cell in (0, 1)])[cells]
    K = x.var()
    rows = CellRows(x[:, None], left[:, None], cells, cells[:, None].astype(float))
    numbers, facts = shares_of_lines(rows, np.array([[K]]), [a])
    replaced = best_guess_error(x, a * K) * K
    kept = sum(share * a * K * c / (a * K + c) for share, c in ((0.7, 1.0), (0.3, 0.25)))
    G = left.var()
    lines = (a * (a * K / (1 + a)) + a * K * G / (a * K + G)) / (1 + a)
    assert numbers[0, 0] == pytest.approx((a * replaced + kept) / (1 + a) / lines, rel=0.015)
    assert facts[0, 0] < 1, "two bumps are told apart better than by a line"


def weighed_lines(rows: CellRows, S: Matrix, Y: Matrix, a: float) -> tuple[Matrix, Matrix]:
    """The guess and the chances of the cells, written down cell by cell."""
    guesses, densities = [], []
    for cell in range(int(rows.cells.max()) + 1):
        own = rows.numbers[rows.cells == cell]
        M, noisy = np.cov(own.T), np.cov(own.T) + a * S
        away = Y - own.mean(axis=0)
        guesses.append(own.mean(axis=0) + away @ np.linalg.solve(noisy, M))
        exponent = -0.5 * (away * np.linalg.solve(noisy, away.T).T).sum(axis=1)
        densities.append(len(own) * np.exp(exponent) / np.sqrt(np.linalg.det(noisy)))
    chances = np.array(densities) / np.sum(densities, axis=0)
    return np.einsum("cnd,cn->nd", np.array(guesses), chances), chances


@pytest.mark.parametrize("a", [0.0625, 1.0, 64.0])
@pytest.mark.parametrize("room", [2**20, 700])
def test_the_attack_by_cells_is_the_mixture_of_their_lines(
    monkeypatch: pytest.MonkeyPatch, room: int, a: float
) -> None:
    """In one product, whole or in pieces of rows; errors of numbers and facts follow from it."""
    monkeypatch.setattr(cell_attack, "ROOM", room)
    rng = np.random.default_rng(8)
    cells = rng.choice(3, 900, p=[0.5, 0.3, 0.2]).astype(np.intp)
    mixing = rng.normal(size=(3, 3, 3))
    X = np.einsum("nd,nde->ne", rng.normal(size=(900, 3)), mixing[cells]) + 3.0 * cells[:, None]
    X -= X.mean(axis=0)
    X[0] *= 40
    facts = (cells[:, None] == [0, 1]).astype(float)
    rows = CellRows(X, X - X.mean(axis=0), cells, facts)
    S = np.cov(X.T) + np.diag([0.1, 0.2, 0.3])
    L = np.linalg.cholesky(S)
    noise = np.random.default_rng(cell_attack.SEED).normal(size=X.shape) @ L.T
    Y = X - X.mean(axis=0) + np.sqrt(a) * noise
    centred = CellRows(X - X.mean(axis=0), rows.left, cells, facts)
    guess, chances = weighed_lines(centred, S, Y, a)
    K = np.cov(X.T)
    by_line = Y @ np.linalg.solve(K + a * S, K)
    found = ((centred.numbers - guess) ** 2).mean(axis=0)
    found /= ((centred.numbers - by_line) ** 2).mean(axis=0)
    replaced = np.diag(K - K @ np.linalg.solve(K + a * S, K))
    kept = np.zeros(3)
    for cell in range(3):
        C = np.cov(X[cells == cell].T)
        kept += (cells == cell).mean() * np.diag(C - C @ np.linalg.solve(C + a * S, C))
    expected = np.minimum((a * replaced * found + kept) / (a * replaced + replaced), 1.0)
    in_cells = np.array([facts[cells == cell].mean(axis=0) for cell in range(3)])
    g = (X - X.mean(axis=0)).T @ facts / 899
    line = facts.mean(axis=0) + Y @ np.linalg.solve(K + a * S, g)
    of_facts = ((facts - chances.T @ in_cells) ** 2).mean(axis=0) / ((facts - line) ** 2).mean(
        axis=0
    )
    numbers, shares = shares_of_lines(rows, S, [a])
    np.testing.assert_allclose(numbers[0], expected, rtol=1e-5)
    np.testing.assert_allclose(shares[0], np.minimum(of_facts, 1.0), rtol=1e-5)


def test_gaps_are_filled_in_turn_from_the_rows_of_their_cell() -> None:
    present = np.ones((9, 2), dtype=bool)
    present[[0, 2, 4, 5, 7, 8], 1] = False
    cells = np.array([0, 1, 0, 0, 0, 0, 0, 2, 2])
    donors = calibration._donors(present, cells)
    assert donors[:, 0].tolist() == list(range(9))
    # The rows of cell 0 that have the value are 3 and 6; cell 2 has none.
    assert donors[:, 1].tolist() == [3, 1, 6, 3, 3, 6, 6, 7, 8]


def test_what_is_learnt_costs_noise_that_grows_with_the_level() -> None:
    found = calibrated(*people())
    lines = by_lines(found)
    levels = np.geomspace(1e-6, 1e6, 500).tolist()
    a = [applied_variance(found, v) for v in levels]
    assert a == sorted(a)
    for v, one in zip(levels, a, strict=True):
        assert v < applied_variance(lines, v) <= one <= 1.01 * largest_applied(v)
    assert applied_variance(found, 1.0) > 1.02 * applied_variance(lines, 1.0)


def test_the_same_rows_need_the_same_noise() -> None:
    assert applied(*people()) == applied(*people())


def test_a_number_that_its_own_value_gives_away_asks_for_no_noise() -> None:
    """Nine of ten have no gain at all: no noise of the level would hide that, and the owner is told."""
    rng = np.random.default_rng(5)
    rows = 12_000
    rich = rng.integers(0, 2, rows)
    gain = np.where(rng.random(rows) < 0.02 + 0.16 * rich, rng.exponential(10.0, rows), 0.0)
    codes = rich[:, None].astype(np.int32)
    found = calibrated(gain[:, None], codes, [2])
    for v in LEVELS:
        a = applied_variance(found, v)
        assert best_guess_error(gain, a * gain.var()) < v / (1 + v)
        needs, of_lines = own_variances(found, v)[0], own_variances(by_lines(found), v)[0]
        assert needs == pytest.approx(of_lines, rel=0.01)
