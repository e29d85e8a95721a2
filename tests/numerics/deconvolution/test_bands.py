"""Bands around an estimate: about as wide as chance moves the estimate itself."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.deconvolution.bins import histogram_on, uniform_edges
from app.numerics.deconvolution.em import DRAWS, LEVEL, em_on_bins, em_with_band
from app.numerics.deconvolution.noise import Normal

NOISE = Normal(1.0)
EDGES = uniform_edges(-6.0, 6.0, 24)


def sample(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values: np.ndarray = rng.choice([-2.0, 2.0], n) + rng.normal(0, 0.5, n) + rng.normal(0, 1, n)
    return values


def test_the_estimate_is_that_of_em_on_bins() -> None:
    histogram = histogram_on(np.clip(sample(4_000, 1), -6, 6), EDGES, cells_per_bin=5)
    made = em_with_band(histogram, NOISE, EDGES, np.random.default_rng(0))
    alone = em_on_bins(histogram, NOISE, EDGES)
    assert np.array_equal(made.probabilities, alone.probabilities)


def test_most_estimates_from_other_samples_lie_within_the_band() -> None:
    inside, widths = [], []
    for n in (1_000, 16_000):
        histogram = histogram_on(np.clip(sample(n, 1), -6, 6), EDGES, cells_per_bin=5)
        made = em_with_band(histogram, NOISE, EDGES, np.random.default_rng(0))
        others = [
            em_on_bins(np.clip(sample(n, seed), -6, 6), NOISE, EDGES).probabilities
            for seed in range(2, 22)
        ]
        # A sample of one's own and one of another's differ by both their chances.
        half = (made.high - made.low) / 2
        middle = (made.high + made.low) / 2
        inside.append(np.mean([np.abs(one - middle) <= 2 * half + 1e-4 for one in others]))
        widths.append(float(half.sum()))
    assert min(inside) > 0.8
    assert widths[1] < widths[0] / 1.5


def test_without_noise_the_band_is_that_of_the_counts() -> None:
    """The estimate of a bin is then its share, and the band two quantiles of DRAWS binomial shares."""
    edges, n = uniform_edges(0.0, 200.0, 200), 40_000
    values = np.random.default_rng(1).uniform(0, 200, n)
    histogram = histogram_on(values, edges, cells_per_bin=1)
    made = em_with_band(histogram, Normal(1e-12), edges, np.random.default_rng(0))
    drawn = np.random.default_rng(2).binomial(n, 1 / 200, (DRAWS, 4_000)) / n
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    width = float((made.high - made.low).mean())
    assert width == pytest.approx(float((high - low).mean()), rel=0.06)
