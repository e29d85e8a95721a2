"""Bounds and decimals as found are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.synthesis.columns.enforcement import Rule, enforced, rule_of


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([1.0, 2.0, -300.0], 0),
        ([0.1, 0.2, 5.0], 1),
        ([0.25, 1e6], 2),
        ([1 / 3, 2.0], None),
        ([1e15, 2e15], 0),
        ([1e-9, 2e-9], 9),
    ],
)
def test_the_fewest_decimals_that_fit_are_found(values: list[float], decimals: int | None) -> None:
    assert rule_of(np.array([*values, np.nan])).decimals == decimals


def test_a_single_value_late_in_the_column_counts() -> None:
    assert rule_of(np.append(np.ones(500), 0.5)).decimals == 1


def test_values_are_rounded_and_kept_within_bounds() -> None:
    rule = Rule(0.0, 10.0, 1)
    np.testing.assert_array_equal(
        enforced(np.array([-3.0, 0.04, 5.55, 9.96, 99.0]), rule), [0.0, 0.0, 5.6, 10.0, 10.0]
    )


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30),
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30),
)
def test_whatever_is_enforced_fits_the_rule_and_originals_stay_as_they_are(
    original: list[float], synthetic: list[float]
) -> None:
    rule = rule_of(np.array(original))
    np.testing.assert_array_equal(enforced(np.array(original), rule), original)
    once = enforced(np.array(synthetic), rule)
    assert once.min() >= rule.least
    assert once.max() <= rule.most
    np.testing.assert_array_equal(enforced(once, rule), once)


def test_a_column_without_values_has_no_rule() -> None:
    with pytest.raises(ValueError, match="without values"):
        rule_of(np.array([np.nan]))
