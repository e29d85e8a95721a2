"""Five noise distributions W for indicator vectors.

[wu2003, sections 4.1 and 4.2.] W lives on multiples of γ = 1/s; everything here counts in steps of γ, so
that a perturbed vector is a vector of integers and its totals are exact.

| symbol | here |
| --- | --- |
| γ | `gamma`; s = 1/γ is `steps_per_unit`, the steps that a 1 in the indicator vector moves |
| p_W(γw) | `exp(log_mass(w))` |
| σ of the discrete normal γ·round(N(0, σ²)) | `standard_deviation` |
| λ of the Poisson | `rate` |
| a of the geometric | `base` |
| S_3 | ζ(3) |

The last two are defined in the paper for γ = 1; here they take any γ as the others do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray, IntArray

Shape = tuple[int, ...]

MOST_STEPS = 1 << 53
"""Steps beyond which a number in JSON loses digits; a draw that far out (1 in 10¹⁵) is cut to it."""

LARGEST_SCALE = 1e4
"""Of σ, λ and 1/γ in steps: more would hide nothing better, and sums over the mass stay short."""

LEAST_BASE = 1.001

UNREACHED = 1e-15
"""A draw leaves the `reach` of its distribution no more often than this."""


class Perturbation(Protocol):
    """One of the five W: a frozen value, so that what is computed from it can be remembered."""

    def __hash__(self) -> int: ...

    @property
    def gamma(self) -> float: ...

    @property
    def mean_steps(self) -> float:
        """E W / γ; for a distribution without mean, the centre of its symmetry."""

    @property
    def variance_steps(self) -> float:
        """Var W / γ², infinite where the tails are too heavy."""

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the largest step that a draw takes but once in 10¹⁵."""

    def log_mass(self, steps: IntArray) -> FloatArray:
        """log Pr(W = γ·w), -inf where W never is."""

    def draws(self, rng: np.random.Generator, shape: Shape) -> IntArray:
        """Independent draws of W/γ."""


def steps_per_unit(perturbation: Perturbation) -> int:
    """s = 1/γ."""
    return round(1 / perturbation.gamma)


@dataclass(frozen=True)
class DiscreteNormal:
    """W = γ·round(N(0, σ²))."""

    standard_deviation: float
    gamma: float = 1.0

    def __post_init__(self) -> None:
        _require_inverse_integer(self.gamma)
        _require_scale("standard_deviation", self.standard_deviation)

    @property
    def mean_steps(self) -> float:
        return 0.0

    @property
    def variance_steps(self) -> float:
        # Rounding adds 1/12 but for a term of order exp(-2π²σ²), which is below an ulp from σ = 2.
        if self.standard_deviation >= 2:
            return self.standard_deviation**2 + 1 / 12
        steps = np.arange(self.reach[0], self.reach[1] + 1)
        return float(np.exp(self.log_mass(steps)) @ steps.astype(np.float64) ** 2)

    @property
    def reach(self) -> tuple[int, int]:
        furthest = math.ceil(-special.ndtri(UNREACHED / 2) * self.standard_deviation + 0.5)
        return -furthest, furthest

    def log_mass(self, steps: IntArray) -> FloatArray:
        # Taken below zero, where the distribution function keeps its digits.
        magnitude = np.abs(steps)
        near = special.log_ndtr((0.5 - magnitude) / self.standard_deviation)
        far = special.log_ndtr((-0.5 - magnitude) / self.standard_deviation)
        mass: FloatArray = near + np.log1p(-np.exp(far - near))
        return mass

    def draws(self, rng: np.random.Generator, shape: Shape) -> IntArray:
        return np.rint(rng.normal(0.0, self.standard_deviation, shape)).astype(np.int64)


@dataclass(frozen=True)
class ScaledPoisson:
    """W = γ·Poisson(λ)."""

    rate: float
    gamma: float = 1.0

    def __post_init__(self) -> None:
        _require_inverse_integer(self.gamma)
        _require_scale("rate", self.rate)

    @property
    def mean_steps(self) -> float:
        return self.rate

    @property
    def variance_steps(self) -> float:
        return self.rate

    @property
    def reach(self) -> tuple[int, int]:
        # Bernstein's bound on the upper tail, solved for the deviation; no mass lies below zero.
        decay = -math.log(UNREACHED)
        return 0, math.ceil(self.rate + decay / 3 + math.sqrt(decay**2 / 9 + 2 * decay * self.rate))

    def log_mass(self, steps: IntArray) -> FloatArray:
        mass: FloatArray = (
            special.xlogy(steps, self.rate) - self.rate - special.gammaln(steps + 1.0)
        )
        return np.where(steps >= 0, mass, -np.inf)

    def draws(self, rng: np.random.Generator, shape: Shape) -> IntArray:
        return rng.poisson(self.rate, shape)


@dataclass(frozen=True)
class InverseSquare:
    """p_W(γw) = 6/((2π² - 6)·(|w| + 1)²) on all integers w: no mean, and no help from large n.

    The law of large numbers that [wu2003, section 4] rests on needs a mean; see `scheme` for the
    estimate that does without.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _require_inverse_integer(self.gamma)

    @property
    def mean_steps(self) -> float:
        return 0.0

    @property
    def variance_steps(self) -> float:
        return math.inf

    @property
    def reach(self) -> tuple[int, int]:
        return -MOST_STEPS, MOST_STEPS

    def log_mass(self, steps: IntArray) -> FloatArray:
        mass: FloatArray = math.log(6 / (2 * math.pi**2 - 6)) - 2 * np.log1p(np.abs(steps))
        return mass

    def draws(self, rng: np.random.Generator, shape: Shape) -> IntArray:
        """±(K - 1) with K of zeta(2), -0 refused, which leaves 0 half the mass it would have."""
        wanted = math.prod(shape)
        kept = np.empty(0, dtype=np.int64)
        while kept.size < wanted:
            count = (wanted - kept.size) * 3 // 2 + 16
            magnitude = np.minimum(rng.zipf(2.0, count), MOST_STEPS) - 1
            negative = rng.integers(0, 2, count).astype(np.bool_)
            drawn = np.where(negative, -magnitude, magnitude)[~(negative & (magnitude == 0))]
            kept = np.concatenate([kept, drawn])
        return kept[:wanted].reshape(shape)


@dataclass(frozen=True)
class InverseCube:
    """p_W(γk) = 1/(S_3·k³), k = 1, 2, …: a mean of S_2/S_3 steps, an infinite variance."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _require_inverse_integer(self.gamma)

    @property
    def mean_steps(self) -> float:
        return float(special.zeta(2.0) / special.zeta(3.0))

    @property
    def variance_steps(self) -> float:
        return math.inf

    @property
    def reach(self) -> tuple[int, int]:
        return 1, MOST_STEPS

    def log_mass(self, steps: IntArray) -> FloatArray:
        mass: FloatArray = -3 * np.log(np.maximum(steps, 1)) - math.log(special.zeta(3.0))
        return np.where(steps >= 1, mass, -np.inf)

    def draws(self, rng: np.random.Generator, shape: Shape) -> IntArray:
        return np.minimum(rng.zipf(3.0, shape), MOST_STEPS)


@dataclass(frozen=True)
class Geometric:
    """p_W(γk) = (a - 1)/a^(k+1), k = 0, 1, …"""

    base: float
    gamma: float = 1.0

    def __post_init__(self) -> None:
        _require_inverse_integer(self.gamma)
        if not (math.isfinite(self.base) and LEAST_BASE <= self.base <= LARGEST_SCALE):
            raise InvalidParameter(
                f"The base of a geometric is from {LEAST_BASE:g} to {LARGEST_SCALE:g}.",
                parameter="base",
            )

    @property
    def mean_steps(self) -> float:
        return 1 / (self.base - 1)

    @property
    def variance_steps(self) -> float:
        return self.base / (self.base - 1) ** 2

    @property
    def reach(self) -> tuple[int, int]:
        return 0, math.ceil(-math.log(UNREACHED) / math.log(self.base))

    def log_mass(self, steps: IntArray) -> FloatArray:
        mass = math.log(self.base - 1) - (steps + 1.0) * math.log(self.base)
        return np.where(steps >= 0, mass, -np.inf)

    def draws(self, rng: np.random.Generator, shape: Shape) -> IntArray:
        return rng.geometric(1 - 1 / self.base, shape) - 1


def _require_inverse_integer(gamma: float) -> None:
    """[wu2003, section 4.1]: a 1 must be a whole number of steps, or z would betray its place."""
    usable = math.isfinite(gamma) and 1 / LARGEST_SCALE <= gamma <= 1
    if not usable or abs(1 / gamma - round(1 / gamma)) > 1e-9 / gamma:
        raise InvalidParameter("1/gamma must be a positive integer.", parameter="gamma")


def _require_scale(parameter: str, scale: float) -> None:
    if not (math.isfinite(scale) and 0 < scale <= LARGEST_SCALE):
        raise InvalidParameter(
            f"The {parameter} is above zero and at most {LARGEST_SCALE:g}.", parameter=parameter
        )
