"""When EM has done enough: no more gain, a fit as good as chance allows, or no more patience.

[wu2003, section 3, step 4] leaves the criterion open. Deconvolution is ill-posed: past a point, more
iterations fit the chance in z and ring (figure 3), so stopping is itself a regularisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray

Reason = Literal["most_iterations", "likelihood_gain", "discrepancy"]

LEAST_EXPECTED_COUNT = 5.0
"""Cells that expect fewer are pooled before Pearson's statistic, the usual rule of thumb."""


@dataclass(frozen=True)
class Stopping:
    """Stop at the first that holds; a rule of None is never asked.

    `least_gain`: an iteration adds less than this to the log-likelihood of all records together.
    `discrepancy`: Pearson's statistic per degree of freedom is down to this; 1 is what the truth
    itself would score on average. It needs a histogram.
    """

    most_iterations: int = 500
    least_gain: float | None = 0.05
    discrepancy: float | None = None

    def __post_init__(self) -> None:
        if self.most_iterations < 1:
            raise InvalidParameter("At least one iteration is needed.", parameter="most_iterations")
        for name in ("least_gain", "discrepancy"):
            threshold = getattr(self, name)
            if threshold is not None and not (np.isfinite(threshold) and threshold > 0):
                raise InvalidParameter(
                    "A stopping threshold is finite and above zero.", parameter=name
                )


def reason_to_stop(
    stopping: Stopping,
    log_likelihoods: Sequence[float],
    *,
    records: float,
    weights: FloatArray,
    expected: FloatArray | None,
) -> Reason | None:
    """The first rule that holds after the last of `log_likelihoods` (means per record), or None.

    `expected` are the counts that the iterate predicts for cells that counted records·weights.
    """
    if (
        stopping.least_gain is not None
        and len(log_likelihoods) > 1
        # A smoothed iteration may lose a little: it has settled when it hardly moves either way.
        and records * abs(log_likelihoods[-1] - log_likelihoods[-2]) < stopping.least_gain
    ):
        return "likelihood_gain"
    if (
        stopping.discrepancy is not None
        and expected is not None
        and pearson_per_degree_of_freedom(records * weights, expected) <= stopping.discrepancy
    ):
        return "discrepancy"
    return "most_iterations" if len(log_likelihoods) > stopping.most_iterations else None


def pearson_per_degree_of_freedom(counts: FloatArray, expected: FloatArray) -> float:
    """Σ (N_m - e_m)² / e_m over its degrees of freedom, cells of small e_m pooled; 0 with one cell."""
    small = expected < LEAST_EXPECTED_COUNT
    observed = np.append(counts[~small], counts[small].sum())
    predicted = np.append(expected[~small], expected[small].sum())
    used = predicted > 0
    degrees = int(used.sum()) - 1
    if degrees < 1:
        return 0.0
    deviations = (observed[used] - predicted[used]) ** 2 / predicted[used]
    return float(deviations.sum()) / degrees
