"""Which later parts are judged together, and when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.model import Part
from app.numerics.copies.shapes.covering.small_parts import SmallParts, small_part
from app.numerics.copies.shapes.covering.windows import Windows
from app.service.copies.later_parts.later import Later

NOTHING = Later(SmallParts.none(1), Windows.empty(1), 1, 1)
LEAST, ENOUGH = 100, 2_000


def part(number: int, rows: int) -> Part:
    return Part(number, 10_000 * number, rows, f"blob {number}", "")


def numbers(sets: list[list[Part]]) -> list[list[int]]:
    return [[one.number for one in parts] for parts in sets]


def test_parts_are_judged_together_from_the_least_rows_until_they_are_enough() -> None:
    first, second, third, fourth = (part(n, 90) for n in range(1, 5))
    assert NOTHING.judging([part(0, 500)], [first], LEAST, ENOUGH) == ([], NOTHING)
    judged, known = NOTHING.judging([part(0, 500), first], [second], LEAST, ENOUGH)
    assert judged == [[first, second]]
    assert (known.since, known.asked) == (1, 3)
    # With enough rows they are done with.
    judged, known = known.judging([first, second], [replace(third, rows=1_900)], LEAST, ENOUGH)
    assert numbers(judged) == [[3], [1, 2, 3]]
    assert (known.since, known.asked) == (4, 4)
    assert known.judging([first, second, third], [fourth], LEAST, ENOUGH) == ([], known)


def test_large_parts_are_judged_alone_and_parts_that_wait_not_yet() -> None:
    before = [part(1, 90), part(2, 5_000), replace(part(3, 90), waiting=True)]
    assert NOTHING.judging(before[:1], [before[1]], LEAST, ENOUGH) == ([], NOTHING)
    judged, _ = NOTHING.judging(before, [part(4, 90)], LEAST, ENOUGH)
    assert numbers(judged) == [[1, 4]]
    # Those that waited come with the one that completes them.
    judged, _ = NOTHING.judging(before, [before[2], part(4, 90)], LEAST, ENOUGH)
    assert numbers(judged) == [[3, 4], [1, 3, 4]]


def test_rows_are_read_again_when_an_eighth_is_new() -> None:
    """So that row by row the work is linear, and an eighth at most was not asked yet."""
    known, parts, read = NOTHING, [part(0, 500)], 0
    for number in range(1, 1_500):
        new = part(number, 1)
        judged, known = known.judging(parts, [new], LEAST, ENOUGH)
        parts.append(new)
        read += sum(map(len, judged))
        assert number < LEAST or 8 * (number - (known.asked - 1)) <= known.asked
    assert 1_500 < read < 15 * 1_500


def test_the_newest_rows_are_judged_by_themselves_whenever_half_as_many_have_come() -> None:
    known, parts, lengths = NOTHING, [part(0, 500)], dict.fromkeys((100, 200, 400, 800), 0)
    for number in range(1, 64):
        new = part(number, 30)
        judged, known = known.judging(parts, [new], LEAST, ENOUGH)
        parts.append(new)
        for one in judged:
            assert one[-1] is new
            length = 30 * (len(one) - 1)
            for own in lengths:
                lengths[own] += length < own <= length + 30
    # 1,890 rows.
    assert lengths == {100: 36, 200: 17, 400: 8, 800: 3}


def test_what_is_known_is_read_as_it_was_kept() -> None:
    rows = small_part(np.array([[1.0, 2.0], [3.0, 5.0]]), np.zeros(2), np.eye(2))
    known = Later(SmallParts.none(2).merged(rows), Windows.empty(2).merged(rows), 3, 7)
    again = Later.read(known.arrays(), 2, 9)
    assert (again.since, again.asked) == (3, 7)
    assert again.small.largest == rows.largest
    np.testing.assert_array_equal(again.small.squares, rows.squares)
    np.testing.assert_array_equal(again.last.squares[3], rows.squares)
    np.testing.assert_array_equal(again.last.counted[0], 2 * np.eye(2))
    # Of what an earlier version kept, the parts to come are judged, and windows begin.
    assert Later.read({}, 2, 9).since == 10
    assert not Later.read({}, 2, 9).last.counted.any()
