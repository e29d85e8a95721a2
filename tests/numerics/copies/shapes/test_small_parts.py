"""Few later rows under a shape that others gave: near, and together no wider than the noise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.shapes.covering.small_parts import SmallParts, small_part
from app.numerics.copies.shapes.shape import shape_factor

Matrix = NDArray[np.float64]

S = np.array([[4.0, 1.9], [1.9, 1.0]])
CENTRE = np.array([10.0, -5.0])


def covered(rows: Matrix) -> bool:
    return small_part(rows, CENTRE, shape_factor(S)).covered


def test_rows_are_covered_within_the_distance_and_not_beyond() -> None:
    edge = np.sqrt(2) + 4
    inward = shape_factor(S) @ np.array([0.6, 0.8])
    assert covered((CENTRE + 0.999 * edge * inward)[None])
    assert not covered((CENTRE + 1.001 * edge * inward)[None])
    # Near by each column alone, far across them.
    assert not covered((CENTRE + np.array([2.0, -1.0]))[None])
    # With one of the two missing, the other is measured alone.
    lone = np.array([[10.0 + 2 * 0.999 * edge, np.nan], [np.nan, np.nan]])
    assert covered(lone)
    lone[0, 0] = 10.0 + 2 * 1.001 * edge
    assert not covered(lone)
    assert covered(np.empty((0, 2)))
    assert not covered(np.array([[1e308, -1e308]]))


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_rows_like_those_before_are_covered_however_many_parts_they_come_in(gaps: float) -> None:
    rng = np.random.default_rng(1)
    rows = CENTRE + rng.normal(size=(5_000, 2)) @ shape_factor(S).T
    rows[rng.random(rows.shape) < gaps] = np.nan
    together = SmallParts.none(2)
    for part in np.split(rows, 500):
        together = together.merged(small_part(part, CENTRE, shape_factor(S)))
        assert together.covered


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("gaps", [False, True])
def test_rows_at_the_edge_are_covered_alone_and_not_again_and_again(
    column: int, gaps: bool
) -> None:
    """What n small parts may hide of a direction tends to the noise's own variance."""
    L = shape_factor(S)
    step = 5.0 * S[:, column] / np.sqrt(S[column, column])
    if gaps:
        step[1 - column] = np.nan
    parts = SmallParts.none(2)
    taken = 0
    for sign in [1, -1] * 100:
        more = parts.merged(small_part((CENTRE + sign * step)[None], CENTRE, L))
        if not more.covered:
            break
        parts, taken = more, taken + 1
    assert 1 <= taken < 10


def test_the_measure_of_a_row_with_gaps_is_by_the_cells_that_it_has() -> None:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(5, 5))
    S = A @ A.T + 0.1 * np.eye(5)
    row = rng.normal(size=5)
    row[[1, 3]] = np.nan
    there = ~np.isnan(row)
    found = small_part(row[None], np.zeros(5), shape_factor(S))
    expected = row[there] @ np.linalg.solve(S[np.ix_(there, there)], row[there])
    assert found.largest == pytest.approx(expected)
    assert np.trace(found.squares) == pytest.approx(expected)
    assert np.trace(found.expected) == pytest.approx(3)


def test_under_another_shape_rows_and_what_hides_them_are_the_same() -> None:
    """Where all rows have the new shape, it is as if they had had it from the beginning."""
    rng = np.random.default_rng(3)
    before = shape_factor(S)
    after = shape_factor(S + np.array([[30.0, 0.0], [0.0, 0.1]]))
    rows = CENTRE + rng.normal(size=(20, 2)) @ before.T
    first = small_part(rows, CENTRE, before)
    moved = first.under(before, after)
    np.testing.assert_allclose(moved.squares, small_part(rows, CENTRE, after).squares)
    # What hides them is still noise of the old shape.
    np.testing.assert_allclose(after @ moved.expected @ after.T, 20 * S)
    assert moved.largest == first.largest
    back = moved.under(after, before)
    np.testing.assert_allclose(back.squares, first.squares)
    np.testing.assert_allclose(back.expected, first.expected, atol=1e-9)


def test_small_parts_are_weighed_together_across_shapes() -> None:
    """Rows at twice the noise's deviation: hidden once, not again, however often the shape changes."""
    wide = np.repeat([2.0, -2.0], 9)[:, None]
    one, centre = np.eye(1), np.zeros(1)
    parts = small_part(wide, centre, one)
    assert parts.covered
    for growth in [1.0, 1.01, 1.1]:
        again = parts.under(one, growth * one)
        assert again.covered
        assert not again.merged(small_part(wide, centre, growth * one)).covered


def test_columns_of_any_scale_pass_from_shape_to_shape() -> None:
    scale = np.array([1e-150, 1e150])
    before = shape_factor(S) * scale[:, None]
    after = shape_factor(2 * S) * scale[:, None]
    first = small_part(np.ones((3, 2)) * scale, np.zeros(2), before)
    np.testing.assert_allclose(first.under(before, after).squares, first.squares / 2)
    assert SmallParts.none(0).under(np.empty((0, 0)), np.empty((0, 0))).covered


def grown(rows: Matrix, size: int) -> tuple[Matrix, list[Matrix]]:
    """The shape's factor after rows have come in small parts of so many, and all that it was on the way."""
    L, together, ways = shape_factor(S), SmallParts.none(2), []
    for part in np.split(rows, len(rows) // size):
        together = together.merged(small_part(part, CENTRE, L))
        wider = together.widened(L, 30)
        if wider is not None:
            after = shape_factor(wider)
            together, L = together.under(L, after), after
            ways.append(wider)
    return L, ways


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("spread", [1.3, 2.0])
def test_a_shape_widens_to_rows_that_spread_further(spread: float, gaps: float) -> None:
    rng = np.random.default_rng(4)
    along = np.linalg.eigh(S)[1][:, 0]  # in the direction of least noise alone
    normal = rng.normal(size=(2_000, 2)) @ shape_factor(S).T
    rows = CENTRE + normal + (spread - 1) * np.outer(normal @ along, along)
    rows[rng.random(rows.shape) < gaps] = np.nan
    L, ways = grown(rows, 10)
    whole = rows[~np.isnan(rows).any(axis=1)] - CENTRE
    seen = np.linalg.solve(L, whole.T @ whole / len(whole))
    assert np.linalg.eigvalsh(np.linalg.solve(L, seen.T))[-1] < 1.1
    before = S
    for wider in ways:  # no shape is narrower than one before it
        assert np.linalg.eigvalsh(wider - before)[0] > -1e-9
        before = wider
    assert len(ways) < 20, "it comes to rest"


def test_a_shape_hardly_widens_to_rows_like_those_before() -> None:
    rng = np.random.default_rng(5)
    final = []
    for _ in range(20):
        rows = CENTRE + rng.normal(size=(1_000, 2)) @ shape_factor(S).T
        L, _ = grown(rows, 10)
        inverse = np.linalg.inv(shape_factor(S))
        final.append(np.linalg.eigvalsh(inverse @ L @ L.T @ inverse.T)[-1])
    assert np.median(final) == pytest.approx(1.0)
    assert np.quantile(final, 0.8) < 1.5
    assert max(final) < 2.5


def test_few_rows_widen_nothing() -> None:
    L = shape_factor(S)
    wide = CENTRE + 1.9 * np.random.default_rng(6).normal(size=(29, 2)) @ L.T
    assert small_part(wide[:14], CENTRE, L).widened(L, 30) is None
    # Thirty cells tell one number, by which all directions widen alike; as many rows tell of each direction.
    parts = small_part(wide[:15], CENTRE, L)
    together = parts.widened(L, 30)
    assert together is not None
    grown = np.trace(parts.squares) / 30 * (1 + np.sqrt(2 / 30)) ** 2
    np.testing.assert_allclose(together, S * grown)
    apart = small_part(wide, CENTRE, L).widened(L, 29)
    assert apart is not None
    assert abs(apart[1, 1] / S[1, 1] - apart[0, 0] / S[0, 0]) > 0.01
    assert SmallParts.none(0).widened(np.empty((0, 0)), 10) is None


def two_of(rng: np.random.Generator, rows: int, d: int, own_variance: float) -> Matrix:
    """d nearly equal columns, of which each row has two."""
    found = rng.normal(size=(rows, 1)) + np.sqrt(own_variance) * rng.normal(size=(rows, d))
    for row in found:
        row[rng.permutation(d)[2:]] = np.nan
    return np.asarray(found)


NEARLY_EQUAL = np.ones((14, 14)) + 0.05 * np.eye(14)


def seen_in(rows: int, further: float, seed: int) -> Matrix | None:
    """The shape that one part widens to, its own parts of columns being so much more variable."""
    L = shape_factor(NEARLY_EQUAL)
    part = two_of(np.random.default_rng(seed), rows, 14, 0.05 * further)
    return small_part(part, np.zeros(14), L).widened(L, 150)


@pytest.mark.parametrize("further", [2.0, 3.0, 4.0])
def test_rows_that_have_few_of_many_columns_are_looked_at_together(further: float) -> None:
    """Of 13 differences a hundred rows tell eight times each, and two hundred times of all: 0.05 becomes what it is."""
    own = []
    for seed in range(10):
        wider = seen_in(300, further, seed)
        assert wider is not None
        own.append((wider[0, 0] + wider[1, 1] - 2 * wider[0, 1]) / 2)
    assert np.mean(own) == pytest.approx(0.05 * further * (1 + np.sqrt(2 / 300)) ** 2, rel=0.1)
    assert min(own) > 0.9 * 0.05 * further


def test_rows_with_few_of_many_columns_that_spread_no_further_hardly_widen_anything() -> None:
    """One part in e² by chance at most, and then by little."""
    grown = [wider for seed in range(60) if (wider := seen_in(300, 1.0, seed)) is not None]
    assert len(grown) <= 15
    assert all(np.linalg.eigvalsh(1.6 * NEARLY_EQUAL - wider)[0] > 0 for wider in grown)


def test_an_axis_of_which_no_row_says_anything_stays_as_it_is() -> None:
    rows = 2 * np.random.default_rng(7).normal(size=(20, 3))
    rows[:, 2] = np.nan
    wider = small_part(rows, np.zeros(3), np.eye(3)).widened(np.eye(3), 40)
    assert wider is not None
    assert wider[2, 2] == pytest.approx(1.0)
    assert wider[0, 0] == pytest.approx(wider[1, 1])
    assert wider[0, 0] > 2
