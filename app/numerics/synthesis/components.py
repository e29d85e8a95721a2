"""Decoupling of a table into permutable sources and a mixing matrix, for PRIMP and the hybrid.

[hsu2008, table 2, steps 2 and 3].

| symbol | name here | meaning |
| --- | --- | --- |
| S | `sources`, (n, r) | white; the first m are independent components, the rest principal components |
| A | `mixing`, (r, d) | normalised X = S·A |
| P | `white`, (n, m) | data of mean 0 and covariance I |
| W | `rotation`, (m, m) | orthogonal; the sources are P·Wᵀ |
| g, g' | tanh, 1 − tanh² | derivatives of the contrast |

The components are found by FastICA with symmetric decorrelation [hsu2008, section 3.2 and theorem 3]: the
unmixing matrix of X = S·A in O(K·n·m²) for K passes. The fixed-point iteration is Hyvärinen's with the
contrast log cosh.

Scikit-learn's `FastICA` does the same search. It tells of non-convergence by a warning only, and
catching a warning is not safe between threads; it also holds several arrays of the data's size.
Passing over blocks that stay in the processor's cache, and starting large tables from the answer for
a part of them, takes a fraction of its time (`bench/synthesis.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.cancellation import checkpoint
from app.numerics.synthesis.moments import FactoredMoments, normalised

BLOCK_ROWS = 4096
"""Rows of one block: with ten components its arrays fit the second-level cache."""

PART_ROWS = 8192
"""A table at least four times as long starts from the rotation of a part of about this length."""


@dataclass(frozen=True)
class Unmixing:
    """The rotation that makes white data independent, and whether the search came to rest."""

    rotation: FloatArray
    iterations: int
    converged: bool


def unmixing(
    white: FloatArray,
    rng: np.random.Generator,
    *,
    tolerance: float = 1e-4,
    max_iterations: int = 200,
) -> Unmixing:
    """The rotation W for `white` (n, m), m ≥ 1.

    It has converged when no row of W turned by more than `tolerance` (measured as |1 − |cosine||) in
    one pass. Where it has not, W is orthogonal all the same and the caller must say so: it happens
    where two or more components are Gaussian, which no rotation can tell apart.
    """
    n, m = white.shape
    step = n // PART_ROWS
    if step >= 4:
        part = unmixing(white[::step], rng, tolerance=tolerance, max_iterations=max_iterations)
        rotation = part.rotation
        if not part.converged:  # components that a part cannot tell apart, the whole hardly can
            max_iterations = -(-max_iterations // 10)
    else:
        rotation = orthogonalised(rng.standard_normal((m, m)))
    for iteration in range(1, max_iterations + 1):
        turned = orthogonalised(_fixed_point(white, rotation))
        turn = np.abs(np.abs(np.einsum("ij,ij->i", turned, rotation)) - 1).max()
        rotation = turned
        if turn < tolerance:
            return Unmixing(rotation, iteration, True)
    return Unmixing(rotation, max_iterations, False)


def orthogonalised(matrix: FloatArray) -> FloatArray:
    """(M·Mᵀ)^(−½)·M, the orthogonal matrix nearest to M: no row is preferred."""
    left, _, right = linalg.svd(matrix, full_matrices=False)
    nearest: FloatArray = left @ right
    return nearest


def _fixed_point(white: FloatArray, rotation: FloatArray) -> FloatArray:
    """E[g(W·p)·pᵀ] − diag(E[g'(W·p)])·W, in one pass over blocks."""
    n, m = white.shape
    products = np.zeros((m, m))
    squares = np.zeros(m)
    transposed = np.ascontiguousarray(rotation.T)
    for start in range(0, n, BLOCK_ROWS):
        checkpoint()
        block = white[start : start + BLOCK_ROWS]
        bent = np.tanh(block @ transposed)
        products += bent.T @ block
        squares += np.einsum("ij,ij->j", bent, bent)
    slopes = 1 - squares / n
    point: FloatArray = products / n - slopes[:, None] * rotation
    return point


MOST_PASSES = 200
"""Passes after which the search for independent components is given up."""


@dataclass(frozen=True)
class Separation:
    """Result of the search for independent components.

    `components` were asked for or taken by default; `permuted` were shuffled independently, which is
    what the leakage depends on; `variance_kept` is their share of the normalised variance.
    """

    components: int
    permuted: int
    iterations: int
    converged: bool
    variance_kept: float


@dataclass(frozen=True)
class Decoupling:
    """All r sources of a table with their mixing matrix; the first `independent` come from ICA."""

    sources: FloatArray
    mixing: FloatArray
    independent: int
    iterations: int
    converged: bool

    def separation(self, permuted: int) -> Separation:
        """Report on the first `permuted` sources."""
        kept = np.square(self.mixing[:permuted]).sum() / np.square(self.mixing).sum()
        return Separation(self.independent, permuted, self.iterations, self.converged, float(kept))


def decoupled(
    values: FloatArray,
    of: FactoredMoments,
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
