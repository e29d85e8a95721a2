"""How a copy weakens associations, against copies made in the test by the definition."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.utility.pairs import (
    attenuation,
    corrected,
    correlation,
    correlation_ratio,
)

A, N = 1.4, 200_000


def test_correction_undoes_what_noise_and_donors_did() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, N).astype(np.int32)
    number = 1.1 * codes + rng.normal(size=N)
    effect = np.array([3.0, -1.0, 0.5, 7.0])[codes]
    noisy = number + rng.normal(0, np.sqrt(A * number.var()), N)
    donors = np.where(rng.random(N) < (1 + A) ** -1.25, np.arange(N), rng.integers(0, N, N))
    factor = attenuation(A)
    for original, released in (
        (correlation_ratio(number, codes), correlation_ratio(noisy, codes[donors])),
        (correlation(number, effect), correlation(noisy, effect[donors])),
    ):
        assert abs(released) < abs(original) / 2
        assert corrected(released, factor) == pytest.approx(original, abs=0.03)
        assert corrected(released, 1.1 * factor) != pytest.approx(original, abs=0.03)


def test_chance_alone_is_no_association() -> None:
    rng = np.random.default_rng(6)
    ratios = [
        correlation_ratio(rng.normal(size=300), rng.integers(0, 60, 300).astype(np.int32))
        for _ in range(40)
    ]
    # Without the correction for chance it would be about √(59/299) = 0.44.
    assert np.mean(ratios) < 0.2


def test_what_is_constant_has_no_association() -> None:
    ones, numbers = np.ones(10), np.arange(10.0)
    assert np.isnan(correlation(ones, numbers))
    assert np.isnan(correlation_ratio(ones, np.zeros(10, np.int32)))
    assert correlation(numbers, -numbers) == pytest.approx(-1)
    missing = np.where(numbers > 5, np.nan, numbers)
    assert correlation(missing, 2 * numbers) == pytest.approx(1)
