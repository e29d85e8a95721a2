"""The two distances between samples that example 1 of hsu2008 is judged by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from papers.hsu2008_parallelogram import energy_distance, two_sample_score


def test_energy_distance_is_scipys_in_one_dimension_and_near_zero_for_one_distribution() -> None:
    rng = np.random.default_rng(2)
    x, y, z = rng.normal(size=(3, 800))
    shifted = z + 1
    squared = stats.energy_distance(x, shifted) ** 2
    assert energy_distance(x[:, None], shifted[:, None]) == pytest.approx(squared, abs=0.01)
    assert abs(energy_distance(x[:, None], y[:, None])) < 0.01 < squared


def test_equal_distributions_cannot_be_told_apart_and_others_can() -> None:
    rng = np.random.default_rng(9)
    square, other = rng.random((2, 600, 2))
    disc = rng.normal(size=(900, 2)) / np.sqrt(12) + 0.5
    assert two_sample_score(square, other, rng) == pytest.approx(0.5, abs=0.06)
    assert two_sample_score(square, disc, rng) > 0.56
