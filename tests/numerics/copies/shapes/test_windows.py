"""The last rows of small parts are measured by themselves, whatever came before them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.shapes.covering.small_parts import SmallParts, small_part
from app.numerics.copies.shapes.covering.windows import LENGTHS, Windows
from app.numerics.copies.shapes.shape import shape_factor

Matrix = NDArray[np.float64]

S = np.array([[4.0, 1.9], [1.9, 1.0]])
CENTRE = np.array([10.0, -5.0])
NEEDED = 30


def normal(rng: np.random.Generator, rows: int, spread: float = 1.0) -> Matrix:
    return CENTRE + spread * rng.normal(size=(rows, 2)) @ shape_factor(S).T


def noise_of(rows: Matrix, size: int) -> list[Matrix]:
    """The shape that each part had when rows came by so many."""
    L, windows, had = shape_factor(S), Windows.empty(2), []
    for part in np.split(rows, len(rows) // size):
        wider, windows = windows.merged(small_part(part, CENTRE, L)).looked_at(L, NEEDED)
        if wider is not None:
            after = shape_factor(wider)
            L, windows = after, windows.under(L, after)
        had.append(L @ L.T)
    return had


def least_cover(shape: Matrix, spread: float) -> float:
    """The smallest ratio of noise to the rows' own variance, over all directions."""
    inverse = np.linalg.inv(spread * shape_factor(S))
    return float(np.linalg.eigvalsh(inverse @ shape @ inverse.T)[0])


@pytest.mark.parametrize(
    ("before", "spread", "after"), [(10, 1.8, 8), (60, 1.5, 24), (200, 1.25, 64)]
)
def test_rows_that_begin_to_spread_further_are_soon_covered(
    before: int, spread: float, after: int
) -> None:
    """However many came before: after so many parts of 10 most have the noise that they need.

    None has less than may be chance in the longest window that was full of such rows by then.
    """
    covers = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = np.vstack([normal(rng, 10 * before), normal(rng, 10 * after, spread)])
        covers.append(least_cover(noise_of(rows, 10)[-1], spread))
    assert np.median(covers) > 1.0
    longest = NEEDED * 2 ** int(np.log2(10 * after / (2 * NEEDED)))
    assert min(covers) > (1 + (np.sqrt(2) + 1) / np.sqrt(longest)) ** -2


def test_rows_like_those_before_hardly_widen_anything() -> None:
    """Simulated, one window of 500 is beyond chance: some runs of 500 and more windows have one, by little."""
    wide = []
    for seed in range(20):
        shape = noise_of(normal(np.random.default_rng(seed), 3_000), 10)[-1]
        inverse = np.linalg.inv(shape_factor(S))
        wide.append(np.linalg.eigvalsh(inverse @ shape @ inverse.T)[-1])
    assert np.median(wide) == pytest.approx(1.0)
    assert max(wide) < 4.0


def test_a_window_is_looked_at_when_it_is_full_and_begins_again() -> None:
    rng = np.random.default_rng(3)
    L, windows = shape_factor(S), Windows.empty(2)
    windows = windows.merged(small_part(normal(rng, NEEDED - 1, 3.0), CENTRE, L))
    wider, same = windows.looked_at(L, NEEDED)
    assert wider is None
    np.testing.assert_array_equal(same.counted, windows.counted)
    wider, begun = windows.merged(small_part(normal(rng, 1), CENTRE, L)).looked_at(L, NEEDED)
    assert wider is not None
    assert np.linalg.eigvalsh(wider - S)[0] > 0
    assert not begun.counted[0].any()
    np.testing.assert_allclose(begun.counted[1], NEEDED * np.eye(2), atol=1e-9)


def test_two_full_windows_are_both_covered() -> None:
    """Of the longer one the rows are wide along one direction, of the shorter along another."""
    L = np.eye(2)
    sizes = [
        (np.array([[3.0, 0.1], [-3.0, -0.1]]), NEEDED),
        (np.array([[0.1, 4.0], [-0.1, -4.0]]), NEEDED),
    ]
    windows, shapes = Windows.empty(2), []
    for pair, rows in sizes:
        part = small_part(np.tile(pair, (rows // 2, 1)), np.zeros(2), L)
        shape, windows = windows.merged(part).looked_at(L, NEEDED)
        shapes.append(shape)
    assert shapes[1] is not None
    assert shapes[1][1, 1] > 16
    assert shapes[1][0, 0] > 4.5  # half of the rows of the longer window


def test_axes_that_few_rows_tell_of_are_looked_at_together() -> None:
    """All rows tell of one axis, each of one of twelve others: none of these is ever told of by enough."""
    rng = np.random.default_rng(4)
    squares, counted = np.zeros((13, 13)), np.diag([130.0, *12 * [130 / 12]])

    def window(further: float) -> Windows:
        u = rng.normal(size=(130, 2)) * [1.0, np.sqrt(further)]
        squares[:] = 0.0
        for place, (common, own) in enumerate(u):
            row = np.zeros(13)
            row[0], row[1 + place % 12] = common, own
            squares[:] += np.outer(row, row)
        return Windows.empty(13).merged(SmallParts(squares, counted, counted, 0.0))

    for _ in range(10):
        wider, _ = window(2.5).looked_at(np.eye(13), 130)
        assert wider is not None
        np.testing.assert_allclose(np.diag(wider)[2:], wider[1, 1])
        assert 1.6 < wider[1, 1] < 5.0
    assert sum(window(1.0).looked_at(np.eye(13), 130)[0] is not None for _ in range(100)) <= 4
    # Not before the window holds so many rows.
    assert window(2.5).looked_at(np.eye(13), 132)[0] is None


def test_rows_pass_from_shape_to_shape() -> None:
    part = small_part(normal(np.random.default_rng(1), 9), CENTRE, shape_factor(S))
    windows = Windows.empty(2).merged(part)
    again = windows.under(shape_factor(S), shape_factor(4 * S))
    np.testing.assert_allclose(again.squares, windows.squares / 4)
    assert again.squares.shape == (LENGTHS, 2, 2)


def test_without_a_number_nothing_is_looked_at() -> None:
    nothing = np.empty((0, 0))
    assert Windows.empty(0).looked_at(nothing, 10)[0] is None
    assert Windows.empty(0).under(nothing, nothing).squares.size == 0
