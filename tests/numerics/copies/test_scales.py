"""Scales: a piecewise-linear log2 that is exact where doubles are, odd, increasing and inverted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.numerics.copies.scales import off_scale, on_scale


def written_again(x: float, unit: float) -> float:
    """The definition, one octave at a time."""
    z, octaves = abs(x) / unit, 0
    while z >= 2:
        z, octaves = z / 2, octaves + 1
    return math.copysign(z + octaves, x)


@pytest.mark.parametrize("unit", [1.0, 0.01, 250.0])
def test_it_is_the_definition_and_comes_back(unit: float) -> None:
    rng = np.random.default_rng(1)
    sizes = unit * np.exp2(rng.uniform(-8, 60, 2_000))
    x = np.concatenate([sizes, -sizes, [0.0, unit, 2 * unit]])
    t = on_scale(x, unit)
    assert t.tolist() == [written_again(one, unit) for one in x.tolist()]
    assert (np.diff(t[np.argsort(x)]) >= 0).all()
    np.testing.assert_allclose(off_scale(t, unit), x, rtol=1e-13)
    octaves = np.log2(sizes[sizes > unit] / unit)
    differ = on_scale(sizes[sizes > unit], unit) - 1 - octaves
    assert -0.0861 < differ.min() <= differ.max() < 1e-12


def test_what_is_missing_stays_so_and_what_is_too_large_is_the_largest_double() -> None:
    assert np.isnan(off_scale(on_scale(np.array([np.nan]), 1.0), 1.0)).all()
    largest = np.finfo(np.float64).max
    assert off_scale(np.array([1e9, -3_000.0]), 1.0).tolist() == [largest, -largest]
    assert on_scale(np.array([-7.0]), None).tolist() == [-7.0]
