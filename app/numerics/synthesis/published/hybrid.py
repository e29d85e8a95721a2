"""The hybrid: PRIMP's output as seeds, whitened exactly and coloured with the original's covariance.

[hsu2008, table 4].
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import moments, restored
from app.numerics.synthesis.outcome import Synthesis
from app.numerics.synthesis.published.colouring import exact_seeds
from app.numerics.synthesis.published.components import MOST_PASSES, decoupled, shuffled


def hybrid(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,
    passes: int = MOST_PASSES,
) -> Synthesis:
    """A synthetic table (rows, d) with the mean and the covariance of `values` (n, d), exactly.

    PRIMP's normalised output is L·y with y of covariance near I. Whitening y by its own triangular
    factor and colouring with L is the whitening and colouring of the paper, without inverting a
    covariance that may be singular; it moves the records little, so their shape stays PRIMP's.

    Departs from [hsu2008, table 4, step 2]: m below the rank leaves seeds of rank m, whose covariance
    can never be made I_d. The remaining principal components are then permuted too and take part,
    so that the covariance is exact for every m.

    Fails as `moments`, `decoupled` and `exact_seeds` do.
    """
    of = moments(values)
    found = decoupled(values, of, components, rng, passes)
    factor = of.factor
    to_seeds = found.mixing @ linalg.pinv(factor).T
    rows = rows or len(values)
    seeds = exact_seeds(lambda: shuffled(found.sources, rows, rng) @ to_seeds, rows, of.rank)
    return Synthesis(restored(seeds @ factor.T, of), of.rank, found.separation(of.rank))
