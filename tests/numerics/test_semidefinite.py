"""The nearest covariance to a matrix that is none."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.covariances import nearest_semidefinite


def test_a_semidefinite_matrix_is_left_as_it_is() -> None:
    K = np.outer([1.0, 2.0], [1.0, 2.0])
    nearest, removed = nearest_semidefinite(K, scale=np.ones(2))
    np.testing.assert_array_equal(nearest, K)
    assert removed == 0


def test_the_projection_does_not_depend_on_units() -> None:
    matrix = np.array([[1.0, 0.0], [0.0, -0.1]]) + 0.4
    unit = np.array([1e6, 1e-3])
    plain, removed = nearest_semidefinite(matrix, scale=np.ones(2))
    scaled, same = nearest_semidefinite(matrix * np.outer(unit, unit), scale=unit)
    np.testing.assert_allclose(scaled / np.outer(unit, unit), plain, rtol=1e-10)
    assert same == pytest.approx(removed)
