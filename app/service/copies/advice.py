"""Advice on a level before its copy is issued: warnings for the owner.

Where numbers and categories tell of each other, more noise is applied than the level's own; some columns cause that,
and leaving one of them out would save it. And a share of variance is promised to linear guesses: other guesses at
skewed, discrete or sorted columns may leave less, and how much is measured on a copy that is simulated and thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.errors import NotReleasable
from app.model import Dataset, Scale
from app.numerics.attacks.releases.findings import Finding, Verdict
from app.numerics.copies.applied import applied_variance
from app.service.copies.generation.sampled_rows import SampledRows, sampled_rows
from app.service.resources import Resources
from app.store.database.engine import reading

MUCH_MORE = 1.5
"""Times the level's own variance, from which on the columns behind it are named."""

MOST_NAMED = 10


@dataclass(frozen=True)
class VarianceDriver:
    """A column that needs more than 1.5·v by itself, and what would be applied without it."""

    column: str
    applied_variance: float
    applied_variance_without: float


@dataclass(frozen=True)
class ColumnNoise:
    """The standard deviation of a number's noise, in its own unit or on the log scale in octaves, and of what is
    left of it to an insider who knows all other columns of the row."""

    column: str
    standard_deviation: float
    known_others: float
    scale: Scale


@dataclass(frozen=True)
class Advice:
    """Advice to the owner on the cost and the limits of a level.

    where:
        applied_variance  applied noise variance of the first part
        noise             noise of each numeric column
        weakly_protected  findings below the promised variance, worst first
    """

    applied_variance: float
    driven_by: tuple[VarianceDriver, ...]
    noise: tuple[ColumnNoise, ...]
    weakly_protected: tuple[Finding, ...]


def advise(resources: Resources, dataset: Dataset, noise_variance: float) -> Advice | None:
    """Advice on a level of a data set; None while nothing of it can be released."""
    try:
        with reading(resources.engine) as connection:
            rows = sampled_rows(resources, connection, dataset)
    except NotReleasable:
        return None
    (copy,) = rows.simulated([noise_variance])
    findings = rows.attacked(copy, noise_variance)
    return advice_on(rows, noise_variance, findings)


def advice_on(rows: SampledRows, noise_variance: float, findings: Sequence[Finding]) -> Advice:
    """Advice that follows from what attackers found in a copy of the level."""
    first = rows.protections[min(rows.protections)]
    applied = first.applied(noise_variance)
    spread = np.sqrt(applied * first.variances)
    inverse = np.linalg.inv(first.factor / np.sqrt(first.variances)[:, None])
    given = spread / np.sqrt((inverse**2).sum(axis=0))
    scales = [Scale.LINEAR if unit is None else Scale.LOG for unit in first.scale_units]
    return Advice(
        applied_variance=applied,
        driven_by=_drivers(rows, noise_variance) if applied > MUCH_MORE * noise_variance else (),
        noise=tuple(map(ColumnNoise, rows.numbers, spread.tolist(), given.tolist(), scales)),
        weakly_protected=tuple(one for one in findings if one.verdict is not Verdict.OK)[
            :MOST_NAMED
        ],
    )


def _drivers(rows: SampledRows, noise_variance: float) -> tuple[VarianceDriver, ...]:
    """The columns by which numbers and categories tell most of each other."""
    found = (
        VarianceDriver(
            name,
            applied_variance(noise_variance, own),
            applied_variance(noise_variance, without),
        )
        for name, own, without in rows.associations
    )
    return tuple(one for one in found if one.applied_variance > MUCH_MORE * noise_variance)
