"""Blocks of the path: the right combination, and the same bits whatever is at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.copies import path
from app.numerics.copies.noise.definition import normals_from_words
from app.numerics.copies.noise.keystream import draw_key, keystream_words
from app.numerics.copies.path import (
    PathDraws,
    RowRange,
    bridges,
    draws_needed,
    path_block,
    standard_normals,
)
from papers.li2012_theory import coefficient_rows


def random_history(count: int, seed: int) -> tuple[list[float], dict[int, bytes]]:
    variances = np.random.default_rng(seed).uniform(0.25, 1.0, count).tolist()
    keys = {
        position: draw_key(bytes(32), hashlib.sha256(bytes([seed, position])).digest(), bytes(32))
        for position in range(count)
    }
    return variances, keys


def test_a_block_is_the_linear_combination_of_all_draws() -> None:
    variances, keys = random_history(40, 0)
    rows = RowRange(7, 65_501, 65_562)
    draws = np.stack([standard_normals(keys[j], rows, 3) for j in range(40)])
    combined = np.tensordot(coefficient_rows(variances), draws, axes=1)
    for target in range(40):
        block = path_block(PathDraws(bridges(variances), target, keys, 3), rows)
        np.testing.assert_allclose(block, combined[target], atol=1e-12)


def test_standard_normals_are_those_of_the_words() -> None:
    _, keys = random_history(1, 0)
    made = standard_normals(keys[0], RowRange(5, 11, 311), 2)
    expected = [normals_from_words(keystream_words(keys[0], 5, j, 300, first=11)) for j in (0, 1)]
    np.testing.assert_array_equal(made, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 29),
    st.sets(st.integers(0, 29)),
    st.integers(0, 200),
    st.integers(0, 90),
    st.sampled_from([1, 7, 64, 8_192]),
)
def test_blocks_at_hand_row_ranges_and_tiles_change_no_bit(
    target: int, cached: set[int], offset: int, count: int, height: int
) -> None:
    variances, keys = random_history(30, 1)
    history = bridges(variances)
    whole = path_block(PathDraws(history, target, keys, 2), RowRange(3, 0, 300))
    rows = RowRange(3, offset, offset + count)
    known = {
        position: path_block(PathDraws(history, position, keys, 2), rows) for position in cached
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path, "TILE_ROWS", height)
        part = path_block(PathDraws(history, target, keys, 2), rows, known)
    np.testing.assert_array_equal(part, whole[:, offset : offset + count])


def test_a_later_history_does_not_move_an_earlier_path() -> None:
    variances, keys = random_history(30, 2)
    early = path_block(PathDraws(bridges(variances[:10]), 9, keys, 2), RowRange(0, 0, 50))
    late = path_block(PathDraws(bridges(variances), 9, keys, 2), RowRange(0, 0, 50))
    np.testing.assert_array_equal(early, late)


def test_a_wide_table_has_shorter_tiles_and_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    variances, keys = random_history(6, 3)
    draws = PathDraws(bridges(variances), 5, keys, 3)
    expected = path_block(draws, RowRange(0, 0, 300))
    monkeypatch.setattr(path, "TILE_VALUES", 100)
    np.testing.assert_array_equal(path_block(draws, RowRange(0, 0, 300)), expected)


def test_a_long_way_to_the_target_needs_room_for_three_tiles() -> None:
    variances, _ = random_history(200, 3)
    needed = draws_needed(bridges(variances), 199, {})
    assert len(needed) > 5
    assert max(path._slots(bridges(variances), needed).values()) == 2


def test_rows_of_a_block_run_upwards() -> None:
    with pytest.raises(ValueError, match="upwards"):
        RowRange(0, 3, 2)


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
        path_block(PathDraws(history, target, recording, 1), RowRange(0, 0, 2))
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
    draws = PathDraws(bridges(variances), 1, keys, 1)
    assert path_block(draws, RowRange(0, 0, 4), {1: block}) is block


def test_a_missing_key_is_not_replaced_by_anything() -> None:
    variances, _ = random_history(3, 6)
    with pytest.raises(KeyError):
        path_block(PathDraws(bridges(variances), 1, {}, 1), RowRange(0, 0, 4))
