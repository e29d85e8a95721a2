"""Sketches: the same however rows came, exact for small tables, near enough for large ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.arrays import Words
from app.numerics.fingerprints import (
    SIZE,
    Sketch,
    fingerprints,
    merged,
    overlap,
    repeats,
    with_new,
    with_rows,
)

KEY = b"sixteen bytes ok"


def marks(first: int, last: int) -> Words:
    """The fingerprints of the rows first ≤ i < last."""
    return fingerprints(KEY, np.arange(first, last, dtype=np.uint64)[:, None])


def of(*rows: Words) -> Sketch:
    sketch = Sketch.none()
    for some in rows:
        sketch = with_rows(sketch, some)
    return sketch


def same(one: Sketch, other: Sketch) -> bool:
    return (
        one.fingerprints.tolist() == other.fingerprints.tolist()
        and one.counts.tolist() == other.counts.tolist()
        and one.whole == other.whole
    )


def test_small_tables_are_compared_exactly() -> None:
    found = overlap(of(marks(0, 100)), of(marks(60, 260)))
    assert (found.share, found.rows) == (0.4, 100)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_large_tables_are_compared_by_a_sample(share: float) -> None:
    rows = 60_000
    other = int(rows * (1 - share))
    found = overlap(of(marks(0, rows)), of(marks(other, other + rows)))
    assert found.rows > SIZE // 2
    assert found.share == pytest.approx(share, abs=4 * np.sqrt(0.25 / found.rows))
    if share in (0.0, 1.0):
        assert found.share == share


def test_a_small_table_within_a_large_one_is_found() -> None:
    found = overlap(of(marks(0, 400_000)), of(marks(1_000, 6_000)))
    assert found.share == 1.0
    assert 40 < found.rows < 400


def test_a_row_counts_as_often_as_both_tables_have_it() -> None:
    one = of(np.repeat(marks(0, 10), 6))
    other = of(np.repeat(marks(0, 10), 2), marks(100, 180))
    assert overlap(one, other).share == pytest.approx(20 / 60)
    assert overlap(one, one).share == 1.0


def test_what_is_left_out_is_never_taken_for_absent() -> None:
    many = of(marks(0, 3 * SIZE))
    assert not many.whole
    assert len(many.fingerprints) == SIZE
    few = of(marks(0, 3 * SIZE)[marks(0, 3 * SIZE) > many.reach][:50])
    assert overlap(many, few).rows == 0


@given(cuts=st.lists(st.integers(0, 3 * SIZE), max_size=4), repeated=st.integers(0, 2 * SIZE))
@settings(max_examples=20, deadline=None)
def test_rows_in_any_parts_give_the_same_sketch(cuts: list[int], repeated: int) -> None:
    rows = np.concatenate([marks(0, 3 * SIZE), marks(0, repeated)])
    whole = of(rows)
    assert same(of(*np.split(rows, sorted(cuts))), whole)
    together = Sketch.none()
    for part in np.split(rows, sorted(cuts)):
        together = merged(together, of(part))
    assert same(together, whole)
    plain, counts = np.unique(rows, return_counts=True)
    assert whole.fingerprints.tolist() == plain[:SIZE].tolist()
    assert whole.counts.tolist() == counts[:SIZE].tolist()


def test_repeats_are_told_apart_from_rows_alike_by_nature() -> None:
    """Rows of both tables drawn alike: as many come again as the first one's are alike."""
    rng = np.random.default_rng(5)
    names = marks(0, 2_000)
    known, coming = of(rng.choice(names, 1_000)), of(rng.choice(names, 1_000))
    found = repeats(known, coming)
    assert found.share == pytest.approx(1 - (1 - 1 / 2_000) ** 1_000, abs=0.05)
    assert found.alike == pytest.approx(found.share, abs=0.05)
    assert found.by_chance > 1e-3
    again = repeats(known, known)
    assert (again.share, again.by_chance < 1e-12) == (1.0, True)


def test_repeats_are_a_share_of_what_comes() -> None:
    known = of(marks(0, 100))
    found = repeats(known, of(marks(90, 130), np.repeat(marks(3, 4), 10)))
    assert (found.share, found.alike, found.by_chance) == (20 / 50, 0.0, 0.0)
    assert repeats(known, of(marks(200, 300))).share == 0.0
    assert repeats(Sketch.none(), known).share == 0.0


def test_a_row_is_measured_by_those_that_came_as_often_as_itself() -> None:
    known = of(np.repeat(marks(0, 1), 500), np.repeat(marks(1, 6), 2), marks(6, 496))
    assert repeats(known, of(marks(0, 1))).alike == pytest.approx(0.51)
    assert repeats(known, of(marks(9, 10))).alike == pytest.approx(0.01)


@given(cut=st.integers(0, 3 * SIZE), end=st.integers(0, 4 * SIZE))
@settings(max_examples=20, deadline=None)
def test_rows_known_count_once_where_only_new_ones_are_to_count(cut: int, end: int) -> None:
    known, coming = of(marks(0, cut)), of(marks(cut // 2, end))
    together = with_new(known, coming)
    assert same(together, of(np.unique(np.concatenate([marks(0, cut), marks(cut // 2, end)]))))
