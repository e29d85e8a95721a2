"""Strata are cut where a synthesis differs, and hold as many originals as they must."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.synthesis.stratified.strata import clearly, default_least, discriminate, divided


def test_the_default_follows_the_columns() -> None:
    assert [default_least(columns) for columns in (2, 13, 14, 40)] == [40, 40, 42, 120]


@pytest.mark.parametrize("least", [20, 40, 150])
def test_no_stratum_has_fewer_originals_than_asked(least: int) -> None:
    rng = np.random.default_rng(1)
    original = rng.normal(size=(400, 4))
    labels = divided(original, np.abs(original[:, 0]), least, rng)
    counts = np.bincount(labels)
    assert counts.size > 1
    assert counts.min() >= least


def test_records_of_one_distribution_are_not_told_apart_and_others_are() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 500, 3))
    bent = second.copy()
    bent[:, 1] = np.square(bent[:, 0]) + 0.1 * bent[:, 1]
    nobody = np.empty((0, 3))
    _, _, alike = discriminate(first, second, nobody, rng)
    looks, _, apart = discriminate(first, bent, nobody, rng)
    assert not clearly(alike, 500)
    assert clearly(apart, 500)
    assert apart > 0.8
    assert looks.shape == (500,)


def test_an_area_is_clear_by_the_error_of_its_size() -> None:
    # Mann and Whitney: the standard error of ½ from 300 and 300 is 0.0236.
    assert not clearly(0.547, 300)
    assert clearly(0.5485, 300)
