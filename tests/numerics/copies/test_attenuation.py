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
from tests.numerics.copies.released import Part

A, N = 1.4, 200_000


def test_correction_undoes_what_noise_and_donors_did() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, N).astype(np.int32)
    part = Part((1.1 * codes + rng.normal(size=N))[:, None], codes[:, None])
    (noisy,), shown = part.noisy([A]), part.records(A)[:, 0]
    original, released = (
        correlation_ratio(number[:, 0], own)
        for number, own in ((part.numbers, codes), (noisy, shown))
    )
    assert released < original / 3
    assert corrected(released, attenuation(A)) == pytest.approx(original, abs=0.03)
    assert corrected(released, 1.1 * attenuation(A)) != pytest.approx(original, abs=0.03)


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
