"""An adversary: what it is to try, what it knows, and what it makes of the copies in hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.battery import Attack, Evidence, Options
from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.knowledge import Knowledge, partial_knowledge, perfect_knowledge
from app.numerics.attacks.pooling import CopyGroup, pooled_observation
from app.numerics.attacks.univariate import histogram_density
from app.service.attacks.noise_models import Between
from app.tables.arrays.numbers import NumberTable


class KnowledgeKind(StrEnum):
    """What an adversary knows of the original's mean, covariance and distributions."""

    PERFECT = "perfect"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class Plan:
    """Which attacks, with what knowledge, and how they are to be scored."""

    attacks: tuple[Attack, ...] | None = None
    between: Between = Between.INDEPENDENT
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
    plan: Plan,
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
    plan: Plan,
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
    original: NumberTable | None, plan: Plan, rng: np.random.Generator
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
    """What the adversary had to put up with."""
    if not knowledge.projected:
        return ()
    return (
        "the covariance of the disguised rows less that of the noise was indefinite and was projected"
        f" onto the nearest covariance ({knowledge.removed:.1%} of its size removed): too few rows, or"
        " less noise than was stated",
    )
