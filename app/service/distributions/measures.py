"""What a perturbation leaks of one record and loses of the distribution, setting by setting.

[wu2003, sections 4.2 and 5.] A list of settings over γ, σ or the number of bins is a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.deconvolution.bins import checked_edges
from app.numerics.deconvolution.noise import Noise
from app.numerics.disclosure import (
    PrivacyLoss,
    additive_privacy_loss,
    expected_one_step_loss,
    one_step_privacy_loss,
)
from app.numerics.indicator.perturbations import Perturbation

MOST_ENTRIES = 40_000_000
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
class Measures:
    """Both losses; the information loss has a formula for the one-step scheme only."""

    bins: int
    privacy: PrivacyLoss
    information_loss: float | None


def measure(settings: Sequence[Setting], responses: int, seed: int) -> list[Measures]:
    """The measures of each setting; the information loss is that from so many responses."""
    if sum(len(one.shares) for one in settings) > MOST_SHARES:
        raise InvalidParameter(
            f"all settings together may have {MOST_SHARES} bins", parameter="settings"
        )
    rng = np.random.default_rng(seed)
    entries = sum(len(one.shares) for one in settings if isinstance(one, OneStepSetting))
    records = min(RECORDS, MOST_ENTRIES // max(1, entries))
    return [_measures(setting, responses, records, rng) for setting in settings]


def _measures(setting: Setting, responses: int, records: int, rng: np.random.Generator) -> Measures:
    shares = _checked_shares(setting.shares)
    if isinstance(setting, OneStepSetting):
        privacy = one_step_privacy_loss(setting.perturbation, shares, rng, records=records)
        lost = expected_one_step_loss(setting.perturbation, shares, responses)
        return Measures(shares.size, privacy, lost)
    edges = checked_edges(setting.edges)
    if edges.size != shares.size + 1:
        raise InvalidParameter("give one share for each bin between the edges", parameter="edges")
    return Measures(shares.size, additive_privacy_loss(setting.noise, shares, edges), None)


def _checked_shares(shares: Sequence[float]) -> FloatArray:
    checked = np.asarray(shares, dtype=np.float64)
    if checked.size < 2 or not np.isfinite(checked).all() or (checked < 0).any():
        raise InvalidParameter("shares are two or more numbers from 0 to 1", parameter="shares")
    if abs(checked.sum() - 1) > 1e-6:
        raise InvalidParameter("the shares of the bins sum to one", parameter="shares")
    scaled: FloatArray = checked / checked.sum()
    return scaled
