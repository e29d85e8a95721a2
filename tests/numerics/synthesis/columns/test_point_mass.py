"""A value that many share is found and set apart."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.synthesis.mixed import at_mass, point_mass


@pytest.mark.parametrize(
    ("values", "mass"),
    [
        ([0, 0, 0, 1, 2, 3], 0.0),
        ([0, 0, np.nan, np.nan, np.nan, 1, 2], 0.0),
        ([5, 5, 5], None),
        ([1, 2, 3, 4, 5, 6], None),
        ([1, 0, 1], 1.0),
    ],
)
def test_a_value_held_by_enough_cells_is_a_mass(values: list[float], mass: float | None) -> None:
    assert point_mass(np.array(values, dtype=float)) == mass


def test_cells_are_at_the_mass_beside_it_or_missing() -> None:
    np.testing.assert_array_equal(at_mass(np.array([0.0, 2.0, np.nan]), 0.0), [1, 0, -1])
