"""What a caller says of the noise of disguised copies, made into groups of copies.

| kind | covariance of a copy's noise |
| --- | --- |
| independent | v·I, or diag(v_1 … v_d) |
| proportional | v·K with K the covariance of the original [huang2005, section 8.1; li2012, section 3.1] |
| covariance | as given, d × d |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.attacks.pooling import CopyGroup, cornerwave_between, independent_between

NOT_ROUNDING = 1e-9
"""A negative eigenvalue beyond this share of the largest is not one of rounding."""


class Between(StrEnum):
    """How the noises of different copies go together."""

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
    """Noise of a covariance that the caller states, d × d."""

    covariance: FloatArray


NoiseModel = IndependentNoise | ProportionalNoise | GivenNoise


def copy_groups(
    models: Sequence[NoiseModel], copies: int, between: Between, d: int
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
    if between is Between.CORNER_WAVE and (apart or len(alike) > 1):
        raise InvalidParameter(
            "corner-wave copies must all have one kind of noise, with one variance each",
            parameter="between_copies",
        )
    pattern = cornerwave_between if between is Between.CORNER_WAVE else independent_between
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
