"""Generator of the polynomial table behind the noise: `python -m bench.normal_table`.

The inverse of the normal's upper tail, x(q) with Q(x) = q, is interpolated on every segment at the six Chebyshev nodes of degree 6, in 50
digits. Each coefficient is rounded once to the nearest double. Only mpmath's `erfc` and `exp` are used, so the bytes are reproducible.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from statistics import NormalDist

import mpmath
import numpy as np
from mpmath import mpf
from numpy.typing import NDArray

from app.numerics.copies.noise import normal_table
from app.numerics.copies.noise.normal_table import DEGREE, SEGMENTS, segment_bounds

FILE = Path(normal_table.__file__).with_name(normal_table.FILE)
DIGITS = 50


def inverse_tail(q: mpf) -> mpf:
    """x with Q(x) = q for 0 < q < ½, to all digits, by Newton steps from a double."""
    x = mpf(-NormalDist().inv_cdf(float(q)))
    for _ in range(3):  # 16 digits, then 32, then 64
        x += (tail(x) - q) / density(x)
    return x


def tail(x: mpf) -> mpf:
    """Q(x), the probability that a standard normal exceeds x."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def density(x: mpf) -> mpf:
    """The standard normal's density."""
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


def coefficients(segment: int) -> list[float]:
    """c_0 … c_5 of one segment: x(q) ≈ Σ c_k·(q - middle)^k."""
    with mpmath.workdps(DIGITS):
        low, high = (mpf(bound) for bound in segment_bounds(segment))
        middle, half = (low + high) / 2, (high - low) / 2
        count = DEGREE + 1
        nodes = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
        values = [inverse_tail(middle + half * node) for node in nodes]
        # t = (q - middle)/half has the same scale in every segment.
        powers = mpmath.matrix([[node**k for k in range(count)] for node in nodes])
        scaled = mpmath.lu_solve(powers, mpmath.matrix(values))
        return [float(scaled[k] / half**k) for k in range(count)]


def compute_table() -> NDArray[np.float64]:
    """The whole table, of shape (segments, 6)."""
    return np.array([coefficients(segment) for segment in range(SEGMENTS)])


def main() -> None:
    content = compute_table().astype("<f8").tobytes()
    FILE.write_bytes(content)
    print(f"{FILE.name}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
