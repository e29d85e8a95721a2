"""Sampling from the multivariate normal distribution with the original's mean and covariance.

[hsu2008, section 5], the method "MN".
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import moments, restored
from app.numerics.synthesis.outcome import Synthesis


def normal(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,  # noqa: ARG001 (the signature all methods share)
) -> Synthesis:
    """`rows` independent draws of N(E[X], cov(X)), (rows, d), also where cov(X) is singular.

    Fails as `moments` does.
    """
    of = moments(values)
    draws = rng.standard_normal((rows or len(values), of.rank))
    return Synthesis(restored(draws @ of.factor.T, of), of.rank)
