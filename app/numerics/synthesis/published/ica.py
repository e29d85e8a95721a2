"""Independent component analysis of white data: FastICA with symmetric decorrelation.

[hsu2008, section 3.2 and theorem 3]: the unmixing matrix of X = S·A, found in O(K·n·m²) for K passes.
The fixed-point iteration is Hyvärinen's with the contrast log cosh.

| symbol | name here | meaning |
| --- | --- | --- |
| P | `white`, (n, m) | data of mean 0 and covariance I |
| W | `rotation`, (m, m) | orthogonal; the sources are P·Wᵀ |
| g, g' | tanh, 1 − tanh² | derivatives of the contrast |

Scikit-learn's `FastICA` does the same search. It tells of non-convergence by a warning only, and
catching a warning is not safe between threads; it also holds several arrays of the data's size.
Passing over blocks that stay in the processor's cache, and starting large tables from the answer for
a part of them, takes a fraction of its time (`bench/synthesis.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from app.numerics.arrays import FloatArray

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
        block = white[start : start + BLOCK_ROWS]
        bent = np.tanh(block @ transposed)
        products += bent.T @ block
        squares += np.einsum("ij,ij->j", bent, bent)
    slopes = 1 - squares / n
    point: FloatArray = products / n - slopes[:, None] * rotation
    return point
