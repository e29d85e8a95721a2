"""The decoupling that PRIMP and the hybrid share: a table as permutable sources and a mixing matrix.

[hsu2008, table 2, steps 2 and 3].

| symbol | name here | meaning |
| --- | --- | --- |
| S | `sources`, (n, r) | white; the first m are independent components, the rest principal components |
| A | `mixing`, (r, d) | normalised X = S·A |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import Moments, normalised
from app.numerics.synthesis.outcome import Separation
from app.numerics.synthesis.published.ica import unmixing

MOST_PASSES = 200
"""After so many passes the search for independent components is given up."""


@dataclass(frozen=True)
class Decoupling:
    """All r sources of a table with their mixing matrix; the first `independent` come from ICA."""

    sources: FloatArray
    mixing: FloatArray
    independent: int
    iterations: int
    converged: bool

    def separation(self, permuted: int) -> Separation:
        """What the report says when the first `permuted` sources are used."""
        kept = np.square(self.mixing[:permuted]).sum() / np.square(self.mixing).sum()
        return Separation(self.independent, permuted, self.iterations, self.converged, float(kept))


def decoupled(
    values: FloatArray,
    of: Moments,
    components: int | None,
    rng: np.random.Generator,
    passes: int = MOST_PASSES,
) -> Decoupling:
    """Sources and mixing matrix of `values` (n, d) with moments `of`.

    m = `components`, all of them when None. The m principal axes of largest variance are rotated to
    independence in at most `passes`; asking for more than the rank gives the rank, which the separation reports.
    Raises InvalidParameter unless 2 ≤ m ≤ d. Raises InvalidTable where the rank is 1: permuting a
    single component would release every record as it is.
    """
    d = values.shape[1]
    if components is not None and not 2 <= components <= d:
        raise InvalidParameter(
            "The number of components must be at least 2 and at most the number of columns.",
            parameter="components",
            least=2,
            most=d,
        )
    refuse_single_direction(of.rank)
    m = min(components or of.rank, of.rank)
    roots = np.sqrt(of.spectrum)
    white = normalised(values, of) @ (of.axes / roots)
    found = unmixing(np.ascontiguousarray(white[:, :m]), rng, max_iterations=passes)
    mixing = roots[:, None] * of.axes.T
    white[:, :m] = white[:, :m] @ found.rotation.T
    mixing[:m] = found.rotation @ mixing[:m]
    return Decoupling(white, mixing, m, found.iterations, found.converged)


def refuse_single_direction(rank: int) -> None:
    """InvalidTable where records vary in fewer than two directions."""
    if rank < 2:
        raise InvalidTable(
            "The columns vary in one direction only: permuting a single component would release "
            "every record as it is. Two columns that are not collinear are needed.",
            rank=rank,
            needed=2,
        )


def shuffled(sources: FloatArray, rows: int, rng: np.random.Generator) -> FloatArray:
    """Each column of `sources` (n, m) permuted on its own, to (rows, m) [hsu2008, table 2, step 3].

    For another number of rows than n, a column is as many permutations as needed one after the
    other, the last one cut: every value appears floor(rows/n) or ceil(rows/n) times.
    """
    n, m = sources.shape
    permuted = np.empty((rows, m))
    for column in range(m):
        source = np.ascontiguousarray(sources[:, column])
        for start in range(0, rows, n):
            stop = min(start + n, rows)
            permuted[start:stop, column] = source[rng.permutation(n)[: stop - start]]
    return permuted
