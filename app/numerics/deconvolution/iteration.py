"""EM iteration over any kernel, plain or smoothed, with its stopping rule.

[wu2003, section 3, steps 1 to 4]; `kernel` has the notation. It ends by no more gain, a fit as good as chance
allows, or the limit of iterations. Step 4 leaves the criterion open. Deconvolution is ill-posed: past a point, more
iterations fit the chance in z and ring (figure 3), so stopping is itself a regularisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.cancellation import checkpoint
from app.numerics.deconvolution.bins import centres_of, width_if_uniform
from app.numerics.deconvolution.kernel import Kernel

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


START_FLOOR = 0.01
"""Share of the uniform mixed into a start: EM never leaves a zero, and the direct estimate has some."""


@dataclass(frozen=True)
class IterativeEstimate:
    """The distribution of X on bins: `probabilities` (K,) sum to one over `edges` (K+1,).

    `unexplained` is the share of records that no x in the support could have produced; they took
    no part. `log_likelihoods` has the mean log-likelihood before each iteration and after the last.
    """

    edges: FloatArray
    probabilities: FloatArray
    iterations: int
    stopped_by: Reason
    log_likelihoods: FloatArray
    unexplained: float

    @property
    def centres(self) -> FloatArray:
        return centres_of(self.edges)

    @property
    def densities(self) -> FloatArray:
        """θ_i = p_i / m_i, (K,)."""
        densities: FloatArray = self.probabilities / np.diff(self.edges)
        return densities


def iterated(
    kernel: Kernel,
    edges: FloatArray,
    *,
    records: float,
    stopping: Stopping,
    start: npt.ArrayLike | None = None,
    smoothing_bins: float = 0.0,
    cell_widths: FloatArray | None = None,
) -> IterativeEstimate:
    """EM from `start` until there is a `reason_to_stop`.

    `records` is N, the weight that the kernel's `weights` share out. The discrepancy rule needs
    `cell_widths` (M,), the widths of the histogram's cells. Raises InvalidTable when no point can
    come from the bins, InvalidParameter on a start or a smoothing that cannot be used.
    """
    probabilities = starting_point(start, edges)
    trace: list[float] = []
    while True:
        checkpoint()
        explained = kernel.explained(probabilities)
        if not explained.shares.any():
            raise InvalidTable(
                "No value can come from the bins: the support and the noise do not reach them."
            )
        trace.append(explained.mean_log_likelihood)
        expected = None if cell_widths is None else records * explained.predicted * cell_widths
        reason = reason_to_stop(
            stopping, trace, records=records, weights=kernel.weights, expected=expected
        )
        if reason is not None:
            break
        probabilities = explained.shares / explained.shares.sum()
        if smoothing_bins:
            probabilities = smoothed(probabilities, edges, smoothing_bins)
    return IterativeEstimate(
        edges=edges,
        probabilities=probabilities,
        iterations=len(trace) - 1,
        stopped_by=reason,
        log_likelihoods=np.asarray(trace),
        unexplained=explained.unexplained,
    )


def starting_point(start: npt.ArrayLike | None, edges: FloatArray) -> FloatArray:
    """The uniform density, or the given probabilities with a little of it mixed in; sums to one."""
    uniform: FloatArray = np.diff(edges) / (edges[-1] - edges[0])
    if start is None:
        return uniform
    given = np.asarray(start, dtype=np.float64)
    if given.shape != uniform.shape:
        raise InvalidParameter("A start needs one probability for each bin.", parameter="start")
    if not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise InvalidParameter("A start holds probabilities.", parameter="start")
    mixed: FloatArray = (1 - START_FLOOR) * given / given.sum() + START_FLOOR * uniform
    return mixed


def smoothed(probabilities: FloatArray, edges: FloatArray, smoothing_bins: float) -> FloatArray:
    """The iterate convolved with a normal of that many bins' deviation, reflected at the ends.

    EM with this step after each maximisation stops ringing: what z cannot tell is drawn to
    smoothness in every iteration rather than fitted to chance. It is the regularisation that
    [wu2003, section 3.3] asks for. Raises InvalidParameter on bins of different widths.
    """
    if not (np.isfinite(smoothing_bins) and smoothing_bins > 0):
        raise InvalidParameter("A smoothing is finite and above zero.", parameter="smoothing_bins")
    if width_if_uniform(edges) is None:
        raise InvalidParameter("Smoothing needs bins of equal width.", parameter="smoothing_bins")
    blurred: FloatArray = scipy.ndimage.gaussian_filter1d(
        probabilities, smoothing_bins, mode="reflect"
    )
    blurred /= blurred.sum()
    return blurred
