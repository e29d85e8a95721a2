"""Privacy loss of the one-step scheme: mutual information and right guesses, and their curves.

[wu2003, section 4.2.] The chance that the MLE is right is exact; the rest is the mean over simulated
records of a function of the whole posterior, which varies less than counting right guesses would.

| symbol | here |
| --- | --- |
| I(X; Z), bits | H(prior) - E H(posterior) |
| Pr(MAP right) | E max_j posterior_j |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray
from app.numerics.disclosure.guessing import (
    posterior,
    probability_map_is_right,
    probability_mle_is_right,
)
from app.numerics.indicator import Geometric, Perturbation, perturbed_vectors

BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Measured:
    """A mean with its standard error, zero where the value is exact."""

    value: float
    standard_error: float = 0.0


@dataclass(frozen=True)
class PrivacyLoss:
    """What one record's vector tells about its bin; `by_chance` is the best guess without it."""

    mutual_information_bits: Measured
    right_by_mle: Measured
    right_by_map: Measured
    by_chance: float

    @property
    def share(self) -> float:
        """1 - 2^(-I): the privacy loss between 0 and 1 that mutual information stands for."""
        return float(1 - 2 ** -max(self.mutual_information_bits.value, 0.0))


def one_step_privacy_loss(
    perturbation: Perturbation,
    prior: FloatArray,
    rng: np.random.Generator,
    *,
    records: int = 20_000,
) -> PrivacyLoss:
    """The privacy loss of one record whose bin follows `prior` (k,), from `records` simulated ones."""
    entropies, largest = [], []
    rows = max(1, BLOCK_ENTRIES // prior.size)
    for first in range(0, records, rows):
        count = min(rows, records - first)
        index = rng.choice(prior.size, count, p=prior)
        vectors = perturbed_vectors(index, prior.size, perturbation, rng)
        after = posterior(vectors, perturbation, prior)
        entropies.append(special.entr(after).sum(axis=1) / np.log(2))
        largest.append(after.max(axis=1))
    entropy = _mean(np.concatenate(entropies))
    before = float(special.entr(prior).sum() / np.log(2))
    by_map = (
        Measured(probability_map_is_right(perturbation, prior))
        if isinstance(perturbation, Geometric)
        else _mean(np.concatenate(largest))
    )
    return PrivacyLoss(
        mutual_information_bits=Measured(before - entropy.value, entropy.standard_error),
        right_by_mle=Measured(probability_mle_is_right(perturbation, prior.size)),
        right_by_map=by_map,
        by_chance=float(prior.max()),
    )


def _mean(sample: FloatArray) -> Measured:
    return Measured(float(sample.mean()), float(sample.std() / np.sqrt(sample.size)))
