"""The one-step scheme: unbiased, honest about its errors, and the same from any order of batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidParameter, InvalidTable
from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
)
from app.numerics.indicator.scheme import (
    RunningTotals,
    checked_vectors,
    cut_score,
    estimated_shares,
    index_of_bin,
    perturbed_vectors,
    score_for,
    totals_of,
)

FIVE: dict[str, Perturbation] = {
    "normal": DiscreteNormal(1.0, gamma=0.5),
    "poisson": ScaledPoisson(2.0, gamma=0.25),
    "inverse square": InverseSquare(0.5),
    "inverse cube": InverseCube(),
    "geometric": Geometric(2.0),
}
SHARES = np.array([0.4, 0.3, 0.2, 0.1, 0.0])


@pytest.fixture(params=FIVE, name="perturbation")
def each_of_five(request: pytest.FixtureRequest) -> Perturbation:
    return FIVE[request.param]


def test_the_estimate_is_unbiased_and_its_errors_cover_at_their_nominal_rate(
    perturbation: Perturbation,
) -> None:
    rng = np.random.default_rng(11)
    n, rounds = 400, 300
    deviations, covered, covered_tighter, covered_sample = [], 0.0, 0.0, 0.0
    for _ in range(rounds):
        index = rng.choice(5, n, p=SHARES)
        vectors = perturbed_vectors(index, 5, perturbation, rng)
        estimate = estimated_shares(totals_of(vectors, perturbation), perturbation)
        deviation = estimate.unbiased - SHARES
        deviations.append(deviation)
        covered += (np.abs(deviation) < 1.96 * estimate.standard_errors).mean() / rounds
        covered_tighter += (np.abs(deviation) < 1.3 * estimate.standard_errors).mean() / rounds
        beside = estimate.unbiased - np.bincount(index, minlength=5) / n
        covered_sample += (
            np.abs(beside) < 1.96 * estimate.standard_errors_of_respondents
        ).mean() / rounds
    spread = np.std(deviations, axis=0) / np.sqrt(rounds)
    assert (np.abs(np.mean(deviations, axis=0)) < 4 * spread).all()
    assert covered == pytest.approx(0.95, abs=0.02)
    assert covered_tighter == pytest.approx(0.806, abs=0.03)
    assert covered_sample == pytest.approx(0.95, abs=0.025)


def test_standard_errors_are_those_of_the_estimates(perturbation: Perturbation) -> None:
    rng = np.random.default_rng(12)
    estimates = []
    for _ in range(500):
        vectors = perturbed_vectors(rng.choice(5, 200, p=SHARES), 5, perturbation, rng)
        estimates.append(estimated_shares(totals_of(vectors, perturbation), perturbation).unbiased)
    score = score_for(perturbation)
    blur = SHARES * score.variance_shifted + (1 - SHARES) * score.variance
    formula = np.sqrt((blur / score.slope**2 + SHARES * (1 - SHARES)) / 200)
    assert np.std(estimates, axis=0) == pytest.approx(formula, rel=0.12)
    assert np.std(estimates, axis=0).mean() == pytest.approx(formula.mean(), rel=0.05)


def test_the_estimate_is_the_column_mean_less_the_mean_of_the_noise() -> None:
    perturbation = ScaledPoisson(2.0, gamma=0.25)
    vectors = np.array([[3, 1, 9], [2, 6, 0]])
    estimate = estimated_shares(totals_of(vectors, perturbation), perturbation)
    paper = 0.25 * vectors.mean(axis=0) - 0.25 * 2.0
    np.testing.assert_allclose(estimate.unbiased, paper)
    np.testing.assert_allclose(estimate.shares, np.maximum(paper, 0))


def test_without_a_mean_the_column_means_do_not_settle_but_the_cut_ones_do() -> None:
    rng = np.random.default_rng(13)
    perturbation = InverseSquare()
    plain, cut = [], []
    for _ in range(40):
        vectors = perturbed_vectors(np.zeros(20_000, dtype=np.int64), 3, perturbation, rng)
        plain.append(np.abs(vectors.mean(axis=0) - [1, 0, 0]).max())
        estimate = estimated_shares(totals_of(vectors, perturbation), perturbation)
        cut.append(np.abs(estimate.unbiased - [1, 0, 0]).max())
    assert np.median(plain) > 0.5
    assert max(cut) < 0.06


def test_the_cut_with_the_least_variance_is_taken() -> None:
    for perturbation in (InverseSquare(0.25), InverseCube()):
        chosen = score_for(perturbation)
        for bound in (2, 3, 4, 6, 10, 50, 300):
            other = cut_score(perturbation, bound)
            assert chosen.variance / chosen.slope**2 <= other.variance / other.slope**2 * 1.02


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_totals_do_not_depend_on_batches_or_their_order(sizes: list[int]) -> None:
    perturbation = DiscreteNormal(2.0)
    rng = np.random.default_rng(sizes)
    vectors = perturbed_vectors(rng.integers(0, 4, sum(sizes)), 4, perturbation, rng)
    parts = np.split(vectors, np.cumsum(sizes)[:-1])
    together = RunningTotals(0, np.zeros(4, dtype=np.int64))
    for part in parts[::-1]:
        together = together.plus(totals_of(part, perturbation))
    whole = totals_of(vectors, perturbation)
    assert together.responses == whole.responses
    assert together.totals.tolist() == whole.totals.tolist()


def test_a_perturbed_vector_is_the_indicator_and_noise_alone() -> None:
    perturbation = DiscreteNormal(1.0, gamma=0.25)
    index = np.array([2, 0])
    vectors = perturbed_vectors(index, 3, perturbation, np.random.default_rng(1))
    noise = perturbation.draws(np.random.default_rng(1), (2, 3))
    np.testing.assert_array_equal(vectors - noise, [[0, 0, 4], [4, 0, 0]])


def test_values_fall_into_half_open_bins_the_last_one_closed() -> None:
    edges = np.array([0.0, 1.0, 2.5, 4.0])
    assert index_of_bin([0.0, 1.0, 2.4, 2.5, 4.0], edges).tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("values", [[], [5.0], [-0.1], [float("nan")], [[1.0]]])
def test_values_outside_the_bins_are_refused(values: list[float]) -> None:
    with pytest.raises(InvalidTable):
        index_of_bin(values, np.array([0.0, 1.0, 2.5, 4.0]))


@pytest.mark.parametrize(
    "vectors",
    [
        [[1, 2]],
        [[1, 2, 3, 4]],
        [[1, 2, 3], [1, 2]],
        [1, 2, 3],
        [],
        [[0.5, 1.0, 2.0]],
        [["1", "2", "3"]],
        [[True, False, True]],
        [[1, 2, None]],
        [[0, 0, -1]],
        [[0, 0, 10**6]],
        [[0, 0, 10**30]],
    ],
)
def test_responses_that_the_scheme_does_not_produce_are_refused(vectors: list[list[int]]) -> None:
    with pytest.raises(InvalidTable):
        checked_vectors(vectors, 3, ScaledPoisson(2.0))


def test_responses_of_the_scheme_are_accepted(perturbation: Perturbation) -> None:
    vectors = perturbed_vectors(
        np.zeros(2000, dtype=np.int64), 4, perturbation, np.random.default_rng(3)
    )
    np.testing.assert_array_equal(checked_vectors(vectors.tolist(), 4, perturbation), vectors)


def test_no_response_is_no_estimate() -> None:
    with pytest.raises(InvalidParameter):
        estimated_shares(RunningTotals(0, np.zeros(3, dtype=np.int64)), DiscreteNormal(1.0))
