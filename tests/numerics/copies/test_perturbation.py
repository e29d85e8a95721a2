"""Copies from originals and noise: the formula, and that no way of cutting changes a bit."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.numerics.copies import path
from app.numerics.copies.noise import definition, steps
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.noise.steps import compile_steps
from app.numerics.copies.path import PathDraws, RowRange, bridges, draws_needed, path_block
from app.numerics.copies.perturbation import perturbed, perturbed_block

VARIANCES = np.random.default_rng(0).uniform(0.2, 2.0, 40).tolist()
HISTORY = bridges(VARIANCES)
KEYS = {
    position: draw_key(bytes(32), hashlib.sha256(bytes([position])).digest(), bytes(32))
    for position in range(len(VARIANCES))
}
L = np.linalg.cholesky(np.full((3, 3), 0.4) + np.diag([1.0, 2.0, 0.5]))
EXPONENTS = [-20, -20, -21]


@pytest.fixture(params=["definition", "kernels"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test here, with numpy and compiled."""
    monkeypatch.setattr(steps, "_in_use", [definition])
    if request.param == "kernels":
        compile_steps()


def draws(target: int, columns: int = 3) -> PathDraws:
    return PathDraws(HISTORY, target, KEYS, columns)


def originals(n: int, seed: int = 1) -> list[NDArray[np.float64]]:
    return list(np.random.default_rng(seed).gamma(2.0, size=(3, n)))


def test_a_copy_is_the_original_plus_shaped_noise_within_half_a_step() -> None:
    X = originals(500)
    Y = perturbed_block(X, draws(39), RowRange(2, 0, 500), L=L, exponents=EXPONENTS)
    B = path_block(draws(39), RowRange(2, 0, 500))
    step = 2.0 ** np.array(EXPONENTS)[:, np.newaxis]
    assert (np.abs(Y - (np.array(X) + L @ B)) <= step * 0.5000001).all()
    np.testing.assert_array_equal(Y / step, np.rint(Y / step))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 3_000), st.integers(0, 400), st.sampled_from([1, 7, 64, 8_192]), st.data())
def test_neither_slices_nor_tiles_nor_neighbours_at_hand_change_a_bit(
    first: int, count: int, height: int, data: st.DataObject
) -> None:
    target = 39
    X = [column[first : first + count] for column in originals(3_400)]
    rows = RowRange(1, first, first + count)
    needed = draws_needed(HISTORY, target, {})
    known = {
        position: path_block(draws(position), rows)
        for position in data.draw(st.sets(st.sampled_from(needed)))
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path, "TILE_ROWS", height)
        kept = np.empty((3, count))
        made = perturbed_block(
            X, draws(target), rows, L=L, exponents=EXPONENTS, known=known, keep=kept
        )
    np.testing.assert_array_equal(made, whole_copy()[:, first : first + count])
    np.testing.assert_array_equal(kept, path_block(draws(target), rows))


def whole_copy() -> NDArray[np.float64]:
    return perturbed_block(
        originals(3_400), draws(39), RowRange(1, 0, 3_400), L=L, exponents=EXPONENTS
    )


def test_a_path_that_is_there_gives_the_same_copy() -> None:
    X, rows = originals(3_400), RowRange(1, 0, 3_400)
    B = path_block(draws(39), rows)
    np.testing.assert_array_equal(perturbed(X, B, L, EXPONENTS), whole_copy())


def test_a_column_is_the_same_whatever_columns_are_released_with_it() -> None:
    alone = perturbed_block(
        originals(3_400)[2:], draws(39), RowRange(1, 0, 3_400), L=L[2:], exponents=EXPONENTS[2:]
    )
    np.testing.assert_array_equal(alone[0], whole_copy()[2])


def test_threads_change_no_bit() -> None:
    X = originals(20_000)

    def block(number: int) -> NDArray[np.float64]:
        return perturbed_block(X, draws(39), RowRange(number, 0, 20_000), L=L, exponents=EXPONENTS)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(block, range(6)))
    for number, made in enumerate(together):
        np.testing.assert_array_equal(made, block(number))


def test_missing_originals_stay_missing_and_disturb_nothing_else() -> None:
    X = originals(50)
    complete = perturbed_block(X, draws(3), RowRange(0, 0, 50), L=L, exponents=EXPONENTS)
    X[1][7] = np.nan
    holed = perturbed_block(X, draws(3), RowRange(0, 0, 50), L=L, exponents=EXPONENTS)
    complete[1, 7] = np.nan
    np.testing.assert_array_equal(holed, complete)


def test_a_column_without_noise_and_shapes_that_do_not_fit_are_refused() -> None:
    bare = L.copy()
    bare[1] = 0
    with pytest.raises(ValueError, match="has noise"):
        perturbed_block(originals(5), draws(0), RowRange(0, 0, 5), L=bare, exponents=EXPONENTS)
    with pytest.raises(ValueError, match="as many originals"):
        perturbed_block(originals(5)[:2], draws(0), RowRange(0, 0, 5), L=L, exponents=EXPONENTS)
    with pytest.raises(ValueError, match="rows that are asked for"):
        perturbed_block(originals(5), draws(0), RowRange(0, 0, 6), L=L, exponents=EXPONENTS)
