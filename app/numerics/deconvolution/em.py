"""Expectation maximisation on records and on bins, plain or with a smoothing step.

[wu2003, sections 3 and 3.4.] On a histogram of z the iteration is Richardson-Lucy; it and EM on
records are one loop over two kernels (`kernel.py` has the notation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from app.errors import InvalidParameter, InvalidTable
from app.numerics.deconvolution.bins import (
    Histogram,
    centres_of,
    checked_edges,
    checked_values,
    histogram_on,
    width_if_uniform,
)
from app.numerics.deconvolution.kernel import (
    ChunkedKernel,
    DenseKernel,
    Kernel,
    bin_likelihood,
    convolution_kernel,
)
from app.numerics.deconvolution.noise import Floats, Noise
from app.numerics.deconvolution.stopping import Reason, Stopping, pearson_per_degree_of_freedom

MOST_KEPT_ENTRIES = 1 << 25
"""Entries of a likelihood matrix that are kept between iterations (256 MiB)."""

DENSE_IS_FASTER = 1 << 14
"""Entries of a histogram's matrix below which a product beats four transforms."""

START_FLOOR = 0.01
"""Share of the uniform mixed into a start: EM never leaves a zero, and the direct estimate has some."""


@dataclass(frozen=True)
class Estimate:
    """The distribution of X on bins: `probabilities` (K,) sum to one over `edges` (K+1,).

    `unexplained` is the share of records that no x in the support could have produced; they took
    no part. `log_likelihoods` has the mean log-likelihood before each iteration.
    """

    edges: Floats
    probabilities: Floats
    iterations: int
    stopped_by: Reason
    log_likelihoods: Floats
    unexplained: float

    @property
    def centres(self) -> Floats:
        return centres_of(self.edges)

    @property
    def densities(self) -> Floats:
        """θ_i = p_i / m_i, (K,)."""
        densities: Floats = self.probabilities / np.diff(self.edges)
        return densities


def em_on_records(
    values: npt.ArrayLike,
    noise: Noise,
    edges: npt.ArrayLike,
    *,
    stopping: Stopping | None = None,
    start: npt.ArrayLike | None = None,
    smoothing_bins: float = 0.0,
) -> Estimate:
    """EM with every record in every iteration [wu2003, section 3]; cost n·K an iteration.

    `values` (n,), `edges` (K+1,), `start` (K,) or None for the uniform density. `smoothing_bins`
    above zero smooths each iterate (see `smoothed`). Raises InvalidTable on missing values or when
    no record can come from the support, InvalidParameter on bins or a start that cannot be used,
    or when the stopping rule needs a histogram.
    """
    records, bins = checked_values(values), checked_edges(edges)
    rules = stopping or Stopping()
    if rules.discrepancy is not None:
        raise InvalidParameter(
            "The discrepancy rule compares histograms: estimate on bins.", parameter="discrepancy"
        )
    weights = np.full(records.size, 1 / records.size)
    kernel: Kernel = (
        DenseKernel(bin_likelihood(records, noise, bins), weights)
        if records.size * (bins.size - 1) <= MOST_KEPT_ENTRIES
        else ChunkedKernel(records, weights, noise, bins)
    )
    return iterated(
        kernel,
        bins,
        records=records.size,
        stopping=rules,
        start=start,
        smoothing_bins=smoothing_bins,
    )


def em_on_bins(
    data: npt.ArrayLike | Histogram,
    noise: Noise,
    edges: npt.ArrayLike,
    *,
    stopping: Stopping | None = None,
    start: npt.ArrayLike | None = None,
    smoothing_bins: float = 0.0,
) -> Estimate:
    """EM on the histogram of z, which is Richardson-Lucy [wu2003, section 3.4].

    `data` is the records (n,), counted here on cells as wide as the bins, or a `Histogram`. With
    equally wide bins and cells the kernel is applied by FFT, at a cost that n does not enter.
    Arguments and failures otherwise as `em_on_records`.
    """
    bins = checked_edges(edges)
    histogram = (
        checked_histogram(data)
        if isinstance(data, Histogram)
        else histogram_on(checked_values(data), bins)
    )
    return iterated(
        histogram_kernel(histogram, noise, bins),
        bins,
        records=histogram.total,
        stopping=stopping or Stopping(),
        start=start,
        smoothing_bins=smoothing_bins,
    )


def checked_histogram(histogram: Histogram) -> Histogram:
    """The histogram itself; InvalidTable unless it counts something at increasing centres."""
    centres, counts = histogram.centres, histogram.counts
    if centres.ndim != 1 or centres.shape != counts.shape or centres.size == 0:
        raise InvalidTable("A histogram needs one count for each centre.")
    if not (np.isfinite(centres).all() and np.isfinite(counts).all()) or (counts < 0).any():
        raise InvalidTable("The counts of a histogram are finite and not negative.")
    if (np.diff(centres) <= 0).any():
        raise InvalidTable("The centres of a histogram must increase.")
    if not counts.any():
        raise InvalidTable("The histogram is empty.")
    return histogram


def histogram_kernel(histogram: Histogram, noise: Noise, edges: Floats) -> Kernel:
    """The cheapest kernel for this histogram: by FFT when the grids allow it and are large."""
    weights = histogram.counts / histogram.total
    entries = histogram.centres.size * (edges.size - 1)
    width = width_if_uniform(edges)
    aligned = width is not None and np.allclose(np.diff(histogram.centres), width, rtol=1e-9)
    if aligned and entries > DENSE_IS_FASTER:
        return convolution_kernel(histogram.centres, weights, noise, edges)
    if entries <= MOST_KEPT_ENTRIES:
        return DenseKernel(bin_likelihood(histogram.centres, noise, edges), weights)
    return ChunkedKernel(histogram.centres, weights, noise, edges)


def iterated(
    kernel: Kernel,
    edges: Floats,
    *,
    records: float,
    stopping: Stopping,
    start: npt.ArrayLike | None,
    smoothing_bins: float,
) -> Estimate:
    """EM from `start` until a rule of `stopping` holds; `records` is N, the weight of the kernel."""
    probabilities = starting_point(start, edges)
    trace: list[float] = []
    reason: Reason = "most_iterations"
    while True:
        explained = kernel.explained(probabilities)
        if not explained.shares.any():
            raise InvalidTable(
                "No value can come from the bins: the support and the noise do not reach them."
            )
        trace.append(explained.mean_log_likelihood)
        if _gained_too_little(trace, records, stopping):
            reason = "likelihood_gain"
            break
        if stopping.discrepancy is not None:
            expected = records * explained.predicted * np.diff(edges).mean()
            if (
                pearson_per_degree_of_freedom(records * kernel.weights, expected)
                <= stopping.discrepancy
            ):
                reason = "discrepancy"
                break
        if len(trace) > stopping.most_iterations:
            break
        probabilities = explained.shares / explained.shares.sum()
        if smoothing_bins:
            probabilities = smoothed(probabilities, edges, smoothing_bins)
    return Estimate(
        edges=edges,
        probabilities=probabilities,
        iterations=len(trace) - 1,
        stopped_by=reason,
        log_likelihoods=np.asarray(trace),
        unexplained=explained.unexplained,
    )


def starting_point(start: npt.ArrayLike | None, edges: Floats) -> Floats:
    """The uniform density, or the given probabilities with a little of it mixed in; sums to one."""
    uniform: Floats = np.diff(edges) / (edges[-1] - edges[0])
    if start is None:
        return uniform
    given = np.asarray(start, dtype=np.float64)
    if given.shape != uniform.shape:
        raise InvalidParameter("A start needs one probability for each bin.", parameter="start")
    if not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise InvalidParameter("A start holds probabilities.", parameter="start")
    mixed: Floats = (1 - START_FLOOR) * given / given.sum() + START_FLOOR * uniform
    return mixed


def smoothed(probabilities: Floats, edges: Floats, smoothing_bins: float) -> Floats:
    """The iterate convolved with a normal of that many bins' deviation, reflected at the ends.

    EM with this step after each maximisation stops ringing: what z cannot tell is drawn to
    smoothness in every iteration rather than fitted to chance. It is the regularisation that
    [wu2003, section 3.3] asks for. Raises InvalidParameter on bins of different widths.
    """
    if width_if_uniform(edges) is None:
        raise InvalidParameter("Smoothing needs bins of equal width.", parameter="smoothing_bins")
    blurred: Floats = ndimage.gaussian_filter1d(probabilities, smoothing_bins, mode="reflect")
    blurred /= blurred.sum()
    return blurred


def _gained_too_little(trace: list[float], records: float, stopping: Stopping) -> bool:
    if stopping.least_gain is None or len(trace) < 2:
        return False
    return records * (trace[-1] - trace[-2]) < stopping.least_gain
