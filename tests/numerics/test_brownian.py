"""Blocks of the path: the right combination, and the same bits whatever is at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.brownian import draws_needed, path_block
from app.numerics.multilevel import bridges, coefficient_rows
from app.numerics.noise import BLOCK_ROWS, draw_key, standard_normals


def random_history(count: int, seed: int) -> tuple[list[float], dict[int, bytes]]:
    variances = np.random.default_rng(seed).uniform(0.25, 1.0, count).tolist()
    keys = {
        position: draw_key(bytes(32), hashlib.sha256(bytes([seed, position])).digest())
        for position in range(count)
    }
    return variances, keys


def test_a_block_is_the_linear_combination_of_all_draws() -> None:
    variances, keys = random_history(40, 0)
    start, stop, columns = BLOCK_ROWS - 30, BLOCK_ROWS + 31, 3
    draws = np.stack([standard_normals(keys[j], start, stop, columns) for j in range(40)])
    combined = np.tensordot(coefficient_rows(variances), draws, axes=1)
    for target in range(40):
        block = path_block(
            bridges(variances), keys, target, start=start, stop=stop, columns=columns
        )
        np.testing.assert_allclose(block, combined[target], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 29), st.sets(st.integers(0, 29)), st.integers(0, 200), st.integers(1, 90))
def test_blocks_at_hand_and_row_ranges_change_no_bit(
    target: int, cached: set[int], offset: int, count: int
) -> None:
    variances, keys = random_history(30, 1)
    history = bridges(variances)
    whole = path_block(history, keys, target, start=0, stop=300, columns=2)
    known = {
        position: path_block(history, keys, position, start=offset, stop=offset + count, columns=2)
        for position in cached
    }
    part = path_block(
        history, keys, target, start=offset, stop=offset + count, columns=2, known=known
    )
    np.testing.assert_array_equal(part, whole[:, offset : offset + count])


def test_a_later_history_does_not_move_an_earlier_path() -> None:
    variances, keys = random_history(30, 2)
    early = path_block(bridges(variances[:10]), keys, 9, start=0, stop=50, columns=2)
    late = path_block(bridges(variances), keys, 9, start=0, stop=50, columns=2)
    np.testing.assert_array_equal(early, late)


class Recording(Mapping[int, bytes]):
    """Keys that remember which of them were asked for."""

    def __init__(self, keys: dict[int, bytes]) -> None:
        self.keys_held = keys
        self.asked: set[int] = set()

    def __getitem__(self, position: int) -> bytes:
        self.asked.add(position)
        return self.keys_held[position]

    def __iter__(self):  # type: ignore[no-untyped-def]  # never iterated
        raise AssertionError

    def __len__(self) -> int:
        return len(self.keys_held)


def test_coefficients_that_are_zero_cost_no_draw() -> None:
    variances, keys = random_history(200, 3)
    history = bridges(variances)
    rows = coefficient_rows(variances)
    for target in (0, 50, 199):
        recording = Recording(keys)
        path_block(history, recording, target, start=0, stop=2, columns=1)
        assert recording.asked == set(np.flatnonzero(rows[target]).tolist())


def test_with_both_neighbours_at_hand_one_draw_is_left() -> None:
    variances, _ = random_history(200, 4)
    history = bridges(variances)
    last = history[-1]
    assert last.lower is not None
    assert last.upper is not None
    assert draws_needed(history, 199, {last.lower: None, last.upper: None}) == [199]


def test_a_block_at_hand_is_the_answer_itself() -> None:
    variances, keys = random_history(3, 5)
    block = np.zeros((1, 4))
    assert (
        path_block(bridges(variances), keys, 1, start=0, stop=4, columns=1, known={1: block})
        is block
    )


def test_a_missing_key_is_not_replaced_by_anything() -> None:
    variances, _ = random_history(3, 6)
    with pytest.raises(KeyError):
        path_block(bridges(variances), {}, 1, start=0, stop=4, columns=1)
