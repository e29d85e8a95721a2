"""Naive Bayes posterior of the confidential categories [li2004, eq. 10].

| symbol | name | meaning |
|---|---|---|
| y | `confidential` | N codes 0 … C - 1 |
| x_j | `attributes[j]` | N codes 0 … of one non-confidential attribute |
| p(k \\| x_i) | `posterior[i, k]` | probability of category k for the pattern of record i |
| α | `smoothing` | Laplace pseudo-count added to every cell; 0 is the paper |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import FloatArray, IntArray


def naive_bayes_posterior(
    confidential: IntArray,
    categories: int,
    attributes: Sequence[IntArray],
    records: IntArray,
    *,
    smoothing: float = 0.0,
) -> FloatArray:
    """p(k | x_i) ∝ p(k) Π_j p(x_ij | k) for the chosen records. Shape (len(records), C), rows sum to 1.

    The estimates p come from all N records: p(k) = (N_k + α) / (N + αC) and
    p(x | k) = (N_kx + α) / (N_k + α·|x_j|). Logarithms keep a product over many attributes from
    vanishing. Without smoothing a row is still well defined, because the category that a record
    has is possible for it; ValueError if smoothing is negative.
    """
    if smoothing < 0:
        raise ValueError("smoothing must not be negative")
    totals = np.bincount(confidential, minlength=categories).astype(np.float64)
    logarithm = np.empty((categories, len(records)))
    # A category that no record has, or a value it never meets, has probability 0: log 0 = -inf.
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = (totals + smoothing) / (totals.sum() + smoothing * categories)
        logarithm[:] = np.log(prior)[:, None]
        for codes in attributes:
            values = int(codes.max(initial=0)) + 1
            counts = np.bincount(confidential * values + codes, minlength=categories * values)
            likelihood = (counts.reshape(categories, values) + smoothing) / (
                totals + smoothing * values
            )[:, None]
            logarithm += np.log(np.nan_to_num(likelihood))[:, codes[records]]
    logarithm -= logarithm.max(axis=0)
    weight = np.exp(logarithm)
    weight /= weight.sum(axis=0)
    return np.ascontiguousarray(weight.T)
