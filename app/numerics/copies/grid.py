"""Public grid of released numbers: rounding, bounds, integers.

The low bits of x + z would tell values of x apart: not every float is a possible z. So every
released number is rounded to a multiple of a power of two about 2⁻²⁰ of the column's noise. All
functions here act on one copy alone, so that what holds of the copies holds of what is released
(data processing). Rounding by a power of two is exact but for the rounding itself.

| here | meaning |
| --- | --- |
| v·K_jj | variance of the noise in column j |
| 2^e_j | step of the grid in column j; e_j is public |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from app.numerics.arrays import Flags, FloatArray, IntArray

FINENESS = 20  # bits below the noise's scale
FORMAL_FINENESS = 6
"""The same under formal protection, where every point of the grid must have many words of the keystream."""
FORMAL_ROUNDING = 21
"""Bits below the step that a declared magnitude has there (`app.numerics.privacy_accounting`)."""
_LARGEST_INTEGER = 2.0**63 - 1024  # the largest float64 that int64 holds


def grid_exponents(
    column_variances: FloatArray, noise_variance: float, fineness: int = FINENESS
) -> list[int]:
    """e_j with 2^(e_j + 20) ≤ √(v·K_jj) < 2^(e_j + 21), 20 being the fineness; found without a logarithm.

    Raises ValueError when a column has no noise: without noise there is nothing to release.
    """
    exponents = []
    with np.errstate(over="ignore", under="ignore"):
        variances = np.asarray(column_variances, dtype=np.float64) * noise_variance
    for variance in variances:
        if not 0 < variance < math.inf:
            raise ValueError("every released column has noise of positive, finite variance")
        _, exponent = math.frexp(variance)  # variance = f·2^exponent, ½ ≤ f < 1
        exponents.append((exponent - 1) // 2 - fineness)
    return exponents


def carries_noise(largest_magnitude: float, exponent: int) -> bool:
    """Return whether float64 can hold every multiple of the step up to the magnitude.

    When it cannot, x + z rounds noise away, and with enough of it released values are originals.
    """
    return math.ulp(largest_magnitude) <= math.ldexp(1.0, exponent)


def largest_magnitude(values: FloatArray) -> float:
    """The largest |x| among the values that are there; 0 when there is none."""
    ends = (np.fmin.reduce(values, initial=0.0), np.fmax.reduce(values, initial=0.0))
    return max(abs(float(end)) for end in ends)


def round_to_grid(values: FloatArray, exponents: Sequence[int]) -> None:
    """Round row i in place to multiples of 2^exponents[i], halves to even; NaN stays NaN."""
    steps = np.ldexp(1.0, np.array(exponents))[:, np.newaxis]
    np.multiply(values, 1.0 / steps, out=values)  # a power of two has an exact inverse
    np.rint(values, out=values)
    np.multiply(values, steps, out=values)


def bounds_on_grid(
    lowest: float | None, highest: float | None, exponent: int
) -> tuple[float | None, float | None]:
    """The bounds moved inwards to multiples of 2^exponent, so that what they cut stays on the grid.

    Bounds with no multiple between them are left as they are.
    """
    low = None if lowest is None else _moved(lowest, exponent, math.ceil)
    high = None if highest is None else _moved(highest, exponent, math.floor)
    crossed = low is not None and high is not None and low > high
    return (lowest, highest) if crossed else (low, high)


def _moved(bound: float, exponent: int, towards: Callable[[float], int]) -> float:
    step = math.ldexp(1.0, exponent)
    if math.ulp(bound) >= step:  # then it is a multiple, and the quotient may exceed the doubles
        return bound
    return towards(bound / step) * step


def within_bounds(values: FloatArray, lowest: float | None, highest: float | None) -> FloatArray:
    """The values, those outside moved to the nearer bound; NaN stays NaN."""
    if lowest is None and highest is None:
        return values
    return np.clip(values, lowest, highest)


def whole_numbers(values: FloatArray) -> tuple[IntArray, Flags]:
    """The values rounded to integers (halves to even), and where a value is missing (0 there)."""
    missing = np.isnan(values)
    limited = np.clip(np.rint(values), -(2.0**63), _LARGEST_INTEGER)
    return np.where(missing, 0.0, limited).astype(np.int64), missing
