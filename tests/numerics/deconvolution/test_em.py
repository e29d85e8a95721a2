"""EM on records and on bins: identities between the forms, then what it recovers."""

from __future__ import annotations

import numpy as np
import pytest

from app.errors import InvalidParameter, InvalidTable
from app.numerics.deconvolution.bins import Histogram, histogram_on, uniform_edges
from app.numerics.deconvolution.em import em_on_bins, em_on_records, goes_by_fft, histogram_kernel
from app.numerics.deconvolution.iteration import Stopping, smoothed
from app.numerics.deconvolution.kernel import (
    ChunkedKernel,
    ConvolutionKernel,
    DenseKernel,
    bin_likelihood,
    convolution_kernel,
)
from app.numerics.deconvolution.noise import Discrete, Laplace, Noise, Normal, Triangular, Uniform

NOISES: dict[str, Noise] = {
    "normal": Normal(4.0, mean=0.5),
    "uniform": Uniform(0.0, 6.0),
    "laplace": Laplace(1.5),
    "triangular": Triangular(-4.0, 4.0),
    "discrete": Discrete([-2.0, 0.0, 3.0], [0.3, 0.5, 0.2]),
}
FIXED = Stopping(most_iterations=40, least_gain=None)


def bimodal(rng: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(rng.random(n) < 0.6, rng.normal(8, 2, n), rng.normal(20, 2.5, n))


@pytest.fixture(params=NOISES, name="noise")
def each_noise(request: pytest.FixtureRequest) -> Noise:
    return NOISES[request.param]


@pytest.mark.parametrize("bins", [60, 200])
def test_richardson_lucy_is_em_on_quantised_records(noise: Noise, bins: int) -> None:
    rng = np.random.default_rng(1)
    values = bimodal(rng, 3000) + noise.draws(rng, 3000)
    edges = uniform_edges(-2, 32, bins)
    histogram = histogram_on(values, edges)
    assert goes_by_fft(histogram, edges) == (bins == 200)
    quantised = np.repeat(histogram.centres, histogram.counts.astype(int))
    assert quantised.size == values.size

    on_bins = em_on_bins(histogram, noise, edges, stopping=FIXED)
    on_records = em_on_records(quantised, noise, edges, stopping=FIXED)

    np.testing.assert_allclose(on_bins.probabilities, on_records.probabilities, rtol=0, atol=1e-10)


def test_records_are_counted_on_cells_as_wide_as_the_bins_where_these_are_many(
    noise: Noise,
) -> None:
    rng = np.random.default_rng(9)
    values = bimodal(rng, 3000) + noise.draws(rng, 3000)
    edges = uniform_edges(-2, 32, 120)
    counted_here = em_on_bins(values, noise, edges, stopping=FIXED)
    counted_before = em_on_bins(histogram_on(values, edges), noise, edges, stopping=FIXED)
    np.testing.assert_array_equal(counted_here.probabilities, counted_before.probabilities)


def test_few_bins_do_not_blur_the_values(noise: Noise) -> None:
    rng = np.random.default_rng(10)
    values = bimodal(rng, 3000) + noise.draws(rng, 3000)
    edges = uniform_edges(-2, 32, 8)
    on_bins = em_on_bins(values, noise, edges, stopping=FIXED)
    on_records = em_on_records(values, noise, edges, stopping=FIXED)
    assert np.abs(on_bins.probabilities - on_records.probabilities).sum() < 0.05


def test_one_iteration_is_the_formula_of_the_paper() -> None:
    noise, edges = Normal(1.0), np.array([0.0, 1.0, 3.0, 4.0])
    values = np.array([0.2, 2.5, 3.9, 5.0])
    theta = np.array([0.2, 0.3, 0.2])  # densities: masses 0.2, 0.6, 0.2
    reached = noise.mass(values[:, None] - edges[1:], values[:, None] - edges[:-1])
    widths = np.diff(edges)
    paper = theta / (widths * 4) * (reached / (reached @ theta)[:, None]).sum(axis=0)

    kernel = DenseKernel(bin_likelihood(values, noise, edges), np.full(4, 0.25))
    ours = kernel.explained(theta * widths).shares / widths

    np.testing.assert_allclose(ours, paper, rtol=1e-13)


def test_all_kernels_make_the_same_pass(noise: Noise) -> None:
    rng = np.random.default_rng(2)
    edges = uniform_edges(0, 30, 90)
    histogram = histogram_on(rng.uniform(0, 30, 5000) + noise.draws(rng, 5000), edges)
    weights = histogram.counts / 5000
    probabilities = rng.dirichlet(np.ones(90))
    dense = DenseKernel(bin_likelihood(histogram.centres, noise, edges), weights)
    chunked = ChunkedKernel(histogram.centres, weights, noise, edges)
    by_fft = convolution_kernel(histogram.centres, weights, noise, edges)

    expected = dense.explained(probabilities)
    for kernel in (chunked, by_fft):
        found = kernel.explained(probabilities)
        np.testing.assert_allclose(found.shares, expected.shares, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.predicted, expected.predicted, rtol=1e-9, atol=1e-12)
        assert found.mean_log_likelihood == pytest.approx(expected.mean_log_likelihood)


def test_large_aligned_histograms_go_by_fft_and_others_do_not() -> None:
    edges = uniform_edges(0, 10, 400)
    histogram = Histogram(np.arange(0.5, 500.0) * 0.025, np.ones(500))
    assert isinstance(histogram_kernel(histogram, Normal(1.0), edges), ConvolutionKernel)
    coarse = Histogram(np.arange(0.5, 500.0) * 0.05, np.ones(500))
    assert isinstance(histogram_kernel(coarse, Normal(1.0), edges), DenseKernel)


def test_the_likelihood_never_falls(noise: Noise) -> None:
    rng = np.random.default_rng(3)
    values = bimodal(rng, 2000) + noise.draws(rng, 2000)
    for method in (em_on_bins, em_on_records):
        trace = method(values, noise, uniform_edges(-5, 35, 40), stopping=FIXED).log_likelihoods
        assert (np.diff(trace) > -1e-12).all()


def test_the_distribution_is_recovered_under_every_noise(noise: Noise) -> None:
    rng = np.random.default_rng(4)
    x = bimodal(rng, 100_000)
    edges = uniform_edges(-1, 31, 32)
    truth = np.histogram(x, edges)[0] / x.size
    rules = Stopping(300, least_gain=0.05)
    estimate = em_on_bins(
        x + noise.draws(rng, x.size), noise, edges, stopping=rules, smoothing_bins=0.4
    )
    noisy = np.histogram(x + noise.draws(rng, x.size), edges)[0] / x.size
    error = np.abs(estimate.probabilities - truth).sum() / 2
    assert error < 0.05
    assert error < np.abs(noisy - truth).sum() / 2
    assert estimate.probabilities.sum() == pytest.approx(1)


def test_a_record_that_nothing_explains_is_reported_and_left_out() -> None:
    values = np.array([0.5, 0.6, 0.7, 50.0])
    for method in (em_on_bins, em_on_records):
        estimate = method(values, Uniform(-0.5, 0.5), np.array([0.0, 0.5, 1.0]))
        assert estimate.unexplained == pytest.approx(0.25)
        assert estimate.probabilities.sum() == pytest.approx(1)


def test_an_outlier_does_not_outweigh_the_data_by_fft() -> None:
    rng = np.random.default_rng(5)
    values = np.append(rng.uniform(0, 10, 50_000) + rng.normal(0, 0.5, 50_000), 16.0)
    edges = uniform_edges(-1, 11, 240)
    by_fft = em_on_bins(values, Normal(0.25), edges, stopping=FIXED)
    histogram = histogram_on(values[:-1], edges)
    without = em_on_bins(histogram, Normal(0.25), edges, stopping=FIXED)
    assert np.abs(by_fft.probabilities - without.probabilities).sum() < 1e-3


def test_bins_out_of_reach_of_every_value_are_refused() -> None:
    with pytest.raises(InvalidTable):
        em_on_bins(np.array([1.0, 2.0]), Uniform(-1.0, 1.0), uniform_edges(100, 110, 10))


def test_smoothing_keeps_the_mass_and_a_constant() -> None:
    edges = uniform_edges(0, 1, 50)
    flat = np.full(50, 0.02)
    np.testing.assert_allclose(smoothed(flat, edges, 1.5), flat, rtol=1e-12)
    spike = np.eye(50)[3]
    assert smoothed(spike, edges, 1.5).sum() == pytest.approx(1)
    with pytest.raises(InvalidParameter):
        smoothed(np.array([0.5, 0.5]), np.array([0.0, 1.0, 3.0]), 1.0)


@pytest.mark.parametrize(
    "start", [[0.5, 0.5], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 0.5, 0.5]]
)
def test_a_start_that_is_no_distribution_on_the_bins_is_refused(start: list[float]) -> None:
    with pytest.raises(InvalidParameter):
        em_on_bins(np.array([1.0, 2.0]), Normal(1.0), uniform_edges(0, 3, 3), start=start)


@pytest.mark.parametrize(
    "histogram",
    [
        Histogram(np.array([1.0, 2.0]), np.zeros(2)),
        Histogram(np.array([1.0, 2.0]), np.array([1.0, -1.0])),
        Histogram(np.array([2.0, 1.0]), np.ones(2)),
        Histogram(np.array([1.0, 2.0]), np.ones(3)),
        Histogram(np.array([]), np.array([])),
        Histogram(np.array([1.0, np.inf]), np.ones(2)),
        Histogram(np.array([1.0, 2.0]), np.array([0.4, 0.6])),
        Histogram(np.array([1.0, 2.0]), np.array([1.0, np.nan])),
    ],
)
def test_a_histogram_that_counts_nothing_or_is_out_of_order_is_refused(
    histogram: Histogram,
) -> None:
    with pytest.raises(InvalidTable):
        em_on_bins(histogram, Normal(1.0), uniform_edges(0, 3, 3))


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [[1.0], [2.0]]])
def test_missing_values_are_refused(values: list[float]) -> None:
    for method in (em_on_bins, em_on_records):
        with pytest.raises(InvalidTable):
            method(values, Normal(1.0), uniform_edges(0, 3, 3))


def test_the_discrepancy_rule_stops_where_the_fit_is_as_good_as_chance() -> None:
    rng = np.random.default_rng(6)
    values = rng.uniform(0, 25, 50_000) + rng.normal(0, 1, 50_000)
    edges = uniform_edges(-5, 30, 100)
    rules = Stopping(500, least_gain=None, discrepancy=1.0)
    stopped = em_on_bins(values, Normal(1.0), edges, stopping=rules)
    assert stopped.stopped_by == "discrepancy"
    assert 1 < stopped.iterations < 500
    with pytest.raises(InvalidParameter):
        em_on_records(values, Normal(1.0), edges, stopping=rules)
