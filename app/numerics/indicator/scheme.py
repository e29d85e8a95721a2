"""One-step scheme: noisy indicator vectors, running totals, estimate from the totals.

[wu2003, section 4.] z_i = χ(x_i) + y_i, entries of y_i independent draws of W; the estimate of the share of
bin j is a column mean less the mean of W. Nothing but the totals is kept, so a stream will do.

| symbol | here |
| --- | --- |
| χ(x) | 1 at `index_of_bin`, in steps of γ: s at that place |
| z_ij/γ | entries of `vectors` (r, k), integers |
| Σ_i h(z_ij)/γ | `RunningTotals.totals` (k,), exact |
| θ_j | `ShareEstimate.shares` (k,) |

Departs from [wu2003, section 4.1]: where W has no variance (1/k³) or no mean (1/(|w|+1)²), column means
do not settle at n^(-1/2), or at all. There the totals are of h(z) = z cut to ±c steps, and

    θ_j = (mean h(z_ij) - E h(W)) / (E h(W + 1) - E h(W)),

which is unbiased with a finite variance for any c; c is the one with the least. For the other three
h is the identity and this is the paper's estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.indicator.perturbations import Perturbation, steps_per_unit

MOST_BINS = 10_000
"""Bins of one vector; beyond it a response is larger than a page and the estimate says nothing."""


@dataclass(frozen=True)
class LikelihoodScore:
    """h and its moments in steps: of h(W) (`mean`, `variance`) and of h(W + 1) (`…_shifted`)."""

    bound: int | None
    mean: float
    variance: float
    mean_shifted: float
    variance_shifted: float

    def of(self, steps: IntArray) -> IntArray:
        """h(z), elementwise; the identity without a bound."""
        return steps if self.bound is None else np.clip(steps, -self.bound, self.bound)

    @property
    def slope(self) -> float:
        """E h(W + 1) - E h(W): what a share of one adds to a column's mean."""
        return self.mean_shifted - self.mean


@dataclass(frozen=True)
class RunningTotals:
    """All that is kept of any number of responses."""

    responses: int
    totals: IntArray

    def plus(self, other: RunningTotals) -> RunningTotals:
        """The totals of both; order does not matter, the sums are of integers."""
        return RunningTotals(self.responses + other.responses, self.totals + other.totals)


@dataclass(frozen=True)
class ShareEstimate:
    """Shares of the bins (k,): `unbiased` as averaged, `shares` with what fell below zero at zero.

    `standard_errors` are those for the share in the population that the respondents are a sample of;
    `standard_errors_of_respondents` those for the share among the respondents themselves, which the
    noise alone blurs.
    """

    responses: int
    unbiased: FloatArray
    shares: FloatArray
    standard_errors: FloatArray
    standard_errors_of_respondents: FloatArray


@lru_cache(maxsize=256)
def score_for(perturbation: Perturbation) -> LikelihoodScore:
    """The identity where W has a variance, else the cut with the least variance of the estimate."""
    shift = steps_per_unit(perturbation)
    if math.isfinite(perturbation.variance_steps):
        mean, variance = perturbation.mean_steps, perturbation.variance_steps
        return LikelihoodScore(None, mean, variance, mean + shift, variance)
    # From one step above the least, where a cut would leave a constant.
    least = max(1, perturbation.reach[0] + 1)
    bounds = {max(least, round(shift * 2 ** (power / 4))) for power in range(-8, 25)}
    return min(
        (cut_score(perturbation, bound) for bound in sorted(bounds)),
        key=lambda score: score.variance / score.slope**2,
    )


def cut_score(perturbation: Perturbation, bound: int) -> LikelihoodScore:
    """h(z) = z cut to ±bound, with its moments; what lies beyond the cut needs its mass only."""
    shift = steps_per_unit(perturbation)
    steps = np.arange(-bound - shift, bound + shift + 1)
    mass = np.exp(perturbation.log_mass(steps))
    beyond = 1 - mass.sum()
    above = beyond / 2 if perturbation.reach[0] < 0 else beyond
    weights = np.concatenate([[beyond - above], mass, [above]])

    def moments(moved: int) -> tuple[float, float]:
        cut = np.clip(steps + moved, -bound, bound)
        scores = np.concatenate([[-bound], cut, [bound]]).astype(np.float64)
        mean = float(weights @ scores)
        return mean, float(weights @ (scores - mean) ** 2)

    mean, variance = moments(0)
    mean_shifted, variance_shifted = moments(shift)
    return LikelihoodScore(bound, mean, variance, mean_shifted, variance_shifted)


def index_of_bin(values: npt.ArrayLike, edges: FloatArray) -> IntArray:
    """The bin of each value (n,); InvalidTable if one lies outside the bins, as all x must be in one."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0:
        raise InvalidTable("There are no values to perturb.")
    inside = (numbers >= edges[0]) & (numbers <= edges[-1])  # false for a missing value
    if not inside.all():
        raise InvalidTable(
            "Some values are missing or outside the bins.", rows=int((~inside).sum())
        )
    index = np.searchsorted(edges, numbers, side="right") - 1
    # The last bin is closed.
    return np.minimum(index, edges.size - 2).astype(np.int64)


def perturbed_vectors(
    index: IntArray, bins: int, perturbation: Perturbation, rng: np.random.Generator
) -> IntArray:
    """z/γ for records in the given bins, (n, bins): z = χ(x) + y [wu2003, section 4]."""
    vectors = perturbation.draws(rng, (index.size, bins))
    vectors[np.arange(index.size), index] += steps_per_unit(perturbation)
    return vectors


def checked_vectors(vectors: npt.ArrayLike, bins: int, perturbation: Perturbation) -> IntArray:
    """Responses as integers (r, bins); InvalidTable unless each could have come from the scheme.

    An entry that W reaches but once in 10¹⁵ is refused: one such response could move an estimate as
    far as its sender likes.
    """
    try:
        responses = np.asarray(vectors)
    except ValueError:  # rows of different lengths
        responses = np.empty(0)
    if responses.ndim != 2 or responses.shape[0] == 0 or responses.shape[1] != bins:
        raise InvalidTable("Every response has one entry for each bin.", bins=bins)
    if responses.dtype.kind != "i":
        raise InvalidTable("The entries of a response are whole numbers of steps.")
    lowest, highest = perturbation.reach
    outside = (responses < lowest) | (responses > highest + steps_per_unit(perturbation))
    if outside.any():
        raise InvalidTable(
            "Some responses have entries that the perturbation does not produce.",
            rows=int(outside.any(axis=1).sum()),
        )
    return responses.astype(np.int64)


def totals_of(vectors: IntArray, perturbation: Perturbation) -> RunningTotals:
    """The running totals of these responses (r, k) alone."""
    return RunningTotals(vectors.shape[0], score_for(perturbation).of(vectors).sum(axis=0))


def estimated_shares(totals: RunningTotals, perturbation: Perturbation) -> ShareEstimate:
    """Shares of the bins with standard errors, from totals alone [wu2003, section 4].

    Sampling from a population adds θ(1-θ)/n to the variance that the noise gives. Raises InvalidParameter without a response.
    """
    if totals.responses < 1:
        raise InvalidParameter("There is no response to estimate from.", responses=0)
    score = score_for(perturbation)
    unbiased: FloatArray = (totals.totals / totals.responses - score.mean) / score.slope
    of_respondents = standard_errors_at(unbiased, perturbation, totals.responses)
    within = np.clip(unbiased, 0.0, 1.0)
    return ShareEstimate(
        responses=totals.responses,
        unbiased=unbiased,
        shares=np.maximum(unbiased, 0.0),
        standard_errors=np.sqrt(of_respondents**2 + within * (1 - within) / totals.responses),
        standard_errors_of_respondents=of_respondents,
    )


def standard_errors_at(shares: FloatArray, perturbation: Perturbation, n: int) -> FloatArray:
    """The standard error (k,) that the noise alone gives n respondents' shares θ, cut to [0, 1].

    √((θ·Var h(W+1) + (1-θ)·Var h(W)) / n) / slope.
    """
    score = score_for(perturbation)
    within = np.clip(shares, 0.0, 1.0)
    variance = within * score.variance_shifted + (1 - within) * score.variance
    errors: FloatArray = np.sqrt(variance / n) / score.slope
    return errors
