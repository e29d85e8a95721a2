"""What an adversary knows of the original's mean and covariance [huang2005, theorems 5.1 and 8.2].

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

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import Observation
from app.numerics.covariances import nearest_semidefinite


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
