"""Guessing one record's bin: the paper's rules, the chance to be right, and its fall with the bins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.disclosure import (
    log_ratio,
    posterior,
    probability_map_is_right,
    probability_mle_is_right,
)
from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
)
from app.numerics.indicator.scheme import perturbed_vectors

FIVE: dict[str, Perturbation] = {
    "normal": DiscreteNormal(1.0, gamma=0.5),
    "poisson": ScaledPoisson(2.0, gamma=0.5),
    "inverse square": InverseSquare(),
    "inverse cube": InverseCube(),
    "geometric": Geometric(2.0),
}
PRIOR = np.array([0.4, 0.3, 0.2, 0.1])


def records(
    perturbation: Perturbation, n: int, bins: int = 4
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], ...]:
    rng = np.random.default_rng(5)
    index = rng.choice(bins, n, p=PRIOR if bins == 4 else None)
    return index, perturbed_vectors(index, bins, perturbation, rng)


def guesses(
    vectors: IntArray,
    perturbation: Perturbation,
    rng: np.random.Generator,
    *,
    prior: FloatArray | None = None,
) -> IntArray:
    """The guessed bin of each record (n,): MLE, or MAP with a prior; ties are broken by lot."""
    scores = log_ratio(vectors, perturbation)
    if prior is not None:
        with np.errstate(divide="ignore"):
            scores = scores + np.log(prior)
    best = scores == scores.max(axis=1, keepdims=True)
    lots = np.where(best, rng.random(scores.shape), -1.0)
    chosen: IntArray = lots.argmax(axis=1)
    return chosen


def test_the_mle_of_the_inverse_cube_is_the_smallest_entry_of_at_least_two() -> None:
    _, vectors = records(InverseCube(), 3000)
    guessed = guesses(vectors, InverseCube(), np.random.default_rng(1))
    smallest = np.where(vectors >= 2, vectors, np.iinfo(np.int64).max).min(axis=1)
    assert (vectors[np.arange(3000), guessed] == smallest).all()


def test_the_map_of_the_geometric_is_the_likeliest_bin_that_is_not_zero() -> None:
    _, vectors = records(Geometric(2.0), 3000)
    guessed = guesses(vectors, Geometric(2.0), np.random.default_rng(1), prior=PRIOR)
    assert (guessed == np.argmax(vectors >= 1, axis=1)).all()


@pytest.mark.parametrize("name", FIVE)
def test_the_exact_chance_of_the_mle_is_the_simulated_one(name: str) -> None:
    for bins in (2, 4):
        index, vectors = records(FIVE[name], 20_000, bins)
        right = guesses(vectors, FIVE[name], np.random.default_rng(2)) == index
        exact = probability_mle_is_right(FIVE[name], bins)
        assert right.mean() == pytest.approx(exact, abs=4 * np.sqrt(0.25 / right.size))


def test_the_chance_of_the_mle_agrees_with_enumeration() -> None:
    perturbation = Geometric(3.0)
    steps = np.arange(12)
    under_w = np.exp(perturbation.log_mass(steps))
    ratio = log_ratio(steps, perturbation)
    by_enumeration = 0.0
    for true, other_1, other_2 in itertools.product(steps[1:], steps, steps):
        weight = under_w[true - 1] * under_w[other_1] * under_w[other_2]
        ties = 1 + sum(np.isclose(ratio[other], ratio[true]) for other in (other_1, other_2))
        beaten = max(ratio[other_1], ratio[other_2]) > ratio[true] + 1e-9
        by_enumeration += 0.0 if beaten else weight / ties
    assert probability_mle_is_right(perturbation, 3) == pytest.approx(by_enumeration, abs=1e-4)


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_the_closed_form_of_the_map_is_the_simulated_one(gamma: float) -> None:
    perturbation = Geometric(1.6, gamma)
    index, vectors = records(perturbation, 40_000)
    right = guesses(vectors, perturbation, np.random.default_rng(3), prior=PRIOR) == index
    exact = probability_map_is_right(perturbation, PRIOR)
    assert right.mean() == pytest.approx(exact, abs=0.01)
    assert posterior(vectors, perturbation, PRIOR).max(axis=1).mean() == pytest.approx(
        exact, abs=0.01
    )


def test_right_guesses_vanish_as_the_bins_grow() -> None:
    by_mle = [probability_mle_is_right(InverseCube(), bins) for bins in (2, 10, 100, 1000, 10_000)]
    by_map = [
        probability_map_is_right(Geometric(2.0), np.full(bins, 1 / bins))
        for bins in (2, 10, 100, 1000)
    ]
    assert by_mle == sorted(by_mle, reverse=True)
    assert by_mle[-1] < 0.02
    assert by_map == sorted(by_map, reverse=True)
    assert by_map[-1] == pytest.approx(2 / 1000, rel=1e-6)


def test_posteriors_are_bayes() -> None:
    perturbation = ScaledPoisson(1.5)
    vectors = np.array([[2, 0, 1], [0, 3, 3]])
    prior = np.array([0.5, 0.5, 0.0])
    likelihood = np.array(
        [
            [
                np.exp(perturbation.log_mass(vector - np.eye(3, dtype=np.int64)[j])).prod()
                for j in range(3)
            ]
            for vector in vectors
        ]
    )
    bayes = prior * likelihood / (likelihood @ prior)[:, None]
    np.testing.assert_allclose(posterior(vectors, perturbation, prior), bayes, atol=1e-14)
