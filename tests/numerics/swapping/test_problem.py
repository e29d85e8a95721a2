"""Quotas of groups and of the unique records."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.swapping.identifiability import identifiability
from app.numerics.swapping.problem import GroupQuota, departures_of_groups, objective, quotas
from papers.li2004 import example


def unique_records(n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(n, dtype=np.int64)


@pytest.mark.parametrize(
    ("proportion", "n", "expected"),
    [(0.5, 6, 3), (0.5, 5, 3), (0.07, 50, 4), (0.29, 50, 15), (0.1, 4, 0), (1.0, 7, 7)],
)
def test_the_quota_of_unique_records_is_rounded_half_up(
    proportion: float, n: int, expected: int
) -> None:
    found = identifiability(unique_records(n) % 3, [unique_records(n)])
    assert quotas(found, 3, proportion, GroupQuota()).tolist() == [expected]


def test_with_two_categories_one_unique_record_always_stays() -> None:
    found = identifiability(unique_records(10) % 2, [unique_records(10)])
    assert quotas(found, 2, 0.99, GroupQuota()).tolist() == [9]
    assert quotas(found, 3, 0.99, GroupQuota()).tolist() == [10]


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        (GroupQuota(), [1, 1, 1]),
        (GroupQuota(3), [1, 3, 3]),
        (GroupQuota(None, 0.5), [1, 2, 5]),
        (GroupQuota(None, 1.0), [1, 3, 9]),
        (GroupQuota(None, 0.01), [1, 1, 1]),
    ],
)
def test_a_group_changes_at_least_one_and_keeps_at_least_one(
    quota: GroupQuota, expected: list[int]
) -> None:
    assert quota.of(np.array([2, 4, 10])).tolist() == expected


def test_a_number_and_a_proportion_at_once_are_misuse() -> None:
    with pytest.raises(ValueError, match="either"):
        GroupQuota(1, 0.5)


def test_groups_of_the_example_take_one_record_out_of_each_category() -> None:
    *_, problem = example()
    assert problem.quota.tolist() == [3, 1, 1, 1]
    assert departures_of_groups(problem).tolist() == [1, 1, 1]


def test_an_unchanged_table_costs_nothing() -> None:
    *_, problem = example()
    assert objective(problem, problem.home) == 0
