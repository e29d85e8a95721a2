"""Scales on which columns are measured, perturbed and attacked: linear, or a piecewise-linear log2.

For a unit u > 0 and z = |x|/u the log scale is

    t(x) = sign(x)·z               for z < 1
    t(x) = sign(x)·(e + m)         for z = m·2^e, 1 ≤ m < 2, e ≥ 0

that is 1 + log2 z at every power of two and linear in between: it never differs from 1 + log2 z by more than 0.0861.
It is continuous, increasing and odd. Noise of standard deviation σ on t is noise of about σ octaves on x: the largest
values are as hidden, relative to their size, as the others. `frexp`, `ldexp`, sums and one quotient: the same on
every processor. All of it happens before noise, or to a copy alone, so that guarantees 1 to 3 hold on the scale.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray

_MOST_OCTAVES = 2_100  # beyond it all are infinite, whatever the unit


def on_scale(values: FloatArray, unit: float | None) -> FloatArray:
    """t(x); the values themselves on the linear scale, unit None. NaN stays NaN."""
    if unit is None:
        return values
    z = np.abs(values) / unit
    half, exponent = np.frexp(z)  # z = half·2^exponent, ½ ≤ half < 1
    return np.asarray(np.copysign(np.where(z < 1, z, 2 * half + (exponent - 1)), values))


def off_scale(scaled: FloatArray, unit: float | None) -> FloatArray:
    """x of t(x), at most the largest double in magnitude. NaN stays NaN."""
    if unit is None:
        return scaled
    t = np.minimum(np.abs(scaled), _MOST_OCTAVES)
    octave = np.floor(np.maximum(t, 1.0))
    exponent = np.where(np.isnan(octave), 1, octave).astype(np.int32) - 1
    with np.errstate(over="ignore"):
        z = np.where(t < 1, t, np.ldexp(1.0 + (t - octave), exponent))
        x = np.minimum(z * unit, np.finfo(np.float64).max)
    return np.asarray(np.copysign(x, scaled))
