"""What is said of noise becomes groups of copies, or a clear problem."""

from __future__ import annotations

import numpy as np
import pytest

from app.errors import InvalidParameter
from app.service.attacks.adversary import (
    CopyCorrelation,
    GivenNoise,
    IndependentNoise,
    NoiseModel,
    ProportionalNoise,
    checked_covariance,
    copy_groups,
    first_copies,
)


def test_one_model_stands_for_all_copies() -> None:
    (group,) = copy_groups([ProportionalNoise(0.5)], 3, CopyCorrelation.INDEPENDENT, 2)
    assert group.members == (0, 1, 2)
    assert group.shape is None
    np.testing.assert_array_equal(group.between, 0.5 * np.eye(3))


def test_corner_wave_copies_share_the_smaller_variance() -> None:
    models = [IndependentNoise(4.0), IndependentNoise(1.0)]
    (group,) = copy_groups(models, 2, CopyCorrelation.CORNER_WAVE, 2)
    np.testing.assert_array_equal(group.between, [[4, 1], [1, 1]])
    np.testing.assert_array_equal(group.shape, np.eye(2))


def test_copies_of_different_shape_are_groups_of_their_own() -> None:
    models: list[NoiseModel] = [
        ProportionalNoise(1.0),
        IndependentNoise((1.0, 2.0)),
        ProportionalNoise(2.0),
        GivenNoise(np.eye(2)),
    ]
    groups = copy_groups(models, 4, CopyCorrelation.INDEPENDENT, 2)
    assert [group.members for group in groups] == [(0, 2), (1,), (3,)]
    np.testing.assert_array_equal(groups[1].shape, np.diag([1.0, 2.0]))


def test_the_first_copies_are_those_groups_without_the_others() -> None:
    models: list[NoiseModel] = [
        ProportionalNoise(1.0),
        GivenNoise(np.eye(2)),
        ProportionalNoise(2.0),
    ]
    groups = copy_groups(models, 3, CopyCorrelation.INDEPENDENT, 2)
    assert [group.members for group in first_copies(groups, 1)] == [(0,)]
    assert [group.members for group in first_copies(groups, 2)] == [(0,), (1,)]
    np.testing.assert_array_equal(first_copies(groups, 3)[0].between, groups[0].between)


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(3),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[1.0, 0.5], [0.2, 1.0]]),
        np.array([[-1.0, 0.0], [0.0, 1.0]]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    ],
    ids=["shape", "indefinite", "not symmetric", "negative", "no variance, yet covariance"],
)
def test_what_is_no_covariance_is_refused(matrix: np.ndarray) -> None:
    with pytest.raises(InvalidParameter):
        checked_covariance(matrix, 2)


def test_a_covariance_in_any_units_is_one() -> None:
    unit = np.array([1e20, 1e-20])
    matrix = np.array([[1.0, 0.999], [0.999, 1.0]]) * np.outer(unit, unit)
    np.testing.assert_array_equal(checked_covariance(matrix, 2), matrix)
    np.testing.assert_array_equal(checked_covariance(np.zeros((2, 2)), 2), 0)
