"""The naive Bayes posterior against eq. 10 written again with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.arrays import IntArray
from app.numerics.swapping.problem import naive_bayes_posterior
from papers.li2004 import POSTERIORS, TABLE_1


def by_hand(table: IntArray, record: int, categories: int, alpha: int) -> list[float]:
    *attributes, hidden = table.T
    weights = []
    for category in range(categories):
        has = hidden == category
        weight = Fraction(int(has.sum()) + alpha, len(table) + alpha * categories)
        for x in attributes:
            values = int(x.max()) + 1
            both = int((has & (x == x[record])).sum())
            below = int(has.sum()) + alpha * values
            weight *= Fraction(both + alpha, below) if below else Fraction(0)
        weights.append(weight)
    return [float(weight / sum(weights)) for weight in weights]


def test_the_example_has_the_published_posteriors_to_four_digits() -> None:
    records = np.array([number - 1 for number in POSTERIORS])
    columns = [TABLE_1[:, j] for j in range(3)]
    posterior = naive_bayes_posterior(TABLE_1[:, 3], 3, columns, records)
    assert posterior.round(4).tolist() == [list(row) for row in POSTERIORS.values()]


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=20), st.sampled_from([0, 1])
)
def test_the_posterior_is_eq_10(rows: list[tuple[int, int, int]], alpha: int) -> None:
    table = np.array(rows, dtype=np.int64)
    columns = [table[:, 0], table[:, 1]]
    everyone = np.arange(len(rows))
    posterior = naive_bayes_posterior(table[:, 2], 3, columns, everyone, smoothing=alpha)
    expected = [by_hand(table, record, 3, alpha) for record in range(len(rows))]
    np.testing.assert_allclose(posterior, expected, atol=1e-12)


def test_hundreds_of_attributes_do_not_make_the_product_vanish() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 50)
    columns = [rng.integers(0, 50, 50) for _ in range(800)]
    posterior = naive_bayes_posterior(hidden, 2, columns, np.arange(50), smoothing=1)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)


def test_negative_smoothing_is_misuse() -> None:
    with pytest.raises(ValueError, match="smoothing"):
        naive_bayes_posterior(np.zeros(1, np.int64), 1, [], np.zeros(1, np.int64), smoothing=-1)
