"""Expectation maximisation on records and on bins (Richardson-Lucy), with its sampling error.

[wu2003, sections 3 and 3.4.] Both are the loop of `iteration` over a kernel of `kernel`, which has
the notation.

A bootstrap of the counts: EM again on counts drawn anew from those observed. All draws go through the same matrix
at once, for as many iterations as the estimate took. It tells the spread that chance gives, not what the
stopping leaves out.

| symbol | here |
| --- | --- |
| a (M, K), w (M,), p (K,) | as in `kernel` |
| B | `draws`, how many times the counts are drawn anew |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.cancellation import checkpoint
from app.numerics.deconvolution.bins import (
    Histogram,
    cells_per_bin,
    checked_edges,
    checked_histogram,
    checked_values,
    histogram_on,
    width_if_uniform,
)
from app.numerics.deconvolution.iteration import (
    IterativeEstimate,
    Stopping,
    iterated,
    starting_point,
)
from app.numerics.deconvolution.kernel import (
    ChunkedKernel,
    Kernel,
    bin_likelihood,
    convolution_kernel,
    dense_kernel,
)
from app.numerics.deconvolution.noise import Noise

MOST_KEPT_ENTRIES = 1 << 25
"""Entries of a likelihood matrix that are kept between iterations (256 MiB)."""

DENSE_IS_FASTER = 1 << 14
"""Entries of a histogram's matrix below which a product beats four transforms."""


def em_on_records(
    values: npt.ArrayLike,
    noise: Noise,
    edges: npt.ArrayLike,
    *,
    stopping: Stopping | None = None,
    start: npt.ArrayLike | None = None,
    smoothing_bins: float = 0.0,
) -> IterativeEstimate:
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
        dense_kernel(records, weights, noise, bins)
        if records.size * (bins.size - 1) <= MOST_KEPT_ENTRIES
        else ChunkedKernel(records, weights, noise, bins)
    )
    return iterated(
        kernel,
        bins,
        records=float(records.size),
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
) -> IterativeEstimate:
    """EM on the histogram of z, which is Richardson-Lucy [wu2003, section 3.4].

    `data` is the records (n,), counted here on cells as wide as the bins (or narrower where these
    are few), or a `Histogram`. With equally wide bins and cells the kernel is applied by FFT, at a
    cost that n does not enter.
    Arguments and failures otherwise as `em_on_records`.
    """
    bins = checked_edges(edges)
    histogram = (
        checked_histogram(data)
        if isinstance(data, Histogram)
        else histogram_on(checked_values(data), bins, cells_per_bin=cells_per_bin(bins))
    )
    return iterated(
        histogram_kernel(histogram, noise, bins),
        bins,
        records=histogram.total,
        cell_widths=histogram.cell_widths,
        stopping=stopping or Stopping(),
        start=start,
        smoothing_bins=smoothing_bins,
    )


def histogram_kernel(histogram: Histogram, noise: Noise, edges: FloatArray) -> Kernel:
    """The cheapest kernel for this histogram: by FFT when the grids allow it and are large."""
    weights = histogram.counts / histogram.total
    entries = histogram.centres.size * (edges.size - 1)
    if goes_by_fft(histogram, edges):
        return convolution_kernel(histogram.centres, weights, noise, edges)
    if entries <= MOST_KEPT_ENTRIES:
        return dense_kernel(histogram.centres, weights, noise, edges)
    return ChunkedKernel(histogram.centres, weights, noise, edges)


def goes_by_fft(histogram: Histogram, edges: FloatArray) -> bool:
    """Return whether bins and cells have one common width, and are so many that a transform pays."""
    width = width_if_uniform(edges)
    entries = histogram.centres.size * (edges.size - 1)
    return (
        width is not None
        and entries > DENSE_IS_FASTER
        and np.allclose(np.diff(histogram.centres), width, rtol=1e-9)
    )


DRAWS = 40
LEVEL = 0.9


@dataclass(frozen=True)
class EstimateWithBand:
    """Probabilities (K,) with the ends of the interval that `LEVEL` of the draws lie in."""

    probabilities: FloatArray
    low: FloatArray
    high: FloatArray


def em_with_band(
    histogram: Histogram,
    noise: Noise,
    edges: FloatArray,
    rng: np.random.Generator,
    stopping: Stopping | None = None,
) -> EstimateWithBand:
    """The estimate of `em_on_bins`, and its band."""
    made = em_on_bins(histogram, noise, edges, stopping=stopping)
    records = int(histogram.total)
    drawn = rng.multinomial(records, histogram.counts / histogram.total, size=DRAWS).T / records
    likelihood = bin_likelihood(histogram.centres, noise, edges)
    spread = np.repeat(starting_point(None, edges)[:, None], DRAWS, axis=1)
    for _ in range(made.iterations):
        checkpoint()
        predicted = likelihood @ spread
        ratio = np.divide(drawn, predicted, out=np.zeros_like(drawn), where=predicted > 0)
        spread *= likelihood.T @ ratio
        spread /= spread.sum(axis=0)
    low, high = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    return EstimateWithBand(made.probabilities, low, high)
