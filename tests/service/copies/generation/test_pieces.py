"""Where rows lie: every row once, in order, whatever parts there are and whatever is asked for."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.model import BLOCK_ROWS, Part
from app.service.copies.generation.row_ranges import RowGroupRange, batches, within

SIZES = st.lists(
    st.one_of(st.integers(0, 50), st.integers(BLOCK_ROWS - 2, 2 * BLOCK_ROWS + 5)), max_size=12
)


def parts_of(sizes: list[int]) -> list[Part]:
    made, first = [], 0
    for number, rows in enumerate(sizes):
        made.append(Part(number, first, rows, f"blob-{number}", "00" * 32))
        first += rows
    return made


def ordinals(found: list[tuple[RowGroupRange, ...]]) -> list[tuple[int, int]]:
    return [(piece.ordinal, piece.ordinal + piece.rows) for batch in found for piece in batch]


@given(SIZES)
def test_batches_hold_every_row_once_in_whole_row_groups_and_no_more_than_a_block(
    sizes: list[int],
) -> None:
    found = list(batches(parts_of(sizes)))
    place = 0
    for first, last in ordinals(found):
        assert first == place
        place = last
    assert place == sum(sizes)
    for batch in found:
        assert 0 < sum(piece.rows for piece in batch) <= BLOCK_ROWS
        assert all(piece.whole for piece in batch)
    for one, next_one in pairwise(found):
        assert sum(piece.rows for piece in one) + next_one[0].rows > BLOCK_ROWS


@given(SIZES, st.integers(1, 100))
def test_rows_that_are_appended_change_no_batch_but_the_last(sizes: list[int], more: int) -> None:
    before = list(batches(parts_of(sizes)))
    after = list(batches(parts_of([*sizes, more])))
    assert after[: len(before) - 1] == before[:-1]


@given(SIZES, st.data())
def test_a_selection_holds_its_rows_and_no_others(sizes: list[int], data: st.DataObject) -> None:
    rows = sum(sizes)
    first = data.draw(st.integers(0, rows))
    last = data.draw(st.integers(first, rows))
    found = [within(batch, first, last) for batch in batches(parts_of(sizes))]
    place = first
    for start, stop in ordinals(found):
        assert start == place
        place = stop
    assert place == last
    assert all(0 <= piece.first < piece.last <= BLOCK_ROWS for batch in found for piece in batch)


def test_a_cut_piece_is_not_whole() -> None:
    (batch,) = batches(parts_of([10]))
    assert batch[0].whole
    assert not within(batch, 0, 9)[0].whole
    assert not within(batch, 1, 10)[0].whole
