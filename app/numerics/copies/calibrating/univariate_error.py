"""What the best guess of any kind leaves of a number that is seen through normal noise.

The promise is about linear guesses. Of a skewed or discrete column another function of Y = X + Z may
tell more: the conditional mean E[X|Y] is the best there is, and leaves E[Var(X|Y)] of Var(X). For a
normal column the two are equal.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from app.numerics.arrays import FloatArray

STEPS_PER_SD = 24
MOST_BINS = 2**18
REACH = 8.0
"""Standard deviations of noise beyond which it has no weight."""


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
