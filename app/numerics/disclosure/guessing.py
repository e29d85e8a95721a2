"""The best guess of one record's bin from its noisy indicator vector, and how often it is right.

[wu2003, section 4.2.] Only two entries of the likelihood of z depend on the bin j, so that with

    r(w) = log p_W(w - s) - log p_W(w)   (steps, s = 1/γ)

the maximum-likelihood bin has the largest r(z_j) and the maximum-a-posteriori bin the largest
log p_X(R_j) + r(z_j). For 1/(S_3·k³) that is the smallest z_j ≥ 2, for the geometric the likeliest bin
with z_j ≥ 1, as the paper says.

| symbol | here |
| --- | --- |
| p_X(R_j) | `prior` (k,) |
| k | number of bins |
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.indicator import Geometric, Perturbation, steps_per_unit

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
