"""What guesses leave of a number that is seen through normal noise: the best of any kind, and rounding.

The promise is about linear guesses. Of a skewed or discrete column another function of Y = X + Z may
tell more: the conditional mean E[X|Y] is the best there is, and leaves E[Var(X|Y)] of Var(X). For a
normal column the two are equal.

Numbers that can only be some values are guessed as the nearest of them. Noise below half a step changes nothing for
who does, whatever share of variance it is.

| here | meaning |
|---|---|
| lattice | values that all lie a whole number of steps apart: ages, counts, answers from 1 to 5 |
| recovered | share of cells of which the nearest value that occurs is the true one |
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from app.numerics.arrays import FloatArray

STEPS_PER_SD = 24
MOST_BINS = 2**18
REACH = 8.0
"""Standard deviations of noise beyond which it has no weight."""

CLEAR = 0.98
"""A number counts as guessable by its own noisy value only if that keeps clearly less than is promised: less than
so much of it. Chance alone makes a normal column lie just below."""


def best_guess_error(values: FloatArray, noise_variance: float) -> float:
    """E[Var(X|X+Z)]/Var(X), for X as the values (n,) are distributed and Z normal.

    1 - Var(E[X|Y])/Var(X), by quadrature on a grid of the noise's standard deviation over 24. Where
    the values reach so far that this is more than 262,144 steps, the steps are longer, and a cluster
    within one counts as one value: the error is then too small rather than too large. Missing values
    are left out; NaN when there is no spread, or no noise.
    """
    x = values[~np.isnan(values)]
    variance = float(x.var()) if len(x) else 0.0
    if not (variance > 0 and noise_variance > 0):
        return math.nan
    sd = math.sqrt(noise_variance)
    x = (x - x.mean()) / sd
    low, high = float(x.min()), float(x.max())
    step = max(1.0 / STEPS_PER_SD, (high - low) / MOST_BINS)
    places = np.rint((x - low) / step).astype(np.intp)
    bins = int(places.max()) + 1
    share = np.bincount(places, minlength=bins) / len(x)
    moment = np.bincount(places, weights=x, minlength=bins) / len(x)
    reach = max(1, math.ceil(REACH / step))
    noise = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step) ** 2)
    noise /= noise.sum()
    length = next_fast_len(bins + 2 * reach, real=True)
    both = rfft(np.stack([share, moment]), length) * rfft(noise, length)
    density, weighted = irfft(both, length)[:, : bins + 2 * reach]
    density = np.maximum(density, 0.0)
    seen = density > 1e-13 * density.max()
    explained = float((weighted[seen] ** 2 / density[seen]).sum())
    return min(1.0, max(0.0, 1.0 - explained * noise_variance / variance))


UNEVEN = 1e-6
"""How far from a whole number of steps, in steps, a value of a lattice may lie."""


def lattice_values(values: FloatArray) -> FloatArray | None:
    """The different values of a column, ascending, if they lie on a lattice; None if not.

    A column of which more than half of the values are different is none: nothing is won by rounding.
    """
    there = values[~np.isnan(values)]
    distinct = np.unique(there)
    if len(distinct) < 2 or 2 * len(distinct) > len(there):
        return None
    steps = (distinct - distinct[0]) / np.diff(distinct).min()
    return distinct if np.abs(steps - np.rint(steps)).max() <= UNEVEN else None


def recovered_share(values: FloatArray, noise_sd: float) -> float | None:
    """The share of cells that rounding finds under normal noise; None for what is no lattice."""
    lattice = lattice_values(values)
    if lattice is None:
        return None
    there = values[~np.isnan(values)]
    shares = np.bincount(np.searchsorted(lattice, there), minlength=len(lattice)) / len(there)
    half = np.diff(lattice) / 2 / noise_sd
    below, above = np.append(np.inf, half), np.append(half, np.inf)
    return float(shares @ (ndtr(above) - ndtr(-below)))
