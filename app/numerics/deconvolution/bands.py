"""How far chance moves an estimate on bins: EM again on counts drawn anew from those observed.

A bootstrap of the counts: all draws go through the same matrix at once, for as many iterations as the
estimate took. It tells the spread that chance gives, not what the stopping leaves out.

| symbol | here |
| --- | --- |
| a (M, K), w (M,), p (K,) | as in `kernel` |
| B | `draws`, how many times the counts are drawn anew |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.deconvolution.bins import Histogram
from app.numerics.deconvolution.em import em_on_bins
from app.numerics.deconvolution.iteration import starting_point
from app.numerics.deconvolution.kernel import bin_likelihood
from app.numerics.deconvolution.noise import Noise
from app.numerics.deconvolution.stopping import Stopping

DRAWS = 40
LEVEL = 0.9


@dataclass(frozen=True)
class Banded:
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
) -> Banded:
    """The estimate of `em_on_bins`, and its band."""
    made = em_on_bins(histogram, noise, edges, stopping=stopping)
    records = int(histogram.total)
    drawn = rng.multinomial(records, histogram.counts / histogram.total, size=DRAWS).T / records
    likelihood = bin_likelihood(histogram.centres, noise, edges)
    spread = np.repeat(starting_point(None, edges)[:, None], DRAWS, axis=1)
    for _ in range(made.iterations):
        predicted = likelihood @ spread
        ratio = np.divide(drawn, predicted, out=np.zeros_like(drawn), where=predicted > 0)
        spread *= likelihood.T @ ratio
        spread /= spread.sum(axis=0)
    low, high = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    return Banded(made.probabilities, low, high)
