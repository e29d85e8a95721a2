"""Convolution kernel from the distribution of X to that of Z: dense, in chunks, or by FFT.

One pass of EM [wu2003, section 3, step 2] needs, for weights w_j at points z_j, the predicted
density and the share of each bin in explaining the points:

    f_j = Σ_i p_i·a_ji,   s_i = p_i·Σ_j w_j·a_ji / f_j,   a_ji = Pr(Y ∈ z_j - R_i) / m_i

| symbol | here |
| --- | --- |
| p_i = θ_i·m_i | `probabilities` (K,), the mass of bin i; the paper's θ_i is the density |
| z_j or t_m | `points` (M,): the records, or the centres of a histogram of z |
| w_j | `weights` (M,), summing to one: 1/N, or N_m/N |
| s_i | `Explained.shares` (K,) |

| form | cost of a pass | when |
| --- | --- | --- |
| `DenseKernel` | M·K | any points; the matrix is kept |
| `ChunkedKernel` | M·K and its entries anew | records whose matrix does not fit |
| `ConvolutionKernel` | (M+K)·log(M+K) | equally wide bins and cells: a_ji depends on t_j - R_i alone |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import fft

from app.numerics.arrays import FloatArray
from app.numerics.cancellation import checkpoint
from app.numerics.deconvolution.bins import width_if_uniform
from app.numerics.deconvolution.noise import Noise

CACHED_ENTRIES = 1 << 17
"""Entries of the matrix worked on at a time: one megabyte, so that the second use finds it cached."""

LEAST_RELATIVE_DENSITY = 1e-12
"""Predictions below this share of the largest are lost in the rounding of an FFT."""


@dataclass(frozen=True)
class KernelPass:
    """One pass: the bins' shares s (K,), f (M,), Σ w·log f, and the weight that no bin explains."""

    shares: FloatArray
    predicted: FloatArray
    mean_log_likelihood: float
    unexplained: float


class Kernel(Protocol):
    """A form of the map; `explained` is one pass of EM before any normalisation."""

    @property
    def weights(self) -> FloatArray: ...

    def explained(self, probabilities: FloatArray) -> KernelPass: ...


def bin_likelihood(points: FloatArray, noise: Noise, edges: FloatArray) -> FloatArray:
    """a_ji = Pr(Y ∈ z_j - R_i) / m_i, (M, K): the density of z_j when X is uniform in R_i.

    [wu2003, section 3, step 2.] z - R_i is the half-open (z - high, z - low], as R_i is half-open.
    """
    offsets = points[:, None] - edges[None, :]
    likelihood: FloatArray = noise.mass(offsets[:, 1:], offsets[:, :-1]) / np.diff(edges)
    return likelihood


@dataclass(frozen=True)
class DenseKernel:
    """The matrix a (M, K), kept."""

    likelihood: FloatArray
    weights: FloatArray

    def explained(self, probabilities: FloatArray) -> KernelPass:
        return _explained(probabilities, self.weights, self.likelihood.__getitem__)


def dense_kernel(
    points: FloatArray, weights: FloatArray, noise: Noise, edges: FloatArray
) -> DenseKernel:
    """The kept matrix, filled block by block: at once, its making would take six times its memory."""
    likelihood = np.empty((points.size, edges.size - 1))
    rows = max(1, CACHED_ENTRIES // edges.size)
    for first in range(0, points.size, rows):
        checkpoint()
        block = slice(first, first + rows)
        likelihood[block] = bin_likelihood(points[block], noise, edges)
    return DenseKernel(likelihood, weights)


@dataclass(frozen=True)
class ChunkedKernel:
    """The same map with each block of the matrix computed when it is needed, and dropped."""

    points: FloatArray
    weights: FloatArray
    noise: Noise
    edges: FloatArray

    def explained(self, probabilities: FloatArray) -> KernelPass:
        def likelihood(block: slice) -> FloatArray:
            return bin_likelihood(self.points[block], self.noise, self.edges)

        return _explained(probabilities, self.weights, likelihood)


def _explained(
    probabilities: FloatArray, weights: FloatArray, likelihood: Callable[[slice], FloatArray]
) -> KernelPass:
    """The step with the matrix taken block by block, each as large as the cache holds."""
    rows = max(1, CACHED_ENTRIES // probabilities.size)
    predicted = np.empty(weights.size)
    shares = np.zeros(probabilities.size)
    for first in range(0, weights.size, rows):
        checkpoint()
        block = slice(first, first + rows)
        of_block = likelihood(block)
        predicted[block] = of_block @ probabilities
        shares += _ratio(weights[block], predicted[block]) @ of_block
    return _summary(shares * probabilities, predicted, weights)


@dataclass(frozen=True)
class ConvolutionKernel:
    """The map as a convolution: `spectrum` is the real FFT of a over all differences of places."""

    spectrum: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
    length: int
    bins: int
    weights: FloatArray

    def explained(self, probabilities: FloatArray) -> KernelPass:
        first = self.bins - 1  # where the difference t_1 - R_K of the spectrum's signal stands
        blurred = fft.irfft(fft.rfft(probabilities, self.length) * self.spectrum, self.length)
        predicted = blurred[first : first + self.weights.size]
        # What FFT rounds to a little above zero must not be divided by: an outlier would then
        # outweigh all the data.
        floor = LEAST_RELATIVE_DENSITY * predicted.max(initial=0.0)
        predicted = np.where(predicted > floor, predicted, 0.0)
        ratios = _ratio(self.weights, predicted)
        backward = fft.rfft(ratios[::-1], self.length) * self.spectrum
        last = self.weights.size - 1
        explained = fft.irfft(backward, self.length)[last : last + self.bins][::-1]
        return _summary(np.maximum(explained, 0.0) * probabilities, predicted, self.weights)


def convolution_kernel(
    centres: FloatArray, weights: FloatArray, noise: Noise, edges: FloatArray
) -> ConvolutionKernel:
    """The kernel of a histogram whose cells are as wide as the bins; ValueError if they are not."""
    width = width_if_uniform(edges)
    steps = np.diff(centres)
    if width is None or not np.allclose(steps, width, rtol=1e-9, atol=0.0):
        raise ValueError("a convolution needs bins and cells of one common width")
    bins, cells = edges.size - 1, centres.size
    # Offset of the difference d = m - i, counted from t_1 - R_K at place 0.
    differences = (np.arange(cells + bins - 1) - (bins - 1)) * width + (centres[0] - edges[0])
    signal = noise.mass(differences - width, differences) / width
    # Wrapping round at this length spoils only places that no pass reads.
    length = fft.next_fast_len(cells + bins - 1, real=True)
    return ConvolutionKernel(fft.rfft(signal, length), length, bins, weights)


def _ratio(weights: FloatArray, predicted: FloatArray) -> FloatArray:
    """w / f where f is positive, 0 where nothing explains the point."""
    ratio: FloatArray = np.divide(
        weights, predicted, out=np.zeros_like(weights), where=predicted > 0
    )
    return ratio


def _summary(shares: FloatArray, predicted: FloatArray, weights: FloatArray) -> KernelPass:
    possible = (predicted > 0) & (weights > 0)
    log_likelihood = float(weights[possible] @ np.log(predicted[possible]))
    return KernelPass(
        shares=shares,
        predicted=predicted,
        mean_log_likelihood=log_likelihood,
        unexplained=float(weights[~possible & (weights > 0)].sum()),
    )
