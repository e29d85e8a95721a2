"""Batches of a wide table are cut by rows, evenly, and nothing is lost or moved."""

from __future__ import annotations

import pytest

from app.model import BLOCK_ROWS, Part
from app.service.copies.generation.row_ranges import batches, cut, within

PARTS = [
    Part(0, 0, 150_000, "a", ""),
    Part(1, 150_000, 10, "b", ""),
    Part(2, 150_010, 3_000, "c", ""),
]


@pytest.mark.parametrize("rows", [1_024, 8_192, BLOCK_ROWS])
@pytest.mark.parametrize(("first", "last"), [(0, 153_010), (70_001, 152_000)])
def test_a_cut_keeps_every_row_in_its_place(rows: int, first: int, last: int) -> None:
    selected = [within(batch, first, last) for batch in batches(PARTS)]
    pieces = [one for batch in selected for part in cut(batch, rows) for one in part]
    ordinals = [n for one in pieces for n in range(one.ordinal, one.ordinal + one.rows)]
    assert ordinals == list(range(first, last))
    for batch in selected:
        for part in cut(batch, rows):
            assert 0 < sum(one.rows for one in part) <= rows


def test_pieces_of_whole_row_groups_are_known_as_such() -> None:
    whole = [one for batch in batches(PARTS) for part in cut(batch, 8_192) for one in part]
    assert all(one.is_cut(8_192) for one in whole)
    shifted = [within(batch, 5, 100_000) for batch in batches(PARTS)]
    first = next(iter(cut(shifted[0], 8_192)))
    assert not first[0].is_cut(8_192)
    assert first[0].last == 8_192
