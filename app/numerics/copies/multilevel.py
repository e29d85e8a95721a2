"""Noise at many trust levels as one Brownian path in the noise variance [li2012, section 5].

The corner-wave covariance min(v_i, v_j)·K_X of theorem 4 says that the noise is a Brownian path B
in v, shaped by a factor of K_X. Given all that was drawn before, a new point of the path depends on
its two neighbours alone (a Brownian bridge), and every point is a linear combination of the
standard normals g_j drawn so far: B(v_i) = Σ_j c_ij·g_j. The rows c_i are the Cholesky factor of
min(v_i, v_j) in the order of arrival. Algorithms 1, 2 and 3 are that one matrix, built at once for
levels in any order, for levels in ascending order, or one row at a time.

| here | li2012 | meaning |
| --- | --- | --- |
| v_i | σ²_{Z_i} | noise variance of the i-th copy, relative to K_X |
| m | M | number of levels |
| B(v) | | the path: n × r standard Brownian values at v, before shaping |
| L | | factor of K_X, d × r |
| Z_i = B(v_i)·Lᵀ | Z_i | noise of the i-th copy |

Departs from [li2012, eq. 15]: as printed it repeats v_i along a row. The corner-wave property and
theorem 1 need min(v_i, v_j).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray


@dataclass(frozen=True)
class Bridge:
    """How a point of the path follows from the two points beside it and a fresh normal g:

    B(v) = lower_weight·B(lower) + upper_weight·B(upper) + fresh_sd·g.
    """

    lower: int | None
    """Position in the history of the next smaller variance; None stands for B(0) = 0."""
    upper: int | None
    """Position of the next larger variance; None when v is the largest so far."""
    lower_weight: float
    upper_weight: float
    fresh_sd: float


def conditional_coefficients(
    lower: float, variance: float, upper: float | None
) -> tuple[float, float, float]:
    """Weights of B(lower) and B(upper) and the standard deviation of the rest, given both.

    With a < v < b: (b-v)/(b-a), (v-a)/(b-a) and √((v-a)(b-v)/(b-a)); without b: 1, 0 and √(v-a).
    These are the only weights of [li2012, eq. 17] that are not 0, and the root of eq. (18).

    Raises ValueError unless 0 ≤ lower < variance < upper, all finite.
    """
    ceiling = math.inf if upper is None else upper
    if not 0 <= lower < variance < ceiling or upper == math.inf:
        raise ValueError("a noise variance is finite and lies strictly between its neighbours")
    if upper is None:
        return 1.0, 0.0, math.sqrt(variance - lower)
    width = upper - lower
    lower_weight = (upper - variance) / width
    return lower_weight, (variance - lower) / width, math.sqrt((variance - lower) * lower_weight)


def bridges(variances: Sequence[float]) -> tuple[Bridge, ...]:
    """The bridge of every level, in order of arrival: algorithm 3 of li2012 without its matrices.

    O(m log m) comparisons for m levels. The levels that a bridge leads back to are its ancestors in
    the binary search tree that the variances grow in order of arrival: O(log m) of them on average
    when they arrive at random.

    Raises ValueError when a variance is not positive and finite, or occurs twice.
    """
    ascending: list[float] = []
    positions: list[int] = []
    found = []
    for position, variance in enumerate(variances):
        rank = bisect_left(ascending, variance)
        lower = positions[rank - 1] if rank > 0 else None
        upper = positions[rank] if rank < len(positions) else None
        below = 0.0 if lower is None else variances[lower]
        above = None if upper is None else variances[upper]
        weights = conditional_coefficients(below, variance, above)
        found.append(Bridge(lower, upper, *weights))
        ascending.insert(rank, variance)
        positions.insert(rank, position)
    return tuple(found)


def coefficient_rows(variances: Sequence[float]) -> FloatArray:
    """C of shape (m, m), lower triangular: B(v_i) = Σ_j C_ij·g_j for levels in order of arrival.

    C·Cᵀ = min(v_i, v_j) [li2012, theorem 4 and eq. 15 as corrected above]. This is algorithm 1
    (every level known at the start, in any order) and algorithm 3 (one at a time) alike.
    """
    rows = np.zeros((len(variances), len(variances)))
    for position, bridge in enumerate(bridges(variances)):
        if bridge.lower is not None:
            rows[position] += bridge.lower_weight * rows[bridge.lower]
        if bridge.upper is not None:
            rows[position] += bridge.upper_weight * rows[bridge.upper]
        rows[position, position] = bridge.fresh_sd
    return rows


def sequential_order(variances: Sequence[float]) -> list[int]:
    """The order in which algorithm 2 of li2012 draws: ascending, so that no row looks upwards.

    The rows of `coefficient_rows` for levels in this order are C_ij = √(v_j - v_(j-1)), j ≤ i: each
    copy is the one before it plus independent noise [li2012, theorem 5].
    """
    return sorted(range(len(variances)), key=lambda position: variances[position])


def independent_coefficients(variances: Sequence[float]) -> FloatArray:
    """diag(√v_i), the scheme that fails [li2012, section 5.1.1]. For comparison, never released."""
    return np.diag(np.sqrt(np.asarray(variances, dtype=np.float64)))


def shaped_noise(coefficients: FloatArray, normals: FloatArray, factor: FloatArray) -> FloatArray:
    """Z of shape (m, n, d): Z_i = (Σ_j C_ij·g_j)·Lᵀ, for C (m, m), g (m, n, r) and L (d, r)."""
    paths = np.tensordot(coefficients, normals, axes=1)
    shaped: FloatArray = paths @ factor.T
    return shaped
