"""The five synthesis methods of [hsu2008] by name: table in, synthetic table out.

Three of them have the original's covariance exactly: seeds G of covariance I, whatever they are, are coloured by
the factor of the original's, cov(L·G) = L·I·Lᵀ = cov(X) [theorem 4].

| symbol of `lhs` | name here | meaning |
| --- | --- | --- |
| K | `scores`, (n', r) | van der Waerden scores Φ⁻¹(i/(n'+1)), each column in its own random order |
| C = P·Pᵀ | `target`, factor (d, r) | Spearman's rank correlation of the original |
| K·Q⁻ᵀ·Pᵀ | `ordering`, (n', d) | scores whose correlation is C; its ranks order the samples |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
import scipy
from scipy import linalg, special

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.synthesis.components import MOST_PASSES, Separation, decoupled, shuffled
from app.numerics.synthesis.moments import moments, restored, whitened

MOST_DRAWS = 100


@dataclass(frozen=True)
class Synthesis:
    """Synthetic values (n', d), the rank that was found, and the separation where there was one."""

    values: FloatArray
    rank: int
    separation: Separation | None = None


class SynthesisMethod(Protocol):
    """A way from an original table to a synthetic one."""

    def __call__(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        *,
        rows: int | None = None,
        components: int | None = None,
    ) -> Synthesis: ...


def exact_seeds(draw: Callable[[], FloatArray], rows: int, rank: int) -> FloatArray:
    """G, (n', r): what `draw` returns, made exactly of mean 0 and covariance I.

    A handful of records may come out collinear by chance; they are then drawn again. Raises
    InvalidParameter where n' ≤ r, since so few records cannot have a covariance of rank r, and
    where no draw succeeds, which takes a table of very few distinct values.
    """
    if rows > rank:
        for _ in range(MOST_DRAWS):
            try:
                return whitened(draw())
            except linalg.LinAlgError:
                continue
    raise InvalidParameter(
        "So few rows cannot have the correlations of the original: more rows than its rank are needed.",
        parameter="rows",
        least=rank + 1,
    )


def primp(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,
    passes: int = MOST_PASSES,
) -> Synthesis:
    """PRIMP [hsu2008, table 2]: permute each independent component on its own, then mix them again.

    A synthetic table (rows, d) for `values` (n, d): normalise, decouple, permute, couple, rescale. What leaks is
    the chance that all m permutations move a record to the same place (`leakage`).

    With m below the rank only the m strongest principal axes are reproduced and the columns lose
    the variance of the others, as the paper has it; `separation.variance_kept` says how much stays.
    Fails as `moments` and `decoupled` do.
    """
    of = moments(values)
    found = decoupled(values, of, components, rng, passes)
    m = found.independent
    mixed = shuffled(found.sources[:, :m], rows or len(values), rng) @ found.mixing[:m]
    return Synthesis(restored(mixed, of), of.rank, found.separation(m))


def hybrid(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,
    passes: int = MOST_PASSES,
) -> Synthesis:
    """The hybrid [hsu2008, table 4]: PRIMP's output as seeds, whitened exactly and coloured.

    A synthetic table (rows, d) with the mean and the covariance of `values` (n, d), exactly. PRIMP's normalised output is L·y with y of covariance near I. Whitening y by its own triangular
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


def cholesky(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,  # noqa: ARG001 (the signature all methods share)
) -> Synthesis:
    """A synthetic table (rows, d) with the mean and the covariance of `values` (n, d), exactly.

    The Cholesky-based method [hsu2008, table 3]; its shape is that of the seeds, uniform on (0, 1), then
    Gram-Schmidt [section 5]. Fails as `moments` and `exact_seeds` do.
    """
    of = moments(values)
    rows = rows or len(values)
    seeds = exact_seeds(lambda: rng.random((rows, of.rank)), rows, of.rank)
    return Synthesis(restored(seeds @ of.factor.T, of), of.rank)


def lhs(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,  # noqa: ARG001 (the signature all methods share)
) -> Synthesis:
    """A synthetic table (rows, d) with the marginals and nearly the rank correlation of `values` (n, d).

    Latin hypercube sampling of the marginals, rank-correlated by the method of Iman and Conover [hsu2008, sections 1
    and 5], as a baseline. One value is drawn from each of n' strata of equal probability of every column, which
    reproduces the marginals; the columns are then ordered so that their rank correlation is close to the
    original's.

    The inverse distribution function is the empirical one with linear interpolation, so values lie
    between the original's, within its range. Fails as `moments` and `exact_seeds` do.
    """
    rows = rows or len(values)
    target = moments(scipy.stats.rankdata(values, axis=0))
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


def normal(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,  # noqa: ARG001 (the signature all methods share)
) -> Synthesis:
    """`rows` independent draws of N(E[X], cov(X)), (rows, d), also where cov(X) is singular.

    [hsu2008, section 5], the method "MN". Fails as `moments` does.
    """
    of = moments(values)
    draws = rng.standard_normal((rows or len(values), of.rank))
    return Synthesis(restored(draws @ of.factor.T, of), of.rank)


METHODS: Mapping[str, SynthesisMethod] = MappingProxyType(
    {"primp": primp, "hybrid": hybrid, "cholesky": cholesky, "lhs": lhs, "normal": normal}
)
