"""Quality, associations with categories, and membership, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.tables import MixedTable
from app.numerics.utility.association import association_biases, correlation_ratio, cramers_v
from app.numerics.utility.quality import quality
from app.numerics.utility.reappearance import membership_area


def table(numbers: list[float], codes: list[int], known: int = 2) -> MixedTable:
    return MixedTable(np.array(numbers)[:, None], np.array(codes, dtype=np.intp)[:, None], (known,))


def test_a_table_is_itself_and_a_shifted_one_is_not() -> None:
    rng = np.random.default_rng(1)
    original = table([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    same = quality(original, original, rng)
    assert (same.columns, same.pairs, same.mean) == (1.0, 1.0, 1.0)
    other = quality(original, table([0.0, 1.0, 2.0, 3.0], [0, 0, 0, 1]), rng)
    assert other.columns == pytest.approx((1 + 0.75) / 2)
    assert other.pairs == pytest.approx(0.75)


def test_a_single_column_has_no_pairs() -> None:
    one = MixedTable(np.arange(4.0)[:, None], np.empty((4, 0), dtype=np.intp), ())
    found = quality(one, one, np.random.default_rng(1))
    assert np.isnan(found.pairs)
    assert found.mean == 1.0


def test_numbers_with_categories_are_associated_by_the_share_between_them() -> None:
    numbers = np.array([1.0, 2.0, 3.0, 4.0])
    assert correlation_ratio(numbers, np.array([0, 0, 1, 1])) == pytest.approx(np.sqrt(0.8))
    assert correlation_ratio(numbers, np.array([0, 1, 1, 0])) == pytest.approx(0)
    assert np.isnan(correlation_ratio(np.ones(4), np.array([0, 0, 1, 1])))


def test_categories_that_determine_each_other_have_v_one_and_independent_ones_zero() -> None:
    first = np.array([0, 0, 1, 1])
    assert cramers_v(first, 1 - first, 2, 2) == pytest.approx(1)
    assert cramers_v(first, np.array([0, 1, 0, 1]), 2, 2) == pytest.approx(0)
    assert np.isnan(cramers_v(first, np.zeros(4, dtype=np.intp), 2, 2))


def test_lost_association_is_the_bias() -> None:
    original, lost = table([1.0, 2, 3, 4], [0, 0, 1, 1]), table([1.0, 2, 3, 4], [0, 1, 1, 0])
    found = association_biases(original, lost)
    assert found["correlation_ratio"].mean == pytest.approx(np.sqrt(0.8))
    assert found["correlation_ratio"].pairs == 1
    assert np.isnan(found["cramers_v"].mean)


def test_membership_is_the_chance_that_a_member_is_nearer() -> None:
    assert membership_area(np.array([0.0, 1.0]), np.array([2.0, 3.0])) == 1.0
    assert membership_area(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 0.0
    assert membership_area(np.array([1.0]), np.array([1.0])) == 0.5
