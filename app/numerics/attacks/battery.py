"""Registry of the reconstruction attacks by name, called alike [huang2005, li2012].

| word | meaning |
| --- | --- |
| attack | a reconstruction that can be asked for by name |
| evidence | what the adversary has: the copies pooled into one, and what it knows of the original |
| options | choices within an attack, each with a default |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.closed_forms import linear_estimate_error, ndr_error, pca_error
from app.numerics.attacks.estimation import (
    LinearEstimate,
    Observation,
    disclosed_estimate,
    linear_estimate,
    serial_smoothing,
)
from app.numerics.attacks.evidence import Knowledge
from app.numerics.attacks.mixture import mixture_reconstruction
from app.numerics.attacks.spectral import (
    Selection,
    largest_gap,
    pca_reconstruction,
    spectral_filter,
)
from app.numerics.attacks.univariate import (
    Density,
    estimated_densities,
    noise_distribution_reconstruction,
    univariate_distribution_reconstruction,
)


class Attack(StrEnum):
    """The attacks by the names that papers and requests use."""

    NDR = "ndr"
    UDR = "udr"
    SF = "sf"
    PCA_DR = "pca-dr"
    BE_DR = "be-dr"
    PARTIAL_DISCLOSURE = "partial-disclosure"
    SERIAL_SMOOTHING = "serial-smoothing"
    MIXTURE = "mixture"


@dataclass(frozen=True)
class Evidence:
    """Evidence of the adversary."""

    observation: Observation
    knowledge: Knowledge
    densities: Sequence[Density] | None = None
    """f_X of every attribute where it is known; otherwise UDR estimates it."""
    known_cells: FloatArray | None = None
    """True cells that leaked by another way, n × d, NaN elsewhere."""


@dataclass(frozen=True)
class Options:
    """Choices within the attacks."""

    select: Selection = largest_gap
    bins: int = 50
    reach: int = 3
    components: int = 4


def reconstruction(
    attack: Attack, evidence: Evidence, options: Options, rng: np.random.Generator
) -> FloatArray:
    """The attack's answer, n × d. Only the mixture draws from `rng`."""
    observation, knowledge = evidence.observation, evidence.knowledge
    match attack:
        case Attack.NDR:
            answer = noise_distribution_reconstruction(observation)
        case Attack.UDR:
            densities = evidence.densities or estimated_densities(observation, options.bins)
            answer = univariate_distribution_reconstruction(observation, densities)
        case Attack.SF:
            answer = spectral_filter(observation)
        case Attack.PCA_DR:
            answer = pca_reconstruction(observation, knowledge, options.select)
        case Attack.BE_DR:
            answer = bayes_estimate(evidence).values
        case Attack.PARTIAL_DISCLOSURE:
            if evidence.known_cells is None:
                raise ValueError("partial disclosure needs cells that are known")
            answer = disclosed_estimate(bayes_estimate(evidence), evidence.known_cells)
        case Attack.SERIAL_SMOOTHING:
            answer = serial_smoothing(observation, options.reach)
        case Attack.MIXTURE:
            answer = mixture_reconstruction(observation, knowledge, options.components, rng)
    return answer


def bayes_estimate(evidence: Evidence) -> LinearEstimate:
    """BE-DR: the LLSE from the pooled copies [huang2005, eqs. 11 and 13; li2012, eqs. 6 and 7]."""
    observation, knowledge = evidence.observation, evidence.knowledge
    return linear_estimate(
        observation.values, knowledge.mean, knowledge.covariance, observation.noise_covariance
    )


def expected_error(
    attack: Attack, evidence: Evidence, options: Options, perfect: Knowledge
) -> float | None:
    """The mean squared error over all cells that theory expects, where it has a formula.

    NDR leaves the noise, PCA-DR follows theorem 5.2 of huang2005 with what it drops, BE-DR eq. 7 of
    li2012, of which eq. 8 and theorems 3 and 4 are cases; all with perfect knowledge, which an
    adversary who estimates can approach but not have. None where errors depend on more than that.
    """
    noise = evidence.observation.noise_covariance
    match attack:
        case Attack.NDR:
            return ndr_error(noise)
        case Attack.PCA_DR if noise.any():
            return pca_error(perfect.covariance, noise, options.select)
        case Attack.PCA_DR:
            return 0.0
        case Attack.BE_DR:
            return linear_estimate_error(perfect.covariance, noise)
        case _:
            return None
