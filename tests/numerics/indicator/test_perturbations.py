"""The five W: masses that sum to one, the paper's constants, draws that follow the mass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from app.errors import InvalidParameter
from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
    steps_per_unit,
)

LIGHT: dict[str, Perturbation] = {
    "normal": DiscreteNormal(1.3, gamma=0.5),
    "wide normal": DiscreteNormal(40.0),
    "poisson": ScaledPoisson(2.5, gamma=0.25),
    "geometric": Geometric(1.8),
}
HEAVY: dict[str, Perturbation] = {
    "inverse square": InverseSquare(0.5),
    "inverse cube": InverseCube(),
}
ALL = LIGHT | HEAVY


@pytest.mark.parametrize("name", LIGHT)
def test_light_masses_have_the_moments_that_are_said(name: str) -> None:
    perturbation = LIGHT[name]
    lowest, highest = perturbation.reach
    steps = np.arange(lowest, highest + 1)
    mass = np.exp(perturbation.log_mass(steps))
    assert mass.sum() == pytest.approx(1, abs=1e-14)
    assert mass @ steps == pytest.approx(perturbation.mean_steps, abs=1e-11)
    assert mass @ (steps - perturbation.mean_steps) ** 2 == pytest.approx(
        perturbation.variance_steps, rel=1e-10
    )


def test_heavy_masses_sum_to_one_with_their_tails() -> None:
    steps = np.arange(-2000, 2001)
    inside = np.exp(InverseSquare().log_mass(steps)).sum()
    tail = 2 * 6 / (2 * math.pi**2 - 6) * special.zeta(2.0, 2002.0)
    assert inside + tail == pytest.approx(1, abs=1e-12)
    cubes = np.exp(InverseCube().log_mass(steps)).sum()
    assert cubes + special.zeta(3.0, 2001.0) / special.zeta(3.0) == pytest.approx(1, abs=1e-12)


def test_the_mean_of_the_inverse_cube_is_the_papers() -> None:
    assert InverseCube().mean_steps == pytest.approx(1.368, abs=5e-4)


def chi_square_p_value(
    draws: np.ndarray[tuple[int, ...], np.dtype[np.int64]], perturbation: Perturbation
) -> float:
    steps = np.arange(-12, 13)
    mass = np.exp(perturbation.log_mass(steps))
    used = mass * draws.size > 10
    observed = np.array([(draws == step).sum() for step in steps[used]], dtype=float)
    expected = mass[used] * draws.size
    rest, rest_expected = draws.size - observed.sum(), draws.size - expected.sum()
    statistic = ((observed - expected) ** 2 / expected).sum() + (rest - rest_expected) ** 2 / max(
        rest_expected, 10
    )
    return float(special.chdtrc(used.sum(), statistic))


@pytest.mark.parametrize("name", ALL)
def test_draws_follow_the_mass(name: str) -> None:
    draws = ALL[name].draws(np.random.default_rng(7), (200, 300))
    assert draws.shape == (200, 300)
    assert draws.dtype == np.int64
    assert chi_square_p_value(draws, ALL[name]) > 1e-3


@pytest.mark.parametrize(
    ("drawn", "claimed"),
    [
        (DiscreteNormal(1.3), DiscreteNormal(1.43)),
        (ScaledPoisson(2.5), ScaledPoisson(2.75)),
        (Geometric(1.8), Geometric(1.98)),
        (InverseSquare(), InverseCube()),
    ],
)
def test_draws_do_not_follow_a_mass_a_tenth_beside(
    drawn: Perturbation, claimed: Perturbation
) -> None:
    draws = drawn.draws(np.random.default_rng(8), (60_000,))
    assert chi_square_p_value(draws, claimed) < 1e-6


def test_the_discrete_normal_keeps_its_digits_in_the_tail() -> None:
    far = DiscreteNormal(1.0).log_mass(np.array([30, -30]))
    # log Φ(-29.5) but for the next step's mass, e^-30 times smaller
    assert far == pytest.approx([special.log_ndtr(-29.5)] * 2, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.3, 2.0, 0.0, -0.5, float("nan"), float("inf"), 1e-9, 0.333])
def test_a_gamma_whose_inverse_is_no_integer_is_refused(gamma: float) -> None:
    for make in (
        lambda: DiscreteNormal(1.0, gamma),
        lambda: ScaledPoisson(1.0, gamma),
        lambda: InverseSquare(gamma),
        lambda: InverseCube(gamma),
        lambda: Geometric(2.0, gamma),
    ):
        with pytest.raises(InvalidParameter):
            make()


def test_a_gamma_of_one_over_any_integer_is_taken() -> None:
    for steps in (1, 2, 3, 7, 49, 1000):
        assert steps_per_unit(DiscreteNormal(1.0, 1 / steps)) == steps


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_a_perturbation_without_a_scale_is_refused(scale: float) -> None:
    for make in (DiscreteNormal, ScaledPoisson, Geometric):
        with pytest.raises(InvalidParameter):
            make(scale)
    with pytest.raises(InvalidParameter):
        Geometric(1.0)
