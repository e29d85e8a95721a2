"""Score of an attack beside a baseline and a control, with a bootstrap interval.

| word | meaning |
| --- | --- |
| normalised error | mean squared error over variance [li2012, section 6.1]: 0 all known, 1 nothing learnt |
| baseline | the guess without any copy: every cell is its column's mean |
| control | the attack's own answer held against the wrong rows: what it knows of nobody in particular |
| within q | share of cells missed by at most q of the column's standard deviation |

An attack reveals something of the rows as far as its error lies below those of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.cancellation import checkpoint

TOLERANCES = (0.01, 0.05, 0.10)
"""Shares of a column's standard deviation within which a guess counts as a hit."""

MISS_EDGES = np.linspace(0, 3, 61)
"""Edges of the histogram of misses, in standard deviations of the column."""

MOST_GROUPS = 1000
"""Rows are resampled one by one up to this number, beyond it in as many groups."""


@dataclass(frozen=True)
class AttackScore:
    """Distance of a reconstructed table (n × d) from the original."""

    rmse: FloatArray
    """Root mean squared error per attribute (d)."""
    overall_rmse: float
    """Root of the mean squared error over all cells."""
    rmse_interval: FloatArray
    """Bootstrap interval per attribute, 2 × d."""
    overall_rmse_interval: tuple[float, float]
    normalised_error: FloatArray
    """Mean squared error over the attribute's variance, at most 1 (d)."""
    overall_normalised_error: float
    """Sum of the mean squared errors over the sum of the variances, at most 1."""
    within: FloatArray
    """Share of cells within each of TOLERANCES, 3 × d."""
    overall_within: FloatArray
    """The same over all cells (3)."""


@dataclass(frozen=True)
class AttackComparison:
    """An attack's score with its baseline and its control."""

    attack: AttackScore
    baseline: AttackScore
    control: AttackScore


def comparison(
    original: FloatArray,
    reconstructed: FloatArray,
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    resamples: int = 400,
) -> AttackComparison:
    """The score of a reconstruction, of guessing the mean, and of the reconstruction's own rows
    dealt to others at random. All tables n × d, n at least 2."""
    if len(original) < 2:
        raise ValueError("a comparison needs at least two rows")
    cycle = rng.permutation(len(original))
    order = np.empty_like(cycle)
    order[cycle] = np.roll(cycle, 1)  # one cycle through all rows: none is dealt its own
    guesses = {
        "attack": reconstructed,
        "baseline": np.broadcast_to(original.mean(axis=0), original.shape),
        "control": reconstructed[order],
    }
    return AttackComparison(
        **{
            name: score(original, guess, rng, confidence=confidence, resamples=resamples)
            for name, guess in guesses.items()
        }
    )


def score(
    original: FloatArray,
    reconstructed: FloatArray,
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    resamples: int = 400,
) -> AttackScore:
    """Errors per attribute and overall, hits, and a bootstrap interval over rows.

    Departs from [li2012, section 6.1]: the normalised error of all attributes is N·D/Tr(K), without
    which it could not reach 1; and an attacker worse than the mean counts as 1, because it could
    have guessed the mean. The root mean squared error is not limited.
    """
    if original.shape != reconstructed.shape or original.ndim != 2:
        raise ValueError("original and reconstruction must both be n × d")
    checkpoint()
    error = reconstructed - original
    squared = error**2
    mean_squared = squared.mean(axis=0)
    variance = original.var(axis=0)
    deviation = np.sqrt(variance)
    low, high = np.sqrt(_bootstrap_interval(squared, rng, confidence, resamples))
    within = np.stack([(np.abs(error) <= q * deviation).mean(axis=0) for q in TOLERANCES])
    return AttackScore(
        rmse=np.sqrt(mean_squared),
        overall_rmse=float(np.sqrt(mean_squared.mean())),
        rmse_interval=np.stack([low[:-1], high[:-1]]),
        overall_rmse_interval=(float(low[-1]), float(high[-1])),
        normalised_error=_normalised(mean_squared, variance),
        overall_normalised_error=float(_normalised(mean_squared.sum(), variance.sum())),
        within=within,
        overall_within=within.mean(axis=1),
    )


def _normalised(mean_squared: FloatArray, variance: FloatArray) -> FloatArray:
    """min(1, error/variance); without variance 0 for a right answer and 1 for a wrong one."""
    spread = np.where(variance > 0, variance, 1.0)
    ratio = np.where(variance > 0, mean_squared / spread, np.sign(mean_squared))
    limited: FloatArray = np.minimum(ratio, 1.0)
    return limited


def _bootstrap_interval(
    squared: FloatArray, rng: np.random.Generator, confidence: float, resamples: int
) -> FloatArray:
    """Percentile interval of the mean squared error: 2 × (d+1), the last column over all cells.

    Beyond MOST_GROUPS rows, rows are dealt to groups at random and groups are resampled: the
    variance of a mean is the same, at a cost that no longer grows with n.
    """
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies in (0, 1)")
    n = len(squared)
    groups = min(n, MOST_GROUPS)
    starts = np.arange(groups) * n // groups
    sums = np.add.reduceat(squared[rng.permutation(n)], starts, axis=0)
    sizes = np.diff(starts, append=n)
    drawn = np.stack(
        [np.bincount(rng.integers(groups, size=groups), minlength=groups) for _ in range(resamples)]
    ).astype(float)
    means = (drawn @ sums) / (drawn @ sizes)[:, None]
    means = np.column_stack([means, means.mean(axis=1)])
    tail = (1 - confidence) / 2
    interval: FloatArray = np.quantile(means, [tail, 1 - tail], axis=0)
    return interval
