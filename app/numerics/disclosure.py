"""Information loss for the analyst and privacy loss of a record [wu2003, sections 4.2 and 5].

The information loss is half the expected L1 distance between a distribution and its estimate, compared with
the histogram of the very x: what the noise alone cost.

Of the best guess of one record's bin from its noisy indicator vector [section 4.2]: only two entries of the
likelihood of z depend on the bin j, so that with

    r(w) = log p_W(w - s) - log p_W(w)   (steps, s = 1/γ)

the maximum-likelihood bin has the largest r(z_j) and the maximum-a-posteriori bin the largest
log p_X(R_j) + r(z_j). For 1/(S_3·k³) that is the smallest z_j ≥ 2, for the geometric the likeliest bin
with z_j ≥ 1, as the paper says.

| symbol | here |
| --- | --- |
| p_X(R_j) | `prior` (k,) |
| k | number of bins |
| I(X; Z), bits | H(prior) - E H(posterior) |
| Pr(MAP right) | E max_j posterior_j |

The privacy loss is mutual information and right guesses. Of the one-step scheme the chance that the MLE is right is
exact; the rest is the mean over simulated records of a function of the whole posterior, which varies less than
counting right guesses would. Of added noise it is what one z = x + y tells about the bin of x; with X uniform within
its bins,

    I = Σ_i p_i ∫ a_i(z)·log₂(a_i(z)/f(z)) dz,   Pr(MAP right) = ∫ max_i p_i·a_i(z) dz

| symbol | here |
| --- | --- |
| a_i(z) | density of z when x is in R_i, `bin_likelihood` |
| f = Σ_i p_i·a_i | density of Z |

Departs from [wu2003, section 4.2]: the information is that on the bin of X, not on X itself, so that it is
finite for every noise and comparable with the one-step scheme's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.deconvolution.kernel import bin_likelihood
from app.numerics.deconvolution.noise import Noise
from app.numerics.indicator.perturbations import Geometric, Perturbation, steps_per_unit
from app.numerics.indicator.scheme import perturbed_vectors, standard_errors_at


def expected_one_step_loss(perturbation: Perturbation, shares: FloatArray, n: int) -> float:
    """The paper's loss of the one-step estimate from n responses, by the normal approximation.

    With s_j the standard error for the respondents' share θ_j and a = θ_j/s_j, a column cut at zero is
    off by E|max(0, θ + s·N) - θ| = s·(2φ(0) - φ(a)) + θ·Φ(-a). It falls as n^(-1/2) where θ_j ≫ s_j.
    """
    errors = standard_errors_at(shares, perturbation, n)
    ratio = np.divide(shares, errors, out=np.full(shares.size, np.inf), where=errors > 0)
    density = np.exp(-(ratio**2) / 2)
    peak = 1 / np.sqrt(2 * np.pi)
    off = errors * peak * (2 - density) + shares * special.ndtr(-ratio)
    return float(off.sum()) / 2


WINDOW = 200_000
"""Steps either side that are told apart. Three of the five W stay within; of the other two, what lies
beyond (for 1/(|w|+1)², 1 in 10⁵) has r near 0."""


def log_ratio(steps: IntArray, perturbation: Perturbation) -> FloatArray:
    """r(w), elementwise; -inf where W + 1 never is, +inf where only W + 1 can be."""
    without = perturbation.log_mass(steps)
    with_one = perturbation.log_mass(steps - steps_per_unit(perturbation))
    # Both are -inf only where neither can be: no vector of the scheme has such an entry.
    impossible = np.isneginf(with_one)
    ratio: FloatArray = np.full(steps.shape, -np.inf)
    np.subtract(with_one, without, out=ratio, where=~impossible)
    return ratio


def posterior(vectors: IntArray, perturbation: Perturbation, prior: FloatArray) -> FloatArray:
    """Pr(x in R_j | z), (n, k): prior times exp r(z_j), scaled to sum to one."""
    with np.errstate(divide="ignore"):  # a bin of no mass has the logarithm -inf, rightly
        scores = np.log(prior) + log_ratio(vectors, perturbation)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    share: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return share


@lru_cache(maxsize=1024)
def probability_mle_is_right(perturbation: Perturbation, bins: int) -> float:
    """Pr(the MLE from one record is right), exact for all five W; the prior plays no part.

    The true bin scores r(v) with probability p_W(v - s). The k - 1 others score less with
    probability b, the same with probability q each, and t that tie leave 1/(t+1): in sum
    ((b + q)^k - b^k) / (k·q).
    """
    equal, true = score_levels(perturbation)
    below = np.concatenate([[0.0], np.cumsum(equal)[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):  # q/b may be x/0; 0/0 is replaced below
        not_more = below + equal
        share = -np.expm1(-bins * np.log1p(equal / below))  # 1 - (b/(b + q))^k, digits kept
        right = not_more**bins * share / (bins * equal)
    # A level that no other bin can share: the limit of the formula.
    right = np.where(equal > 0, right, below ** (bins - 1))
    return float(true @ right)


def score_levels(perturbation: Perturbation) -> tuple[FloatArray, FloatArray]:
    """Probabilities of the values of r, in their rising order, under W and under W + 1."""
    shift = steps_per_unit(perturbation)
    lowest, highest = perturbation.reach
    steps = np.arange(max(lowest, -WINDOW), min(highest, WINDOW) + shift + 1)
    under_w = np.exp(perturbation.log_mass(steps))
    under_w_plus_one = np.exp(perturbation.log_mass(steps - shift))
    ratio = log_ratio(steps, perturbation)
    # One more level, r = 0, stands for everything beyond the window.
    _, place = np.unique(np.append(ratio, 0.0).round(12), return_inverse=True)

    def on_levels(mass: FloatArray) -> FloatArray:
        complete = np.append(mass, max(0.0, 1 - mass.sum()))
        return np.bincount(place, complete).astype(np.float64)

    return on_levels(under_w), on_levels(under_w_plus_one)


def probability_map_is_right(perturbation: Geometric, prior: FloatArray) -> float:
    """Pr(the MAP from one record is right) for the geometric, in closed form.

    All bins with z_j ≥ s score alike, so the guess is right when every likelier bin stayed below s:
    Σ_j p_(j)·(1 - a^-s)^(j-1) over the bins from the likeliest on.
    """
    stayed = 1 - perturbation.base ** -float(steps_per_unit(perturbation))
    likeliest_first = np.sort(prior)[::-1]
    return float(likeliest_first @ stayed ** np.arange(prior.size))


BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class MeanWithError:
    """A mean with its standard error, zero where the value is exact."""

    value: float
    standard_error: float = 0.0


@dataclass(frozen=True)
class PrivacyLoss:
    """Probability of guessing a record's bin from its vector; `by_chance` is the best guess without it."""

    mutual_information_bits: MeanWithError
    right_by_mle: MeanWithError
    right_by_map: MeanWithError
    by_chance: float

    @property
    def share(self) -> float:
        """1 - 2^(-I): the privacy loss between 0 and 1 that mutual information stands for."""
        return float(1 - 2 ** -max(self.mutual_information_bits.value, 0.0))


def one_step_privacy_loss(
    perturbation: Perturbation,
    prior: FloatArray,
    rng: np.random.Generator,
    *,
    records: int = 20_000,
) -> PrivacyLoss:
    """The privacy loss of one record whose bin follows `prior` (k,), from `records` simulated ones."""
    entropies, largest = [], []
    rows = max(1, BLOCK_ENTRIES // prior.size)
    for first in range(0, records, rows):
        count = min(rows, records - first)
        index = rng.choice(prior.size, count, p=prior)
        vectors = perturbed_vectors(index, prior.size, perturbation, rng)
        after = posterior(vectors, perturbation, prior)
        entropies.append(special.entr(after).sum(axis=1) / np.log(2))
        largest.append(after.max(axis=1))
    entropy = _mean(np.concatenate(entropies))
    before = float(special.entr(prior).sum() / np.log(2))
    by_map = (
        MeanWithError(probability_map_is_right(perturbation, prior))
        if isinstance(perturbation, Geometric)
        else _mean(np.concatenate(largest))
    )
    return PrivacyLoss(
        mutual_information_bits=MeanWithError(before - entropy.value, entropy.standard_error),
        right_by_mle=MeanWithError(probability_mle_is_right(perturbation, prior.size)),
        right_by_map=by_map,
        by_chance=float(prior.max()),
    )


def _mean(sample: FloatArray) -> MeanWithError:
    return MeanWithError(float(sample.mean()), float(sample.std() / np.sqrt(sample.size)))


DEVIATIONS = 12.0
"""Reach of the integral in standard deviations: beyond it every noise here has less than 10⁻⁶."""


def additive_privacy_loss(
    noise: Noise, probabilities: FloatArray, edges: FloatArray, *, points: int = 16_384
) -> PrivacyLoss:
    """The privacy loss of one record, by the midpoint rule on `points` values of z.

    `probabilities` (K,) are those of the bins `edges` (K+1,). The midpoint rule is off by about one
    part in `points` where densities jump.
    """
    reach = DEVIATIONS * np.sqrt(noise.variance)
    low, high = edges[0] + noise.mean - reach, edges[-1] + noise.mean + reach
    spacing = (high - low) / points
    information = right_by_map = right_by_mle = 0.0
    rows = max(1, BLOCK_ENTRIES // probabilities.size)
    for first in range(0, points, rows):
        index = np.arange(first, min(first + rows, points))
        likelihood = bin_likelihood(low + (index + 0.5) * spacing, noise, edges)
        joint = likelihood * probabilities
        density = joint.sum(axis=1)
        information += float(
            spacing * (special.rel_entr(joint, density[:, None] * probabilities)).sum() / np.log(2)
        )
        right_by_map += float(spacing * joint.max(axis=1).sum())
        best = likelihood == likelihood.max(axis=1, keepdims=True)
        right_by_mle += float(spacing * ((joint * best).sum(axis=1) / best.sum(axis=1)).sum())
    return PrivacyLoss(
        mutual_information_bits=MeanWithError(information),
        right_by_mle=MeanWithError(right_by_mle),
        right_by_map=MeanWithError(right_by_map),
        by_chance=float(probabilities.max()),
    )
