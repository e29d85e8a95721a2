"""Two tables side by side: shares that add up, on the bins of the first, and associations of both."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from app.service.distributions.comparison import (
    CategoryComparison,
    NumberComparison,
    SideBySide,
    side_by_side,
)


def made(rng: np.random.Generator, rows: int, slope: float) -> pa.Table:
    x = rng.normal(size=rows)
    return pa.table(
        {
            "x": x,
            "y": slope * x + rng.normal(size=rows),
            "city": np.where(x > 0, "Oslo", "Bern"),
            "same": pa.array([1.0] * rows),
            "none": pa.array([None] * rows, pa.large_string()),
        }
    )


def beside() -> SideBySide:
    rng = np.random.default_rng(5)
    return side_by_side(made(rng, 4_000, 2.0), made(rng, 3_000, 0.0).drop_columns(["same"]))


def test_shares_of_numbers_add_up_on_the_bins_of_the_first() -> None:
    found = {one.name: one for one in beside().columns}
    assert set(found) == {"x", "y", "city"}
    numbers = found["y"]
    assert isinstance(numbers, NumberComparison)
    np.testing.assert_allclose([numbers.before.sum(), numbers.after.sum()], 1.0)
    # What was spread by √5 is now spread by 1.
    centres = (numbers.edges[:-1] + numbers.edges[1:]) / 2
    spread = [np.sqrt(share @ centres**2) for share in (numbers.before, numbers.after)]
    np.testing.assert_allclose(spread, [np.sqrt(5), 1.0], rtol=0.08)
    categories = found["city"]
    assert isinstance(categories, CategoryComparison)
    np.testing.assert_allclose(categories.after, 0.5, atol=0.05)


def test_associations_are_those_of_each_table() -> None:
    found = beside()
    assert found.names == ("x", "y", "city")
    assert abs(found.before[0, 1] - 2 / np.sqrt(5)) < 0.02
    assert abs(found.after[0, 1]) < 0.05
    np.testing.assert_array_equal(found.before, found.before.T)


def test_missing_cells_and_values_beyond_the_first_table_are_no_trouble() -> None:
    before = pa.table({"x": pa.array([0.0, 1.0, None, 3.0])})
    after = pa.table({"x": pa.array([-9.0, None, 99.0])})
    (numbers,) = side_by_side(before, after).columns
    assert isinstance(numbers, NumberComparison)
    assert (numbers.after[0], numbers.after[-1]) == (0.5, 0.5)
