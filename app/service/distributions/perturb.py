"""Perturb values or categories: by adding noise, or to the vectors of the one-step scheme.

[wu2003, sections 2 and 4.] Nothing is kept. The seed makes a request repeatable, so it is as secret as the
values: who knows it can take the noise off.

The five perturbations have names, by which a survey keeps the one it was made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter, InvalidTable, TooLarge
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.deconvolution.bins import checked_edges, checked_values
from app.numerics.deconvolution.noise import Noise
from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
)
from app.numerics.indicator.scheme import MOST_BINS, index_of_bin, perturbed_vectors

KINDS: Mapping[str, Any] = {
    "discrete_normal": DiscreteNormal,
    "poisson": ScaledPoisson,
    "inverse_square": InverseSquare,
    "inverse_cube": InverseCube,
    "geometric": Geometric,
}


def perturbation_of(description: Mapping[str, str | float]) -> Perturbation:
    """The perturbation that `described` wrote down; InvalidParameter if a parameter is unusable."""
    parameters = dict(description)
    made: Perturbation = KINDS[str(parameters.pop("kind"))](**parameters)
    return made


def described(perturbation: Any) -> dict[str, str | float]:
    """Its kind and parameters, as JSON keeps them."""
    kind = next(name for name, made in KINDS.items() if isinstance(perturbation, made))
    return {"kind": kind, **asdict(perturbation)}


MOST_ENTRIES = 4_000_000
"""Entries of all vectors of an answer together: about 16 MB of JSON."""


def add_noise(values: npt.ArrayLike, noise: Noise, seed: int) -> FloatArray:
    """z = x + y, (n,)."""
    records = checked_values(values)
    perturbed: FloatArray = records + noise.draws(np.random.default_rng(seed), records.size)
    return perturbed


def perturb_values(
    values: npt.ArrayLike, edges: Sequence[float], perturbation: Perturbation, seed: int
) -> IntArray:
    """A noisy indicator vector for each value, (n, k), in steps of γ."""
    bins = checked_edges(edges)
    return _vectors(index_of_bin(values, bins), bins.size - 1, perturbation, seed)


def perturb_categories(
    answers: Sequence[str], categories: Sequence[str], perturbation: Perturbation, seed: int
) -> IntArray:
    """A noisy indicator vector for each answer, (n, k); InvalidTable if one is no category."""
    places = {category: place for place, category in enumerate(categories)}
    if len(places) != len(categories):
        raise InvalidParameter("a category is named twice", parameter="categories")
    if not answers:
        raise InvalidTable("There are no answers to perturb.")
    index = np.array([places.get(answer, -1) for answer in answers], dtype=np.int64)
    if (index < 0).any():
        raise InvalidTable("Some answers are none of the categories.", rows=int((index < 0).sum()))
    return _vectors(index, len(categories), perturbation, seed)


def _vectors(index: IntArray, bins: int, perturbation: Perturbation, seed: int) -> IntArray:
    if not 2 <= bins <= MOST_BINS:
        raise InvalidParameter(f"a vector has 2 to {MOST_BINS} bins", parameter="bins", bins=bins)
    if index.size * bins > MOST_ENTRIES:
        raise TooLarge(
            f"an answer holds {MOST_ENTRIES} entries; send fewer values at once",
            limit_entries=MOST_ENTRIES,
        )
    return perturbed_vectors(index, bins, perturbation, np.random.default_rng(seed))
