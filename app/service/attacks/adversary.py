"""Adversary of attacks and audits: its methods, its knowledge of data and noise, its estimate from copies.

| kind | covariance of a copy's noise |
| --- | --- |
| independent | v·I, or diag(v_1 … v_d) |
| proportional | v·K with K the covariance of the original [huang2005, section 8.1; li2012, section 3.1] |
| covariance | as given, d × d |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.attacks.battery import Attack, Evidence, Options
from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.evidence import (
    CopyGroup,
    Knowledge,
    cornerwave_between,
    independent_between,
    partial_knowledge,
    perfect_knowledge,
    pooled_observation,
)
from app.numerics.attacks.spectral import Selection, fixed_count, largest_gap, share_of_variance
from app.numerics.attacks.univariate import histogram_density
from app.tables.arrays.numbers import NumberTable

NOT_ROUNDING = 1e-9
"""A negative eigenvalue beyond this share of the largest is not one of rounding."""

__all__ = ["Attack", "Options", "Selection", "fixed_count", "largest_gap", "share_of_variance"]


class CopyCorrelation(StrEnum):
    """Correlation of the noises of different copies."""

    INDEPENDENT = "independent"
    CORNER_WAVE = "corner-wave"


@dataclass(frozen=True)
class IndependentNoise:
    """Noise that knows nothing of the other attributes: one variance, or one per attribute."""

    noise_variance: float | tuple[float, ...]


@dataclass(frozen=True)
class ProportionalNoise:
    """Noise in the shape of the data, `noise_variance` times as strong."""

    noise_variance: float


@dataclass(frozen=True)
class GivenNoise:
    """Noise of a covariance that the principal states, d × d."""

    covariance: FloatArray


NoiseModel = IndependentNoise | ProportionalNoise | GivenNoise


def copy_groups(
    models: Sequence[NoiseModel], copies: int, between: CopyCorrelation, d: int
) -> list[CopyGroup]:
    """The copies by the shape of their noise; one model for all, or one for each copy.

    InvalidParameter when models and copies do not match, a covariance is none, or corner-wave noise
    is claimed for copies whose noises have no shape in common.
    """
    if len(models) not in (1, copies):
        raise InvalidParameter(
            f"give one noise model, or one for each of the {copies} disguised tables",
            parameter="noise",
        )
    each = list(models) * copies if len(models) == 1 else list(models)
    alike: dict[type[NoiseModel], list[tuple[int, float]]] = {}
    apart: list[CopyGroup] = []
    for position, model in enumerate(each):
        if isinstance(model, GivenNoise):
            apart.append(CopyGroup((position,), np.eye(1), checked_covariance(model.covariance, d)))
        elif isinstance(model, IndependentNoise) and isinstance(model.noise_variance, tuple):
            shape = np.diag(_variances_for(model.noise_variance, d))
            apart.append(CopyGroup((position,), np.eye(1), shape))
        else:
            assert not isinstance(model.noise_variance, tuple)
            alike.setdefault(type(model), []).append((position, model.noise_variance))
    if between is CopyCorrelation.CORNER_WAVE and (apart or len(alike) > 1):
        raise InvalidParameter(
            "corner-wave copies must all have one kind of noise, with one variance each",
            parameter="between_copies",
        )
    pattern = cornerwave_between if between is CopyCorrelation.CORNER_WAVE else independent_between
    together = [
        CopyGroup(
            tuple(position for position, _ in members),
            pattern(np.array([variance for _, variance in members])),
            np.eye(d) if kind is IndependentNoise else None,
        )
        for kind, members in alike.items()
    ]
    return together + apart


def first_copies(groups: Sequence[CopyGroup], count: int) -> list[CopyGroup]:
    """The same groups, with those of the first `count` copies only."""
    kept = []
    for group in groups:
        here = [i for i, member in enumerate(group.members) if member < count]
        if here:
            members = tuple(group.members[i] for i in here)
            kept.append(CopyGroup(members, group.between[np.ix_(here, here)], group.shape))
    return kept


def checked_covariance(matrix: FloatArray, d: int) -> FloatArray:
    """The matrix, if it is a covariance of d attributes; else InvalidParameter."""
    if matrix.shape != (d, d):
        raise InvalidParameter(
            f"the noise covariance must be {d} × {d}, as there are {d} columns", parameter="noise"
        )
    deviation = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(deviation > 0, deviation, 1.0)
    scaled = matrix / np.outer(scale, scale)
    if not np.allclose(scaled, scaled.T, rtol=0, atol=NOT_ROUNDING):
        raise InvalidParameter("the noise covariance is not symmetric", parameter="noise")
    if np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] < -NOT_ROUNDING * max(1.0, scaled.max()):
        raise InvalidParameter(
            "the noise covariance is not positive semidefinite", parameter="noise"
        )
    symmetric: FloatArray = (matrix + matrix.T) / 2
    return symmetric


def _variances_for(variances: tuple[float, ...], d: int) -> FloatArray:
    if len(variances) != d:
        raise InvalidParameter(
            f"give one noise variance, or {d}: one for each column", parameter="noise"
        )
    return np.array(variances, dtype=float)


class KnowledgeKind(StrEnum):
    """Knowledge of the original's mean, covariance and distributions."""

    PERFECT = "perfect"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class AttackPlan:
    """Attacks, knowledge and scoring."""

    attacks: tuple[Attack, ...] | None = None
    between: CopyCorrelation = CopyCorrelation.INDEPENDENT
    knowledge: KnowledgeKind = KnowledgeKind.ESTIMATED
    sample_rows: int | None = None
    options: Options = field(default_factory=Options)
    known_columns: tuple[str, ...] = ()
    known_proportion: float = 1.0
    confidence: float = 0.95
    seed: int = 0


def gathered(
    copies: Sequence[FloatArray],
    groups: Sequence[CopyGroup],
    plan: AttackPlan,
    original: NumberTable | None,
    rng: np.random.Generator,
) -> Evidence:
    """All that the adversary has: copies pooled, knowledge, and cells that leaked by another way."""
    observation, knowledge = observed(copies, groups, plan, original)
    densities = None
    if plan.knowledge is KnowledgeKind.PERFECT and original is not None:
        densities = [histogram_density(column, plan.options.bins) for column in original.values.T]
    return Evidence(observation, knowledge, densities, _known_cells(original, plan, rng))


def observed(
    copies: Sequence[FloatArray],
    groups: Sequence[CopyGroup],
    plan: AttackPlan,
    original: NumberTable | None,
) -> tuple[Observation, Knowledge]:
    """The copies of these groups as one, and the mean and covariance that go with it."""
    if plan.knowledge is KnowledgeKind.PERFECT and original is not None:
        knowledge = perfect_knowledge(original.values)
        return pooled_observation(copies, groups, knowledge.covariance), knowledge
    sample = slice(0, plan.sample_rows)
    observation = pooled_observation(copies, groups, sample=sample)
    return observation, partial_knowledge(observation, sample)


def _known_cells(
    original: NumberTable | None, plan: AttackPlan, rng: np.random.Generator
) -> FloatArray | None:
    """The cells that leaked: the known columns, in a random share of the rows; NaN elsewhere."""
    if original is None or not plan.known_columns:
        return None
    n = len(original.values)
    rows = rng.permutation(n)[: max(1, round(plan.known_proportion * n))]
    columns = np.array([original.names.index(name) for name in plan.known_columns])
    places = np.ix_(rows, columns)
    known = np.full_like(original.values, np.nan)
    known[places] = original.values[places]
    return known


def warnings_of(knowledge: Knowledge) -> tuple[str, ...]:
    """Return warnings on the adversary's evidence."""
    if not knowledge.projected:
        return ()
    return (
        "the covariance of the disguised rows less that of the noise was indefinite and was projected"
        f" onto the nearest covariance ({knowledge.removed:.1%} of its size removed): too few rows, or"
        " less noise than was stated",
    )
