"""Perturbation of values (additive noise) or categories (one-step scheme).

[wu2003, sections 2 and 4.] Nothing is kept. The seed makes a request repeatable, so it is as secret as the
values: who knows it can take the noise off.

The five perturbations have names, by which a survey keeps the one it was made with.

What a perturbation leaks of one record and loses of the distribution is measured setting by setting [sections 4.2 and
5]: a list of settings over γ, σ or the number of bins is a curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter, InvalidTable, TooLarge
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.deconvolution.bins import checked_edges, checked_values
from app.numerics.deconvolution.noise import Noise
from app.numerics.disclosure import (
    PrivacyLoss,
    additive_privacy_loss,
    expected_one_step_loss,
    one_step_privacy_loss,
    probability_mle_is_right,
)
from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
    steps_per_unit,
)
from app.numerics.indicator.scheme import MOST_BINS, index_of_bin, perturbed_vectors

__all__ = ["Perturbation", "probability_mle_is_right", "steps_per_unit"]

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


MOST_MEASURED_ENTRIES = 40_000_000
"""Entries of all vectors simulated for one request: about five seconds."""
RECORDS = 20_000
MOST_SHARES = 5_000
"""Bins of all settings of one request together."""


@dataclass(frozen=True)
class OneStepSetting:
    """A perturbation of the one-step scheme, and the shares of the bins that it hides."""

    perturbation: Perturbation
    shares: tuple[float, ...]


@dataclass(frozen=True)
class AddedNoiseSetting:
    """Noise added to values that lie in bins between edges with these shares."""

    noise: Noise
    shares: tuple[float, ...]
    edges: tuple[float, ...]


Setting = OneStepSetting | AddedNoiseSetting


@dataclass(frozen=True)
class LossMeasures:
    """Both losses; the information loss has a formula for the one-step scheme only."""

    bins: int
    privacy: PrivacyLoss
    information_loss: float | None


def measure(settings: Sequence[Setting], responses: int, seed: int) -> list[LossMeasures]:
    """Measure privacy loss and information loss of each setting, the latter from a number of responses."""
    if sum(len(one.shares) for one in settings) > MOST_SHARES:
        raise InvalidParameter(
            f"all settings together may have {MOST_SHARES} bins", parameter="settings"
        )
    rng = np.random.default_rng(seed)
    entries = sum(len(one.shares) for one in settings if isinstance(one, OneStepSetting))
    records = min(RECORDS, MOST_MEASURED_ENTRIES // max(1, entries))
    return [_measures(setting, responses, records, rng) for setting in settings]


def _measures(
    setting: Setting, responses: int, records: int, rng: np.random.Generator
) -> LossMeasures:
    shares = _checked_shares(setting.shares)
    if isinstance(setting, OneStepSetting):
        privacy = one_step_privacy_loss(setting.perturbation, shares, rng, records=records)
        lost = expected_one_step_loss(setting.perturbation, shares, responses)
        return LossMeasures(shares.size, privacy, lost)
    edges = checked_edges(setting.edges)
    if edges.size != shares.size + 1:
        raise InvalidParameter("give one share for each bin between the edges", parameter="edges")
    return LossMeasures(shares.size, additive_privacy_loss(setting.noise, shares, edges), None)


def _checked_shares(shares: Sequence[float]) -> FloatArray:
    checked = np.asarray(shares, dtype=np.float64)
    if checked.size < 2 or not np.isfinite(checked).all() or (checked < 0).any():
        raise InvalidParameter("shares are two or more numbers from 0 to 1", parameter="shares")
    if abs(checked.sum() - 1) > 1e-6:
        raise InvalidParameter("the shares of the bins sum to one", parameter="shares")
    scaled: FloatArray = checked / checked.sum()
    return scaled
