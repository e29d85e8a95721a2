"""The direct estimate: exact on waves, damped at zeros of the noise, and as the paper writes it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from app.errors import InvalidParameter, InvalidTable
from app.numerics.deconvolution.bins import Histogram, uniform_edges
from app.numerics.deconvolution.fourier import (
    clear_period,
    direct_estimate,
    harmonic_spectrum,
    integrated_series,
    limited_inverse,
    mean_waves,
    taper_weights,
)
from app.numerics.deconvolution.noise import Normal, Uniform


def test_coefficients_are_those_of_the_papers_matrix() -> None:
    rng = np.random.default_rng(1)
    z, noise = rng.uniform(0, 1, 200), Uniform(0.0, 0.37)
    spectrum = harmonic_spectrum(noise, 1.0, 3)
    estimate = direct_estimate(
        z, noise, uniform_edges(0, 1, 10), harmonics=3, amplification_limit=1e6
    )
    for k in (1, 2, 3):
        c, s = spectrum[k - 1].real, spectrum[k - 1].imag
        A = np.array([[c, s], [-s, c]])
        means = [np.sin(2 * np.pi * k * z).mean(), np.cos(2 * np.pi * k * z).mean()]
        a, b = 2 * np.linalg.inv(A) @ means
        assert 2 * estimate.coefficients[k - 1].imag == pytest.approx(a)
        assert 2 * estimate.coefficients[k - 1].real == pytest.approx(b)


def test_waves_are_averaged_as_written_also_far_from_the_support() -> None:
    places = np.random.default_rng(2).uniform(-40, 40, 50_000)
    weights = np.full(places.size, 1 / places.size)
    direct = [np.exp(2j * np.pi * k * places).mean() for k in range(1, 41)]
    np.testing.assert_allclose(mean_waves(places, weights, 40), direct, atol=1e-12)


def test_a_density_of_few_waves_is_integrated_exactly() -> None:
    coefficients = np.array([0.2 + 0.1j, -0.05j])
    cuts = np.array([0.0, 0.3, 0.45, 1.0])
    fine = (np.arange(400_000) + 0.5) / 400_000
    density = 1 + 2 * np.real(np.conj(coefficients) @ np.exp(2j * np.pi * np.outer([1, 2], fine)))
    by_sum = [
        density[(fine > low) & (fine < high)].sum() / 400_000
        for low, high in itertools.pairwise(cuts)
    ]
    np.testing.assert_allclose(integrated_series(coefficients, cuts), by_sum, atol=1e-5)


def test_the_inverse_meets_its_limit_and_falls_to_zero_with_the_spectrum() -> None:
    magnitudes = np.array([1.0, 0.2, 0.1, 0.05, 1e-3, 0.0])
    inverse = np.abs(limited_inverse(magnitudes.astype(complex), 10.0))
    np.testing.assert_allclose(inverse, [1, 5, 10, 5, 0.1, 0], atol=1e-12)


def test_every_third_harmonic_is_damped_and_reported_under_uniform_noise() -> None:
    rng = np.random.default_rng(3)
    noise = Uniform(0.0, 20.0)
    z = rng.normal(15, 3, 50_000) + noise.draws(rng, 50_000)
    estimate = direct_estimate(z, noise, uniform_edges(0, 30, 50), harmonics=12)
    assert [damped.harmonic for damped in estimate.damped] == [3, 6, 9, 12]
    for damped in estimate.damped:
        assert damped.noise_spectrum < 1e-12
        assert damped.amplification < 1e-6
        assert abs(estimate.coefficients[damped.harmonic - 1]) < 1e-6
    longer = direct_estimate(
        z, noise, uniform_edges(0, 30, 50), period=clear_period(noise, 30.0, 12)
    )
    assert longer.damped == ()


def test_a_clear_period_is_at_most_two_lengths_and_beats_the_length_itself() -> None:
    rng = np.random.default_rng(4)
    noise, edges = Uniform(0.0, 20.0), uniform_edges(0, 30, 50)
    x = np.where(rng.random(200_000) < 0.5, rng.normal(9, 2, 200_000), rng.normal(20, 2.5, 200_000))
    z = x + noise.draws(rng, x.size)
    truth = np.histogram(x, edges)[0] / x.size
    period = clear_period(noise, 30.0, 12)
    assert 30 <= period <= 60

    def error(period: float | None) -> float:
        estimate = direct_estimate(z, noise, edges, period=period)
        return float(np.abs(estimate.probabilities - truth).sum())

    assert error(period) < 0.15
    assert error(None) > 0.3


def test_a_spectrum_without_zeros_keeps_the_length() -> None:
    assert clear_period(Normal(1.0), 30.0, 12) == 30
    assert clear_period(Normal(100.0), 30.0, 12) == 30


def test_estimates_are_distributions_whatever_the_taper() -> None:
    rng = np.random.default_rng(5)
    z = rng.uniform(0, 25, 5000) + rng.normal(0, 1, 5000)
    edges = uniform_edges(-5, 30, 70)
    for taper in ("none", "fejer", "shrinkage"):
        estimate = direct_estimate(z, Normal(1.0), edges, harmonics=40, taper=taper)
        assert estimate.probabilities.min() >= 0
        assert estimate.probabilities.sum() == pytest.approx(1)


def test_shrinkage_keeps_waves_and_drops_chance() -> None:
    observed = np.array([0.5, 0.001, 0.0])
    weights = taper_weights("shrinkage", observed.astype(complex), 10_000)
    assert weights[0] == pytest.approx(1 - 0.75e-4 / 0.25)
    assert weights[1:].tolist() == [0, 0]
    np.testing.assert_allclose(
        taper_weights("fejer", observed.astype(complex), 1), [0.75, 0.5, 0.25]
    )


def test_a_histogram_of_distinct_values_gives_what_the_records_give() -> None:
    values = np.array([0.1, 0.4, 0.4, 0.9])
    histogram = Histogram(np.array([0.1, 0.4, 0.9]), np.array([1.0, 2.0, 1.0]))
    edges = uniform_edges(0, 1, 5)
    by_records = direct_estimate(values, Normal(0.01), edges, harmonics=3)
    by_counts = direct_estimate(histogram, Normal(0.01), edges, harmonics=3)
    np.testing.assert_allclose(by_counts.coefficients, by_records.coefficients, atol=1e-14)


@pytest.mark.parametrize(
    "options",
    [
        {"harmonics": 0},
        {"harmonics": 10**9},
        {"period": 0.5},
        {"period": float("inf")},
        {"amplification_limit": 0.0},
        {"amplification_limit": float("nan")},
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        direct_estimate(np.array([0.1, 0.2]), Normal(0.01), uniform_edges(0, 1, 5), **options)  # type: ignore[arg-type]  # one dict for options of several types


def test_missing_values_are_refused() -> None:
    with pytest.raises(InvalidTable):
        direct_estimate(np.array([0.1, np.nan]), Normal(0.01), uniform_edges(0, 1, 5))
