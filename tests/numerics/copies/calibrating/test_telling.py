"""Rows like the first are hardly ever taken to tell more, and rows that do are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.calibrating import joining, telling
from app.numerics.copies.calibrating.applied import Calibration
from app.numerics.copies.calibrating.calibration import calibrated
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, joined

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]
Table = tuple[Matrix, Codes, list[int]]
Draw = Callable[[np.random.Generator, int], Table]

VARIANCES = tuple(2.0**power for power in range(-6, 7))
FIRST, LATER = 1_500, 600


def owned(rng: np.random.Generator, rows: int, other: float = 0.0) -> Table:
    """Who owns its home follows from the income, or from one that differs by some luck."""
    age = rng.gamma(9.0, 5.2, rows) + 6
    income = (9_000 + 420 * age) * rng.lognormal(0.0, 0.35, rows)
    home = income * rng.lognormal(0.0, other, rows) > 35_000
    return np.column_stack([age, income]), home.astype(np.int32)[:, None], [2]


def weakly(rng: np.random.Generator, rows: int) -> Table:
    group = rng.integers(0, 6, rows)
    numbers = rng.normal(size=(rows, 3))
    numbers[:, 0] += 0.3 * group
    return numbers, np.column_stack([group, rng.integers(0, 40, rows)]).astype(np.int32), [6, 40]


def together(rng: np.random.Generator, rows: int) -> Table:
    """Two categories tell of a number what neither does."""
    codes = rng.integers(0, 3, (rows, 2)).astype(np.int32)
    numbers = rng.normal(size=(rows, 2))
    numbers[:, 0] += 2 * (codes[:, 0] == codes[:, 1])
    return numbers, codes, [3, 3]


def apart(draw: Draw) -> Draw:
    """The same numbers and the same categories, of other rows."""

    def drawn(rng: np.random.Generator, rows: int) -> Table:
        numbers, codes, sizes = draw(rng, rows)
        return numbers, rng.permutation(codes), sizes

    return drawn


def with_gaps(draw: Draw) -> Draw:
    def drawn(rng: np.random.Generator, rows: int) -> Table:
        numbers, codes, sizes = draw(rng, rows)
        return np.where(rng.random(numbers.shape) < 0.2, np.nan, numbers), codes, sizes

    return drawn


def refused(first: Table, later: Table, frozen: Calibration | None = None) -> bool:
    numbers, codes, sizes = later
    S = joined(*(covariance_shape(row_moments(one[0])) for one in (first, later)))
    frozen = calibrated(*first) if frozen is None else frozen
    return telling.tell_more(frozen, numbers, codes, sizes, S, VARIANCES)


def refusals(draw: Draw, series: int, parts: int, rows: int = LATER) -> int:
    """How many of so many series of parts like the first rows meet one."""
    met = 0
    for seed in range(series):
        rng = np.random.default_rng([12, seed])
        first = draw(rng, FIRST)
        frozen = calibrated(*first)
        met += any(refused(first, draw(rng, rows), frozen) for _ in range(parts))
    return met


@pytest.mark.parametrize("draw", [owned, with_gaps(owned), weakly, together, with_gaps(together)])
def test_rows_like_the_first_are_not_taken_to_tell_more(draw: Draw) -> None:
    assert refusals(draw, series=12, parts=4) == 0


def test_by_one_share_for_all_variances_they_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows without what is allowed for chance: this is what it is for."""
    monkeypatch.setattr(telling, "SURE", 0.0)
    assert refusals(owned, series=12, parts=4) >= 3


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("draw", "rows"), [(owned, 100), (owned, 300), (together, 3_000)])
def test_rows_that_tell_more_are_seen_to(draw: Draw, rows: int, *, gaps: bool) -> None:
    draw = with_gaps(draw) if gaps else draw
    for seed in range(5):
        rng = np.random.default_rng([13, seed])
        assert refused(apart(draw)(rng, FIRST), draw(rng, rows))


def test_first_rows_that_are_few_do_not_excuse_whatever_comes() -> None:
    rng = np.random.default_rng(14)
    first, later = apart(owned)(rng, 40), owned(rng, 3_000)
    frozen = calibrated(*first)
    assert frozen.rows == 40
    assert refused(first, later, frozen)


def test_the_error_of_the_first_rows_counts_too() -> None:
    """Of many rows hardly any error is left: what they differ by may be that of the first."""
    rng = np.random.default_rng([15, 1])
    first, later = owned(rng, 600, other=0.08), owned(rng, 5_000)
    frozen = calibrated(*first)
    found = [refused(first, later, replace(frozen, rows=rows)) for rows in (600, 1_000_000)]
    assert found == [False, True]


def test_the_error_of_a_mean_is_that_of_its_groups() -> None:
    """Groups of equal size, whose means differ as those of rows do: Σ (t_g - t)²/2 is σ²."""
    rows = 32 * 500
    found = []
    for seed in range(40):
        values = np.random.default_rng([16, seed]).normal(size=rows)
        t = [values[one].mean() - values.mean() for one in telling.replaced_rows(rows)]
        found.append(np.square(t).sum() / 2)
    assert np.mean(found) == pytest.approx(1 / rows, rel=0.15)


@pytest.mark.parametrize("rows", [1, 5, 40, 101])
def test_a_group_is_replaced_by_rows_in_the_same_turn(rows: int) -> None:
    versions = telling.replaced_rows(rows)
    assert len(versions) == min(telling.GROUPS, rows // 2)
    for own in versions:
        assert ((own - np.arange(rows)) % 2 == 0).all()
        assert 0 < np.count_nonzero(own != np.arange(rows)) <= rows // telling.GROUPS + 2


def test_hardly_any_rows_tell_nothing() -> None:
    rng = np.random.default_rng(17)
    first = owned(rng, FIRST)
    frozen = calibrated(*first)
    assert not any(refused(first, owned(rng, rows), frozen) for rows in range(2, 40))


def rare(told: float) -> Draw:
    """A number that a column of 1,000 categories tells of."""

    def drawn(rng: np.random.Generator, rows: int) -> Table:
        effects = np.random.default_rng(5).normal(size=1_000)
        group = rng.integers(0, 1_000, rows)
        numbers = rng.normal(size=(rows, 2))
        numbers[:, 0] = told * effects[group] + np.sqrt(1 - told**2) * numbers[:, 0]
        return numbers, group[:, None].astype(np.int32), [1_000]

    return drawn


@pytest.mark.parametrize("gaps", [False, True])
def test_categories_too_rare_to_be_judged_are_seen_by_pairs(
    monkeypatch: pytest.MonkeyPatch, *, gaps: bool
) -> None:
    later = with_gaps(rare(0.95)) if gaps else rare(0.95)
    pairs = []
    for seed in range(3):
        rng = np.random.default_rng([14, seed])
        pairs.append((rare(0.0)(rng, 5_000), later(rng, 1_200)))
    assert all(refused(*both) for both in pairs)
    monkeypatch.setattr(joining, "SURE_OF_PAIRS", np.inf)
    assert not any(refused(*both) for both in pairs)


@pytest.mark.parametrize("told", [0.0, 0.6])
def test_rare_categories_that_tell_as_much_as_before_are_taken(told: float) -> None:
    assert refusals(rare(told), series=6, parts=3) == 0
