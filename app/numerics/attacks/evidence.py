"""Evidence of an adversary: several copies reduced to one sufficient copy, and its knowledge of the original.

Copies are pooled after [li2012, section 3].

| here | li2012 | meaning |
| --- | --- | --- |
| m copies | Y_1 … Y_M | disguised copies of the same n × d table |
| A, between | [σ²_{Z_i} …] of eq. 15 | how the noises of the copies vary together, m × m |
| S, shape | K_X | how the noise of one copy is shaped over the attributes, d × d |
| w, weights | | the best unbiased combination of the copies |

The stacked noise has the covariance A ⊗ S. Then every copy enters eq. 6 only through
ȳ = Σ w_i·Y_i with w = A⁻¹1/(1ᵀA⁻¹1), whose noise has the covariance S/(1ᵀA⁻¹1): for Gaussian noise ȳ
is a sufficient statistic, so this loses nothing for any attacker, linear or not. The
(md)³ solve of eq. 6 becomes m³ for the weights, n·m·d for ȳ, and one LLSE on a single copy.

The mean and the covariance are known, or estimated [huang2005, theorems 5.1 and 8.2].

| here | huang2005 | li2012 | meaning |
| --- | --- | --- | --- |
| K, covariance | Σ_x | K_X | covariance of the original, d × d |
| Σ, noise_covariance | σ²I, Σ_r | K_Z | covariance of the noise, d × d |
| removed | | | share of Cov(Y) - Σ that had to be removed to make it a covariance |

With perfect knowledge both come from the original; with partial knowledge from rows of what was
disguised, as Cov(Y) - Σ (eq. 14 of huang2005). Sampling can make that difference indefinite: it is
then projected onto the positive semidefinite matrices, and `removed` says how much went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import Observation, linear_estimate, semidefinite_pseudoinverse
from app.numerics.covariances import nearest_semidefinite


@dataclass(frozen=True)
class CopyGroup:
    """Copies whose noises have the covariance between ⊗ shape; shape None is that of the data.

    `members` are positions in the list of copies. Noises of different groups are independent.
    """

    members: tuple[int, ...]
    between: FloatArray
    shape: FloatArray | None


def independent_between(variances: FloatArray) -> FloatArray:
    """A = diag(v): a fresh noise for every copy, m × m [li2012, theorem 3]."""
    return np.diag(np.asarray(variances, dtype=float))


def cornerwave_between(variances: FloatArray) -> FloatArray:
    """A = min(v_i, v_j), m × m [li2012, eq. 15 as theorem 1 needs it]."""
    v = np.asarray(variances, dtype=float)
    between: FloatArray = np.minimum.outer(v, v)
    return between


def pooling_weights(between: FloatArray) -> tuple[FloatArray, float]:
    """Weights w (m, sum 1) of least wᵀAw, and that least variance.

    A may be singular: copies that repeat each other share a weight, and where the noises are
    linearly dependent so that a combination of copies cancels them, that combination is
    returned with variance 0 [li2012, section 4.2.2]. A must be positive semidefinite. O(m³).
    """
    deviation = np.sqrt(np.diag(between))
    exact = deviation == 0
    if exact.any():
        return exact / exact.sum(), 0.0
    # With u_i = w_i·deviation_i the problem is scale free: least uᵀRu with R the correlations.
    correlations = between / np.outer(deviation, deviation)
    target = 1 / deviation
    inverse = semidefinite_pseudoinverse(correlations)
    reached = correlations @ (inverse @ target)
    missed = target - reached
    if np.linalg.norm(missed) > np.sqrt(np.finfo(float).eps) * np.linalg.norm(target):
        return missed / deviation / (missed @ target), 0.0
    solution = inverse @ target
    precision = float(target @ solution)
    return solution / deviation / precision, 1 / precision


def pooled_copy(copies: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Σ w_i·Y_i, n × d; copies of weight 0 are not touched. O(n·m·d)."""
    if len(copies) != len(weights) or len(copies) == 0:
        raise ValueError("one weight per copy, and at least one copy")
    pooled = np.zeros_like(copies[0], dtype=float)
    for copy, weight in zip(copies, weights, strict=True):
        if weight != 0:
            pooled += weight * copy
    return pooled


def pooled_observation(
    copies: Sequence[FloatArray],
    groups: Sequence[CopyGroup],
    covariance: FloatArray | None = None,
    sample: slice = slice(None),
) -> Observation:
    """All copies as one: pooled within each group, then group after group.

    Noise shaped like the data needs K. Where `covariance` does not say it, it is estimated from
    the rows in `sample`: the group's pooled copy has the covariance (1+v)·K. Two independent
    observations are joined by the same LLSE, the first one serving as the mean of the second.
    """
    observations = [_pooled_group(copies, group, covariance, sample) for group in groups]
    joined = observations[0]
    for other in observations[1:]:
        estimate = linear_estimate(
            other.values, joined.values, joined.noise_covariance, other.noise_covariance
        )
        joined = Observation(estimate.values, estimate.error_covariance)
    return joined


def _pooled_group(
    copies: Sequence[FloatArray], group: CopyGroup, covariance: FloatArray | None, sample: slice
) -> Observation:
    weights, variance = pooling_weights(group.between)
    values = pooled_copy([copies[i] for i in group.members], weights)
    shape = covariance if group.shape is None else group.shape
    if shape is None:
        shape = np.atleast_2d(np.cov(values[sample], rowvar=False)) / (1 + variance)
    return Observation(values, variance * shape)


@dataclass(frozen=True)
class Knowledge:
    """Mean (d) and covariance (d × d) of the original, as an adversary has them."""

    mean: FloatArray
    covariance: FloatArray
    removed: float = 0.0

    @property
    def projected(self) -> bool:
        """Whether the covariance was indefinite before it was projected."""
        return self.removed > 0


def perfect_knowledge(original: FloatArray) -> Knowledge:
    """Perfect knowledge: mean and covariance of the original itself (n × d)."""
    return Knowledge(original.mean(axis=0), np.atleast_2d(np.cov(original, rowvar=False)))


def partial_knowledge(observation: Observation, sample: slice = slice(None)) -> Knowledge:
    """Partial knowledge: K = Cov(Y) - Σ from the rows in `sample` [huang2005, eq. 14].

    Projected onto the positive semidefinite matrices when it is indefinite. At least two rows.
    """
    rows = observation.values[sample]
    if len(rows) < 2:
        raise ValueError("a covariance needs at least two rows")
    seen = np.atleast_2d(np.cov(rows, rowvar=False))
    covariance, removed = nearest_semidefinite(
        seen - observation.noise_covariance, scale=np.sqrt(np.diag(seen))
    )
    return Knowledge(rows.mean(axis=0), covariance, removed)
