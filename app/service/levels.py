"""Levels: the owner's mapping from trust to noise variance."""

from __future__ import annotations

import math

from app.errors import InvalidParameter, LevelIssued
from app.model import Level
from app.service.access import owned_and_locked, visible
from app.service.asking import Ask, work
from app.service.naming import checked_name
from app.service.resources import Resources
from app.store import levels
from app.store.engine import reading

SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-9, 1e9


def put_level(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    name: str,
    *,
    noise_variance: float | None,
    privacy: float | None,
) -> Level:
    """Define a level by its variance or its privacy; a level already issued stays as it is."""
    checked_name("level", name)
    variance = chosen_variance(noise_variance, privacy)
    with work(resources, ask) as under_way:
        owned_and_locked(under_way.connection, ask, dataset_id)
        known = levels.one(under_way.connection, dataset_id, name)
        if known is not None and known.issued and known.noise_variance != variance:
            raise LevelIssued(
                f"a copy of level {name!r} was issued, so its variance cannot change", level=name
            )
        levels.put(under_way.connection, dataset_id, name, variance)
        under_way.record("level.put", dataset_id, level=name, noise_variance=variance)
    return Level(name, variance, known is not None and known.issued)


def list_levels(resources: Resources, ask: Ask, dataset_id: str) -> list[Level]:
    """The levels of a data set; a recipient sees the one it was granted."""
    with reading(resources.engine) as connection:
        _, grant = visible(connection, ask, dataset_id)
        found = levels.of(connection, dataset_id)
    return [level for level in found if grant is None or level.name == grant.level]


def chosen_variance(noise_variance: float | None, privacy: float | None) -> float:
    """v as given, or v = e/(1-e) for a privacy e in (0, 1) [li2012, eq. 9]."""
    if (noise_variance is None) == (privacy is None):
        raise InvalidParameter("give either noise_variance or privacy", parameter="noise_variance")
    if privacy is not None:
        if not 0 < privacy < 1:
            raise InvalidParameter("privacy must lie between 0 and 1", parameter="privacy")
        # Fifteen digits: a privacy of 0.6 means a variance of 1.5, not of 1.4999999999999998.
        return checked_variance(float(f"{privacy / (1 - privacy):.15g}"), "privacy")
    assert noise_variance is not None
    return checked_variance(noise_variance, "noise_variance")


def checked_variance(variance: float, parameter: str) -> float:
    """The variance, if it is a positive number in the range that doubles can carry a copy of."""
    if not math.isfinite(variance) or not SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE:
        raise InvalidParameter(
            f"{parameter} must give a noise variance from {SMALLEST_VARIANCE:g} to"
            f" {LARGEST_VARIANCE:g} times the data's own",
            parameter=parameter,
        )
    return variance
