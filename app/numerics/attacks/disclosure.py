"""Partial value disclosure: the adversary also knows some true cells [huang2005, section 3].

| here | meaning |
| --- | --- |
| x̂, E | an estimate of all cells (n × d) and the covariance of its error (d × d) |
| known | the true values, n × d, NaN where the adversary does not know them |
| k, u | the attributes of one row that are known, unknown |

A known cell is an observation without noise. It corrects the other cells of its row through the
errors that they share: x̂_u + E_uk·E_kk⁺·(x_k - x̂_k), again the LLSE.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import Estimate, regression


def disclosed_estimate(estimate: Estimate, known: FloatArray) -> FloatArray:
    """The estimate improved by the cells that are known, n × d; known cells are returned as such.

    Rows that know the same attributes share one solve: O(patterns·d³ + n·d²). `known` must have the
    shape of the estimate (ValueError).
    """
    if known.shape != estimate.values.shape:
        raise ValueError("known must have the shape of the estimate")
    improved, errors = estimate.values.copy(), estimate.error_covariance
    disclosed = ~np.isnan(known)
    patterns, pattern_of_row = np.unique(disclosed, axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        if pattern.any():
            rows = pattern_of_row == index
            surprise = known[np.ix_(rows, pattern)] - improved[np.ix_(rows, pattern)]
            coefficients = regression(errors[:, pattern], errors[np.ix_(pattern, pattern)])
            improved[rows] += surprise @ coefficients.T
    improved[disclosed] = known[disclosed]
    return improved
