"""Known distributions of the noise Y: interval masses, spectrum, moments, draws.

[wu2003, section 3] needs two things of f_Y: Pr(Y ∈ (a, b]) for the iterative estimates, and
E exp(iωY), the entries of A_i, for the direct one.

| symbol | here |
| --- | --- |
| Pr(Y ∈ (a, b]) | `noise.mass(a, b)` |
| E exp(iωY) | `noise.characteristic(ω)` |
| E Y, Var Y | `noise.mean`, `noise.variance` |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray

Complexes = npt.NDArray[np.complex128]


SMALLEST_SCALE = 1e-150
"""Its square and its inverse are still numbers."""

FREQUENCIES_AT_ONCE = 4096


class Noise(Protocol):
    """Interface of a noise distribution for estimates."""

    @property
    def mean(self) -> float: ...

    @property
    def variance(self) -> float: ...

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Pr(low < Y ≤ high), elementwise, accurate relative to its size in both tails."""

    def characteristic(self, angular_frequency: FloatArray) -> Complexes:
        """E exp(iωY) at each ω."""

    def draws(self, rng: np.random.Generator, n: int) -> FloatArray:
        """n independent draws, (n,)."""


@dataclass(frozen=True)
class Normal:
    """N(mean, variance)."""

    variance: float
    mean: float = 0.0

    def __post_init__(self) -> None:
        require_scale("variance", self.variance)
        require_finite("mean", self.mean)

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        deviation = math.sqrt(self.variance)
        return _mass_by_reflection(
            (low - self.mean) / deviation, (high - self.mean) / deviation, special.ndtr
        )

    def characteristic(self, angular_frequency: FloatArray) -> Complexes:
        omega = np.asarray(angular_frequency, dtype=np.float64)
        spectrum: Complexes = np.exp(1j * omega * self.mean - self.variance * omega**2 / 2)
        return spectrum

    def draws(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.normal(self.mean, math.sqrt(self.variance), n)


@dataclass(frozen=True)
class Laplace:
    """Density exp(-|y - mean| / scale) / (2·scale)."""

    scale: float
    mean: float = 0.0

    def __post_init__(self) -> None:
        require_scale("scale", self.scale)
        require_finite("mean", self.mean)

    @property
    def variance(self) -> float:
        return 2 * self.scale**2

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        return _mass_by_reflection(
            (low - self.mean) / self.scale, (high - self.mean) / self.scale, _laplace_lower_tail
        )

    def characteristic(self, angular_frequency: FloatArray) -> Complexes:
        omega = np.asarray(angular_frequency, dtype=np.float64)
        spectrum: Complexes = np.exp(1j * omega * self.mean) / (1 + (self.scale * omega) ** 2)
        return spectrum

    def draws(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.laplace(self.mean, self.scale, n)


@dataclass(frozen=True)
class _OnInterval:
    """Noise that is symmetric on [low, high]."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_interval(self.low, self.high)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class Uniform(_OnInterval):
    """Constant density on [low, high]; its spectrum is zero at every multiple of 2π/(high - low)."""

    @property
    def variance(self) -> float:
        return (self.high - self.low) ** 2 / 12

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        inside_low, inside_high = (np.clip(edge, self.low, self.high) for edge in (low, high))
        share: FloatArray = (inside_high - inside_low) / (self.high - self.low)
        return share

    def characteristic(self, angular_frequency: FloatArray) -> Complexes:
        omega = np.asarray(angular_frequency, dtype=np.float64)
        width = self.high - self.low
        spectrum: Complexes = np.exp(1j * omega * self.mean) * np.sinc(omega * width / (2 * np.pi))
        return spectrum

    def draws(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.uniform(self.low, self.high, n)


@dataclass(frozen=True)
class Triangular(_OnInterval):
    """The symmetric triangle on [low, high]: the sum of two uniforms of half the width."""

    @property
    def variance(self) -> float:
        return (self.high - self.low) ** 2 / 24

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        half = (self.high - self.low) / 2
        return _mass_by_reflection(
            (low - self.mean) / half, (high - self.mean) / half, _triangle_lower_tail
        )

    def characteristic(self, angular_frequency: FloatArray) -> Complexes:
        omega = np.asarray(angular_frequency, dtype=np.float64)
        width = self.high - self.low
        spectrum: Complexes = (
            np.exp(1j * omega * self.mean) * np.sinc(omega * width / (4 * np.pi)) ** 2
        )
        return spectrum

    def draws(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.triangular(self.low, self.mean, self.high, n)


@dataclass(frozen=True, init=False)
class Discrete:
    """Finitely many values with their probabilities; they are sorted and scaled to sum to one."""

    values: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __init__(self, values: Sequence[float], probabilities: Sequence[float]) -> None:
        table = np.asarray(values, dtype=np.float64)
        weights = np.asarray(probabilities, dtype=np.float64)
        if table.ndim != 1 or table.shape != weights.shape or table.size < 2:
            raise InvalidParameter(
                "A noise table needs at least two values and one probability for each.",
                parameter="noise",
            )
        if not ((np.abs(table) < 1 / SMALLEST_SCALE).all() and np.isfinite(weights).all()):
            raise InvalidParameter("A noise table holds finite numbers.", parameter="noise")
        if (weights < 0).any() or abs(weights.sum() - 1) > 1e-6:
            raise InvalidParameter(
                "The probabilities of a noise table are not negative and sum to one.",
                parameter="noise",
            )
        order = np.argsort(table, kind="stable")
        if (np.diff(table[order]) <= 0).any():
            raise InvalidParameter("A noise table names each value once.", parameter="noise")
        if np.count_nonzero(weights) < 2:
            raise InvalidParameter(
                "Noise of one value only is no noise: it has no scale.", parameter="noise"
            )
        # A frozen value with a constructor of its own can be filled in no other way.
        object.__setattr__(self, "values", tuple(table[order].tolist()))
        object.__setattr__(self, "probabilities", tuple((weights[order] / weights.sum()).tolist()))

    @property
    def mean(self) -> float:
        return float(np.dot(self.values, self.probabilities))

    @property
    def variance(self) -> float:
        return float(np.dot((np.asarray(self.values) - self.mean) ** 2, self.probabilities))

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        cumulative = np.concatenate([[0.0], np.cumsum(self.probabilities)])
        below_low, below_high = (
            np.searchsorted(self.values, edge, side="right") for edge in (low, high)
        )
        share: FloatArray = cumulative[below_high] - cumulative[below_low]
        return share

    def characteristic(self, angular_frequency: FloatArray) -> Complexes:
        omega = np.asarray(angular_frequency, dtype=np.float64)
        values, probabilities = np.asarray(self.values), np.asarray(self.probabilities)
        flat = omega.ravel()
        spectrum = np.empty(flat.size, dtype=np.complex128)
        for first in range(0, flat.size, FREQUENCIES_AT_ONCE):
            block = slice(first, first + FREQUENCIES_AT_ONCE)
            spectrum[block] = np.exp(1j * np.multiply.outer(flat[block], values)) @ probabilities
        return spectrum.reshape(omega.shape)

    def draws(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.choice(np.asarray(self.values), size=n, p=np.asarray(self.probabilities))


def noise_of_copy(noise_variance: float, column_variance: float) -> Normal:
    """The noise that a copy at level v adds to a column: N(0, v·K_jj) [li2012, section 3].

    `column_variance` is K_jj as published with the copy. Raises InvalidParameter unless both are
    positive: at v = 0 there is no noise to undo.
    """
    require_scale("noise_variance", noise_variance)
    require_scale("column_variance", column_variance)
    return Normal(noise_variance * column_variance)


def require_scale(parameter: str, scale: float) -> None:
    """Raise InvalidParameter unless the scale is finite and positive, by a wide margin."""
    if not SMALLEST_SCALE < scale < 1 / SMALLEST_SCALE:
        raise InvalidParameter(
            f"The noise needs a finite {parameter} above zero.", parameter=parameter
        )


def require_finite(parameter: str, number: float) -> None:
    """Raise InvalidParameter unless the number is finite."""
    if not abs(number) < 1 / SMALLEST_SCALE:
        raise InvalidParameter(f"The {parameter} of the noise must be finite.", parameter=parameter)


def _require_interval(low: float, high: float) -> None:
    require_finite("low", low)
    require_finite("high", high)
    if not high - low > SMALLEST_SCALE:
        raise InvalidParameter(
            "The noise needs a finite interval of positive width.", parameter="noise"
        )


class _LowerTail(Protocol):
    def __call__(self, standardised: FloatArray, /) -> FloatArray: ...


def _mass_by_reflection(low: FloatArray, high: FloatArray, lower_tail: _LowerTail) -> FloatArray:
    """F(high) - F(low) of a distribution symmetric about 0, taken in the tail where F is small.

    Above zero F is near one and the difference would cancel; F(-low) - F(-high) is the same mass.
    """
    above = low > 0
    difference: FloatArray = lower_tail(np.where(above, -low, high)) - lower_tail(
        np.where(above, -high, low)
    )
    return difference


def _laplace_lower_tail(standardised: FloatArray) -> FloatArray:
    tail = np.exp(-np.abs(standardised)) / 2
    cumulative: FloatArray = np.where(standardised <= 0, tail, 1 - tail)
    return cumulative


def _triangle_lower_tail(standardised: FloatArray) -> FloatArray:
    """F of the triangle on [-1, 1]."""
    inside = np.clip(standardised, -1, 1)
    cumulative: FloatArray = np.where(inside <= 0, (1 + inside) ** 2 / 2, 1 - (1 - inside) ** 2 / 2)
    return cumulative
