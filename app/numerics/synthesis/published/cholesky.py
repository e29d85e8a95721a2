"""The Cholesky-based method with uniform seeds: the covariance is exact, the shape is that of the seeds.

[hsu2008, table 3, and section 5 for the seeds: uniform on (0, 1), then Gram-Schmidt].
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import moments, restored
from app.numerics.synthesis.outcome import Synthesis
from app.numerics.synthesis.published.colouring import exact_seeds


def cholesky(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,  # noqa: ARG001 (the signature all methods share)
) -> Synthesis:
    """A synthetic table (rows, d) with the mean and the covariance of `values` (n, d), exactly.

    Fails as `moments` and `exact_seeds` do.
    """
    of = moments(values)
    rows = rows or len(values)
    seeds = exact_seeds(lambda: rng.random((rows, of.rank)), rows, of.rank)
    return Synthesis(restored(seeds @ of.factor.T, of), of.rank)
