"""The noise densities: mass, spectrum and moments against quadrature and against draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from app.errors import InvalidParameter
from app.numerics.deconvolution.noise import (
    Discrete,
    Laplace,
    Noise,
    Normal,
    Triangular,
    Uniform,
    noise_of_copy,
)

NOISES: dict[str, Noise] = {
    "normal": Normal(2.25, mean=-1.0),
    "laplace": Laplace(0.8, mean=2.0),
    "uniform": Uniform(-3.0, 5.0),
    "triangular": Triangular(-1.0, 7.0),
    "discrete": Discrete([4.0, -1.0, 0.5], [0.2, 0.5, 0.3]),
}


@pytest.fixture(params=NOISES, name="noise")
def each_noise(request: pytest.FixtureRequest) -> Noise:
    return NOISES[request.param]


def test_mass_spectrum_and_moments_agree_with_each_other(noise: Noise) -> None:
    edges = np.linspace(-60, 60, 240_001)
    mass = noise.mass(edges[:-1], edges[1:])
    middle = (edges[1:] + edges[:-1]) / 2
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert mass @ middle == pytest.approx(noise.mean, abs=3e-4)
    assert mass @ (middle - noise.mean) ** 2 == pytest.approx(noise.variance, rel=1e-3)
    omega = np.array([0.1, 0.7, 2.0])
    by_quadrature = np.exp(1j * np.multiply.outer(omega, middle)) @ mass
    np.testing.assert_allclose(noise.characteristic(omega), by_quadrature, atol=6e-4)


def test_draws_follow_the_mass_and_not_one_a_tenth_wider(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    draws = noise.draws(rng, 40_000)
    edges = np.array([-200.0, -2.0, -0.9, 0.0, 0.7, 1.5, 2.5, 4.5, 200.0])

    def p_value(sample: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        observed = np.histogram(sample, edges)[0]
        expected = noise.mass(edges[:-1], edges[1:]) * sample.size
        used = expected > 0
        assert observed[~used].sum() == 0 or sample is not draws
        statistic = ((observed - expected)[used] ** 2 / expected[used]).sum()
        return float(special.chdtrc(used.sum() - 1, statistic + observed[~used].sum() * 100))

    assert p_value(draws) > 1e-3
    if not isinstance(noise, Discrete):
        assert p_value(noise.mean + 1.1 * (draws - noise.mean)) < 1e-6


@pytest.mark.parametrize(
    ("noise", "reference"),
    [
        (Normal(4.0), stats.norm(scale=2.0)),
        (Laplace(0.5), stats.laplace(scale=0.5)),
    ],
)
def test_both_tails_keep_their_relative_accuracy(noise: Noise, reference: stats.norm) -> None:
    low = np.array([12.0, 15.0])
    high = low + 0.5
    expected = reference.sf(low) - reference.sf(high)
    np.testing.assert_allclose(noise.mass(low, high), expected, rtol=1e-9)
    np.testing.assert_allclose(noise.mass(-high, -low), expected, rtol=1e-9)


def test_uniform_noise_has_no_spectrum_at_multiples_of_its_inverse_width() -> None:
    omega = 2 * np.pi * np.array([1, 2, 3]) / 20
    assert np.abs(Uniform(0.0, 20.0).characteristic(omega)).max() < 1e-15


def test_discrete_mass_is_half_open() -> None:
    noise = NOISES["discrete"]
    below = noise.mass(np.array([-2.0, -1.0]), np.array([-1.0, 0.5]))
    np.testing.assert_allclose(below, [0.5, 0.3])


def test_the_noise_of_a_copy_is_its_level_times_the_column_variance() -> None:
    assert noise_of_copy(0.25, 16.0) == Normal(4.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_noise_without_a_scale_is_refused(scale: float) -> None:
    for make in (
        Normal,
        Laplace,
        lambda s: Uniform(2.0, 2.0 + s),
        lambda s: Triangular(2.0, 2.0 + s),
    ):
        with pytest.raises(InvalidParameter):
            make(scale)
    for copy in ((scale, 1.0), (1.0, scale)):
        with pytest.raises(InvalidParameter):
            noise_of_copy(*copy)


@pytest.mark.parametrize(
    ("values", "probabilities"),
    [
        ([], []),
        ([1.0], [1.0]),
        ([1.0, 2.0], [1.0]),
        ([1.0, 1.0], [0.5, 0.5]),
        ([1.0, 2.0], [1.0, 0.0]),
        ([1.0, 2.0], [0.7, 0.7]),
        ([1.0, 2.0], [1.5, -0.5]),
        ([1.0, float("inf")], [0.5, 0.5]),
    ],
)
def test_a_table_that_is_no_distribution_is_refused(
    values: list[float], probabilities: list[float]
) -> None:
    with pytest.raises(InvalidParameter):
        Discrete(values, probabilities)
