"""Which rows an audit looks at."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.service.datasets.protection.row_sample import spread_runs


def test_a_small_table_is_taken_whole() -> None:
    assert spread_runs(100, 100) == ((0, 100),)


def test_a_large_table_is_met_from_its_first_to_its_last_row() -> None:
    runs = spread_runs(1_000_000, 8_000)
    assert runs[0] == (0, 1000)
    assert runs[-1] == (999_000, 1_000_000)
    assert len(runs) == 8


@given(rows=st.integers(1, 10_000), most=st.integers(2, 10_000))
def test_runs_never_overlap_nor_exceed_what_is_allowed(rows: int, most: int) -> None:
    runs = spread_runs(rows, most)
    assert sum(last - first for first, last in runs) <= max(most, 1)
    assert all(0 <= first < last <= rows for first, last in runs)
    assert all(a[1] <= b[0] for a, b in pairwise(runs))


@pytest.mark.parametrize("most", [2, 3, 7, 9])
def test_few_rows_are_spread_too(most: int) -> None:
    runs = spread_runs(1000, most)
    assert runs[0][0] == 0
    assert runs[-1][1] == 1000
