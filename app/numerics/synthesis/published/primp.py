"""PRIMP: permute each independent component on its own, then mix them again.

[hsu2008, table 2]. What leaks is the chance that all m permutations move a record to the same place
(`app.numerics.leakage`).
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import moments, restored
from app.numerics.synthesis.outcome import Synthesis
from app.numerics.synthesis.published.components import MOST_PASSES, decoupled, shuffled


def primp(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,
    passes: int = MOST_PASSES,
) -> Synthesis:
    """A synthetic table (rows, d) for `values` (n, d): normalise, decouple, permute, couple, rescale.

    With m below the rank only the m strongest principal axes are reproduced and the columns lose
    the variance of the others, as the paper has it; `separation.variance_kept` says how much stays.
    Fails as `moments` and `decoupled` do.
    """
    of = moments(values)
    found = decoupled(values, of, components, rng, passes)
    m = found.independent
    mixed = shuffled(found.sources[:, :m], rows or len(values), rng) @ found.mixing[:m]
    return Synthesis(restored(mixed, of), of.rank, found.separation(m))
