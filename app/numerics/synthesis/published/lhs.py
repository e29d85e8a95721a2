"""Latin hypercube sampling of the marginals, rank-correlated by the method of Iman and Conover.

[hsu2008, sections 1 and 5] as a baseline. One value is drawn from each of n' strata of equal
probability of every column, which reproduces the marginals; the columns are then ordered so that
their rank correlation is close to the original's.

| symbol | name here | meaning |
| --- | --- | --- |
| K | `scores`, (n', r) | van der Waerden scores Φ⁻¹(i/(n'+1)), each column in its own random order |
| C = P·Pᵀ | `target`, factor (d, r) | Spearman's rank correlation of the original |
| K·Q⁻ᵀ·Pᵀ | `ordering`, (n', d) | scores whose correlation is C; its ranks order the samples |
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import moments
from app.numerics.synthesis.outcome import Synthesis
from app.numerics.synthesis.published.colouring import exact_seeds


def lhs(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,  # noqa: ARG001 (the signature all methods share)
) -> Synthesis:
    """A synthetic table (rows, d) with the marginals and nearly the rank correlation of `values` (n, d).

    The inverse distribution function is the empirical one with linear interpolation, so values lie
    between the original's, within its range. Fails as `moments` and `exact_seeds` do.
    """
    rows = rows or len(values)
    target = moments(stats.rankdata(values, axis=0))
    scores = special.ndtri(np.arange(1, rows + 1) / (rows + 1))
    seeds = exact_seeds(
        lambda: np.column_stack([rng.permutation(scores) for _ in range(target.rank)]),
        rows,
        target.rank,
    )
    ordering = seeds @ target.factor.T
    synthetic = np.empty((rows, values.shape[1]))
    for column, original in enumerate(values.T):
        strata = (np.arange(rows) + rng.random(rows)) / rows
        sample = np.interp(strata * (len(values) - 1), np.arange(len(values)), np.sort(original))
        synthetic[np.argsort(ordering[:, column], kind="stable"), column] = sample
    return Synthesis(synthetic, target.rank)
