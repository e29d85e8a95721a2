"""Differential privacy of a row under formal protection: μ-GDP, ρ-zCDP and (ε, δ) of a copy, and the reverse.

Unit of privacy: a row. Neighbouring data sets: one row replaced by any other within the declaration. A copy at the
variance v shows of a row

    number j     x_j + N(0, w_j·R_j²·v),  x_j held to [lower_j, upper_j], R_j = upper_j - lower_j
    category j   its own value with probability q = 1/(1+v), else one drawn evenly from its k_j declared values.

**Numbers.** Two values differ by R_j at most, so that column j is μ_j-GDP with μ_j² = 1/(w_j·v) [dong2022], with equality at
the ends of the range; independent columns together have μ² = Σ μ_j². (With h_j = R_j/2 and S = diag(h_j²), another unit
of variance, the same is μ = 2√d/√a for a = 4·v and equal weights. R_j is taken for the unit since then v = 1 is
μ = 1 of a cell.)

**Categories.** P(y | x) = q·[x = y] + (1-q)/k, so that the likelihood ratio is 1 + k·q/(1-q) = 1 + k/v at most:
ε_j = ln(1 + k_j/v), with equality at y = x. It implies μ-GDP with μ = -2·Φ⁻¹(1/(1+e^ε)): the trade-off function of ε-DP is
piecewise linear with a corner at α = f(α) = 1/(1+e^ε); G_μ is convex, passes through that corner and shares both ends, so it
lies below. And ρ-zCDP with ρ = ε²/2 [bun2016] or μ²/2, whichever is less.

**A row.** Columns are perturbed independently, so that the trade-off function of a row is the product of theirs. μ and ρ add as
squares and as they are [dong2022; bun2016]; (ε, δ) is counted by privacy loss distributions, which is exact up to
their step (rounded up).

**Levels.** The copies of a row are a Markov chain: a set of them costs what its least perturbed one costs, in any order
and to any number of recipients.

**Finite precision.** Words of the keystream are finite, and floats are rounded. Per number and draw, beside the ideal noise:

- The table of normals is off by less than 5·10⁻¹⁴ (`normal_table`), and the sum x + z by an ulp of the largest declared magnitude,
  which is refused above 2⁻²¹ of the grid's step. Both move the ends of the interval that is rounded to a point of the grid,
  by less than η = 2⁻²⁰·⁹ steps together, a step being 2⁻⁷ to 2⁻⁶ standard deviations. The density changes by a factor below
  e^(8.3·2⁻⁶) < 1.14 over a step, so that the mass of a point changes by a share below 2·η·1.14 < 2⁻¹⁹, and the ratio of two by
  twice that: an additive ε of 2⁻¹⁸, and of δ the share 2⁻¹⁹.
- Tails of the normal are odd multiples of 2⁻⁵⁴ with a sign: 2⁵³ equal words. Coupled with a continuous uniform in its word's
  interval, a draw is rounded otherwise only if an end of an interval of the grid lies within its word's: at most 2⁻⁵³ for
  each of the 2·8.3·2⁷ ends that noise reaches, and 2⁻⁵³ beyond: less than 2⁻⁴¹, a distance in total variation.
  (ε, δ) of the ideal then is (ε, δ + (1 + e^ε)·2⁻⁴¹) of what is drawn. For d numbers no ε above ln(δ·2⁴¹/d) can be had for it.

- A copy that hangs from r draws adds their displacements with weights C, ΣC² being its variance, so Σ|C| ≤ √r, and may be rounded
  otherwise for each of them: at most r times as much. Of copies that are looked at together each adds its own. What is
  counted here is one copy.

Categories are counted as they are drawn (`copies.records`). A donor has a chance of ⌊2³⁰/k⌋·2⁻³⁰ at least. Times are products of
U = (word + ½)·2⁻³². In an epoch of its whole length that leaves a cell with probability ½ exactly; in the copy's own epoch, coupled
with continuous U, each event lies on another side of the epoch's end or of the copy with probability 2⁻³¹ at most, and 1 + ln 2 events
are looked at on average: q is off by less than a share of 2⁻²⁹, and so is 1 - q by less than 2⁻²⁹.

Bibliography: J. Dong, A. Roth and W. Su, "Gaussian differential privacy", Journal of the Royal Statistical Society B 84(1),
2022; M. Bun and T. Steinke, "Concentrated differential privacy", TCC 2016; V. Doroshenko et al., "Connect the dots: tighter
discrete approximations of privacy loss distributions", PoPETs 2022.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.special import log_ndtr, ndtr, ndtri

from app.numerics.copies.records import kept_share

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

DELTA = 1e-6
"""Of an (ε, δ) for which nobody named one."""

DRAW_EPSILON, DRAW_DELTA = 2.0**-18, 2.0**-41
"""What finite precision adds for each number drawn."""

STEP = 1e-3
"""Of a privacy loss distribution; losses are rounded up."""

LARGEST_EPSILON = 200.0
"""From which on nothing is counted: mean loss of the numbers, and loss of the categories."""


class Unattainable(ValueError):
    """No noise gives this guarantee."""


@dataclass(frozen=True)
class RowMechanism:
    """Perturbed columns of a row, as declared.

    where:
        weights     w_j of the columns with noise
        categories  k_j of the categorical columns
        rows        of one person, protected together
    """

    weights: tuple[float, ...]
    categories: tuple[int, ...]
    rows: int = 1

    def numbers_mu(self, v: float) -> float:
        """μ of the numbers of a row alone."""
        return math.sqrt(self.rows * sum(1.0 / w for w in self.weights) / v)

    def mu(self, v: float) -> float:
        """μ of whole rows: √(Σ 1/(w_j·v) + Σ μ(ε_j)²)."""
        squares = (pure_mu(response_epsilon(k, v)) ** 2 for k in self.categories)
        return math.sqrt(self.numbers_mu(v) ** 2 + self.rows * sum(squares))

    def rho(self, v: float) -> float:
        """ρ of whole rows: Σ 1/(2·w_j·v) + Σ ρ(ε_j)."""
        categories = (pure_rho(response_epsilon(k, v)) for k in self.categories)
        return self.numbers_mu(v) ** 2 / 2 + self.rows * sum(categories)

    def delta(self, v: float, epsilon: float) -> float:
        """The least δ of an (ε, δ) of whole rows, finite precision included; 1 where it is beyond counting."""
        numbers = self.rows * len(self.weights)
        loss = self._loss(v)
        if loss is None:
            return 1.0
        ideal = float(loss.get_delta_for_epsilon(epsilon - numbers * DRAW_EPSILON))
        ideal *= math.exp(numbers * DRAW_EPSILON / 2)
        return min(1.0, ideal + numbers * DRAW_DELTA * (1 + math.exp(epsilon)))

    def epsilon(self, v: float, delta: float = DELTA) -> float:
        """The least ε of an (ε, δ) of whole rows; infinite where there is none."""
        numbers = self.rows * len(self.weights)
        loss = self._loss(v)
        if loss is None:
            return math.inf
        # Finite precision takes its share of δ, which grows with ε: a fixed point, reached from below.
        epsilon, left, rounding = 0.0, delta, math.exp(-numbers * DRAW_EPSILON / 2)
        for _ in range(100):
            found = float(loss.get_epsilon_for_delta(left * rounding)) + numbers * DRAW_EPSILON
            if not found < LARGEST_EPSILON:
                return math.inf
            if found <= epsilon:
                return epsilon
            epsilon = found * (1 + 1e-12)
            left = delta - numbers * DRAW_DELTA * (1 + math.exp(epsilon))
            if left <= 0:
                return math.inf
        return math.inf

    def variance_of_mu(self, mu: float) -> float:
        """The least v with this μ of whole rows."""
        return _least_variance(lambda v: self.mu(v) - mu)

    def variance_of_rho(self, rho: float) -> float:
        """The least v with this ρ of whole rows."""
        return _least_variance(lambda v: self.rho(v) - rho)

    def variance_of_epsilon(self, epsilon: float, delta: float) -> float:
        """The least v with this (ε, δ) of whole rows; Unattainable where finite precision alone costs as much."""
        wanted = math.log(delta)
        return _least_variance(lambda v: math.log(max(self.delta(v, epsilon), 1e-300)) - wanted)

    def _loss(self, v: float) -> PrivacyLossDistribution | None:
        """The distribution of the privacy loss; None where it is beyond counting."""
        pure = sum(response_epsilon(k, v) for k in self.categories) * self.rows
        if self.numbers_mu(v) ** 2 / 2 + pure > LARGEST_EPSILON:
            return None
        # Seconds of importing, for those alone who need it.
        from dp_accounting.pld import privacy_loss_distribution as losses

        found = losses.identity(STEP)
        if self.weights:
            mu = self.numbers_mu(v)
            found = losses.from_gaussian_mechanism(1 / mu, value_discretization_interval=STEP)
        for k, columns in Counter(self.categories).items():
            if k > 1:
                kept, donor = _drawn_shares(k, v)
                one = losses.from_randomized_response(
                    1 - kept, 1 / donor, value_discretization_interval=STEP
                )
                found = found.compose(one.self_compose(columns * self.rows))
        return found


def response_epsilon(k: int, v: float) -> float:
    """ε of a categorical cell with k declared values, ln(1 + k/v), as it is drawn."""
    if k == 1:
        return 0.0
    kept, donor = _drawn_shares(k, v)
    return math.log1p(kept / ((1 - kept) * donor))


def pure_mu(epsilon: float) -> float:
    """The least μ with ε-DP ⇒ μ-GDP: -2·Φ⁻¹(1/(1+e^ε))."""
    return float(-2 * ndtri(1 / (1 + math.exp(epsilon))))


def pure_rho(epsilon: float) -> float:
    """A ρ with ε-DP ⇒ ρ-zCDP: the lesser of ε²/2 and μ²/2."""
    return min(epsilon**2, pure_mu(epsilon) ** 2) / 2


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of μ-GDP: Φ(-ε/μ + μ/2) - e^ε·Φ(-ε/μ - μ/2) [dong2022, corollary 2.13], for any real ε."""
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    return max(0.0, float(ndtr(first) - math.exp(min(700.0, epsilon + log_ndtr(second)))))


def gaussian_epsilon(mu: float, delta: float = DELTA) -> float:
    """The least ε ≥ 0 of an (ε, δ) of μ-GDP."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    from scipy.optimize import brentq  # heavy at a start

    # At ε = μ²/2 + μ·z it is below Φ(-z).
    end = mu**2 / 2 - mu * float(ndtri(delta))
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, end))


def certainty(mu: float) -> float:
    """Success rate of the best guess which of two equally likely rows it was: Φ(μ/2)."""
    return float(ndtr(mu / 2))


def _drawn_shares(k: int, v: float) -> tuple[float, float]:
    """The most that q is, and the least chance of a donor, as finite words have them."""
    kept = kept_share(v) * (1 + 2.0**-29)
    return min(kept, 1 - 2.0**-31), (2**30 // k) * 2.0**-30


SMALLEST, LARGEST = 1e-9, 1e9


def _least_variance(excess: Callable[[float], float]) -> float:
    """The least v in six digits, rounded up, where a decreasing excess is not above 0."""
    from scipy.optimize import brentq  # heavy at a start

    if excess(LARGEST) > 0:
        raise Unattainable
    if excess(SMALLEST) <= 0:
        return SMALLEST
    root = math.exp(
        brentq(
            lambda log_v: excess(math.exp(log_v)), math.log(SMALLEST), math.log(LARGEST), xtol=1e-9
        )
    )
    found = _rounded_up(root)
    while excess(found) > 0:
        found = _rounded_up(found * (1 + 1e-6))
    return found


def _rounded_up(v: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(v)) - 5)
    return float(f"{math.ceil(v / unit * (1 - 1e-12)) * unit:.6g}")
