"""Direct estimate: Fourier coefficients of f_X from those of z, in one step.

[wu2003, section 3.1.] With u = (x - low)/T, T at least the length of the support,

    f_X(u) = 1 + 2·Re Σ_k conj(c_k)·exp(2πiku),   c_k = E exp(2πikU) = c_k(Z) / φ_k

| symbol | here |
| --- | --- |
| a_k, b_k | 2·Im c_k, 2·Re c_k |
| A_k | multiplication by φ_k = E exp(2πikY/T); ‖A_k⁻¹‖ = 1/|φ_k| |
| T | `period`; the paper scales it to 1. Which frequencies k/T meet zeros of f_Y's spectrum hangs on it |
| limit on ‖A_k⁻¹‖ | `amplification_limit` |
| truncation | `harmonics`, the largest k |
| weights | `taper` |

Departs from [wu2003, section 3.2]: where 1/|φ_k| passes the limit the inverse is
conj(φ_k)·limit², which meets 1/φ_k at the limit, never exceeds it, and falls to zero with φ_k. Holding
it at the limit would amplify pure chance at a zero of the spectrum, where z knows nothing of X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.deconvolution.bins import (
    Histogram,
    centres_of,
    checked_edges,
    checked_histogram,
    checked_values,
)
from app.numerics.deconvolution.noise import Complexes, Noise

Taper = Literal["none", "fejer", "shrinkage"]

CHUNK = 1 << 14
"""Waves advanced together: a quarter of a megabyte, which stays in the cache for all harmonics."""

MOST_HARMONICS = 1_000
LARGEST_LIMIT = 1e12

PERIODS_TRIED = 65


@dataclass(frozen=True)
class DampedHarmonic:
    """A harmonic that the noise (nearly) wiped out: |φ_k|, and the inverse used in place of 1/φ_k."""

    harmonic: int
    noise_spectrum: float
    amplification: float


@dataclass(frozen=True)
class DirectEstimate:
    """`probabilities` (K,) over `edges` (K+1,), not negative, summing to one.

    `coefficients` (H,) are c_1 … c_H after limiting and weighting, `negative_mass` what the series
    put below zero before it was cut off, `damped` the harmonics on which z says (nearly) nothing.
    """

    edges: FloatArray
    probabilities: FloatArray
    coefficients: Complexes
    period: float
    amplification_limit: float
    damped: tuple[DampedHarmonic, ...]
    negative_mass: float

    @property
    def centres(self) -> FloatArray:
        return centres_of(self.edges)


def direct_estimate(
    data: npt.ArrayLike | Histogram,
    noise: Noise,
    edges: npt.ArrayLike,
    *,
    harmonics: int = 12,
    period: float | None = None,
    amplification_limit: float | None = None,
    taper: Taper = "none",
) -> DirectEstimate:
    """The Fourier-series estimate of [wu2003, section 3.1], integrated over the bins; cost n·H.

    `data` is the records (n,) or a histogram of them; the edges' ends are the support of X, and
    without `period` its length is the period (see `clear_period` for a better one). Without
    `amplification_limit` it is √n/3: beyond that, the chance in a mean of n waves alone would
    become a third of the largest value a coefficient can have. Raises as `em_on_bins`, and
    InvalidParameter on harmonics, a period or a limit that cannot be used.
    """
    bins = checked_edges(edges)
    if not 1 <= harmonics <= MOST_HARMONICS:
        raise InvalidParameter(
            "The number of harmonics is at least one.", parameter="harmonics", most=MOST_HARMONICS
        )
    if isinstance(data, Histogram):
        histogram = checked_histogram(data)
        points, weights, n = histogram.centres, histogram.counts / histogram.total, histogram.total
    else:
        points = checked_values(data)
        weights, n = np.full(points.size, 1 / points.size), float(points.size)
    limit = math.sqrt(n) / 3 if amplification_limit is None else amplification_limit
    if not 0 < limit <= LARGEST_LIMIT:
        raise InvalidParameter(
            f"The limit of amplification is above zero and at most {LARGEST_LIMIT:g}.",
            parameter="amplification_limit",
        )
    limit = max(limit, 1.0)  # |φ_k| ≤ 1: no inverse is smaller than one
    length = float(bins[-1] - bins[0])
    turn = length if period is None else period
    if not (math.isfinite(turn) and turn >= length):
        raise InvalidParameter(
            "The period is at least the length of the support.", parameter="period"
        )
    spectrum = harmonic_spectrum(noise, turn, harmonics)
    inverse = limited_inverse(spectrum, limit)
    observed = mean_waves((points - bins[0]) / turn, weights, harmonics)
    coefficients = observed * inverse * taper_weights(taper, observed, n)
    series = integrated_series(coefficients, (bins - bins[0]) / turn)
    kept = np.maximum(series, 0.0)
    if not kept.any():
        raise InvalidTable("The series has no mass on the bins: the support misses the values.")
    return DirectEstimate(
        edges=bins,
        probabilities=kept / kept.sum(),
        coefficients=coefficients,
        period=turn,
        amplification_limit=limit,
        damped=tuple(
            DampedHarmonic(k, float(abs(spectrum[k - 1])), float(abs(inverse[k - 1])))
            for k in (1 + np.flatnonzero(np.abs(spectrum) * limit < 1)).tolist()
        ),
        negative_mass=float(kept.sum() - series.sum()),
    )


def harmonic_spectrum(noise: Noise, period: float, harmonics: int) -> Complexes:
    """φ_k = E exp(2πikY/T) for k = 1 … H, (H,)."""
    frequencies: FloatArray = 2 * np.pi * np.arange(1.0, harmonics + 1) / period
    return noise.characteristic(frequencies)


def clear_period(noise: Noise, length: float, harmonics: int) -> float:
    """The period between one and two lengths whose harmonics keep clear of zeros of the noise.

    Frequencies k/T of a longer period fall elsewhere, and what a harmonic at a zero cannot tell, its
    neighbours can, since X has a bounded support. With r_k = |φ_k| over the largest |φ| at or beyond
    that frequency (a dip is small, a decline is one), the least Σ_k 1/(k·r_k)² is taken, low harmonics
    counting most; among equals the shortest, so that a spectrum without zeros keeps the length.
    """
    periods = length * np.linspace(1, 2, PERIODS_TRIED)
    ranks = np.arange(1.0, harmonics + 1)
    fine = np.linspace(0, 2 * np.pi * (harmonics + 1) / length, 64 * (harmonics + 1) + 1)
    envelope = np.maximum.accumulate(np.abs(noise.characteristic(fine))[::-1])[::-1]
    frequencies: FloatArray = 2 * np.pi * ranks / periods[:, None]
    beyond = np.interp(frequencies, fine, envelope)
    dips = np.divide(
        np.abs(noise.characteristic(frequencies)),
        beyond,
        out=np.ones_like(frequencies),
        where=beyond > np.finfo(np.float64).tiny,
    )
    badness = (1 / (ranks * np.clip(dips, 1e-6, 1.0)) ** 2).sum(axis=1)
    return float(periods[np.argmax(badness <= badness.min() * (1 + 1e-3))])


def mean_waves(places: FloatArray, weights: FloatArray, harmonics: int) -> Complexes:
    """Σ_j w_j·exp(2πik·u_j) for k = 1 … H, (H,): one exponential a record, then H products."""
    means = np.zeros(harmonics, dtype=np.complex128)
    for first in range(0, places.size, CHUNK):
        block = slice(first, first + CHUNK)
        # The whole part of u turns no wave, and would cost the power its digits.
        wave = np.exp(2j * np.pi * (places[block] - np.floor(places[block])))
        power = weights[block] * wave
        for k in range(harmonics):
            means[k] += power.sum()
            power *= wave
    return means


def limited_inverse(spectrum: Complexes, limit: float) -> Complexes:
    """conj(φ) / max(|φ|, 1/limit)², (H,): 1/φ up to the limit, falling to zero with φ beyond it."""
    inverse: Complexes = np.conj(spectrum) / np.maximum(np.abs(spectrum), 1 / limit) ** 2
    return inverse


def taper_weights(taper: Taper, observed: Complexes, n: float) -> FloatArray:
    """Weights of the harmonics (H,): all one; Fejér's 1 - k/(H+1); or the share that is not chance.

    Shrinkage keeps 1 - v/|c_k(Z)|², at least 0, where v = (1 - |c_k(Z)|²)/n is the variance of the
    mean of n waves: weights that minimise the expected squared error when |c_k(Z)|² is as measured.
    """
    if taper == "none":
        return np.ones(observed.size)
    if taper == "fejer":
        ranks = np.arange(1.0, observed.size + 1)
        weights: FloatArray = 1 - ranks / (observed.size + 1)
        return weights
    power = np.abs(observed) ** 2
    chance = np.maximum(1 - power, 0.0) / n
    share: FloatArray = np.divide(
        power - chance, power, out=np.zeros(power.size), where=power > chance
    )
    return share


def integrated_series(coefficients: Complexes, cuts: FloatArray) -> FloatArray:
    """The mass of 1 + 2·Re Σ conj(c_k)·exp(2πiku) between successive cuts of [0, 1], (K,)."""
    turns = 2j * np.pi * np.arange(1, coefficients.size + 1)
    primitive = cuts + 2 * np.real(
        np.exp(np.multiply.outer(cuts, turns)) @ (np.conj(coefficients) / turns)
    )
    masses: FloatArray = np.diff(primitive)
    return masses
