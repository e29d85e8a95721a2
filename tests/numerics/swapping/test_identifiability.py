"""Who can be identified, against the definition applied record by record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.swapping.identifiability import (
    COLLECTIVE,
    UNIDENTIFIABLE,
    UNIQUE,
    identifiability,
    patterns,
)
from papers.li2004 import STATUSES, example, status_labels


def test_table_1_has_the_published_statuses() -> None:
    _, _, found, _ = example()
    assert status_labels(found) == list(STATUSES)
    assert (found.unique, found.collective, found.groups, found.identifiable) == (6, 6, 3, 12)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), max_size=25))
def test_statuses_follow_the_definition(rows: list[tuple[int, int, int, int]]) -> None:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 4)
    found = identifiability(table[:, 3], [table[:, j] for j in range(3)])
    for i, row in enumerate(rows):
        alike = [other for other in rows if other[:3] == row[:3]]
        if len({other[3] for other in alike}) > 1:
            expected = UNIDENTIFIABLE
        else:
            expected = UNIQUE if len(alike) == 1 else COLLECTIVE
        assert found.status[i] == expected
        together = [k for k, other in enumerate(rows) if other[:3] == row[:3]]
        assert len({int(found.group[k]) for k in together}) == 1
        assert (found.group[i] >= 0) == (expected == COLLECTIVE)
    numbers = found.group[found.group >= 0]
    assert list(dict.fromkeys(numbers.tolist())) == list(range(found.groups))


def test_keys_outgrow_no_integer() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 50, 400) * (2**50) - 2**51 for _ in range(6)]
    columns[0][1], columns[0][0] = columns[0][0], columns[0][0]
    for column in columns:
        column[1] = column[0]
    key = patterns(columns, 400)
    assert key[0] == key[1]
    assert len(np.unique(key)) == len({tuple(row) for row in np.column_stack(columns).tolist()})


def test_without_attributes_all_records_are_one_pattern() -> None:
    assert identifiability(np.array([0, 0]), []).status.tolist() == [COLLECTIVE] * 2
    assert identifiability(np.array([0, 1]), []).status.tolist() == [UNIDENTIFIABLE] * 2


def test_an_empty_table_has_no_status() -> None:
    assert identifiability(np.empty(0, dtype=np.int64), []).identifiable == 0


def test_columns_of_different_lengths_are_misuse() -> None:
    with pytest.raises(ValueError, match="one code per record"):
        identifiability(np.zeros(3, dtype=np.int64), [np.zeros(2, dtype=np.int64)])
