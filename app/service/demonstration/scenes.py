"""Scenes of the demonstration: linking persons to rows, and rows that drift away from those first measured.

Links are tried in the copies as issued, by an attacker who knows half of the numbers of a person. Drift is computed from
covariances: rows whose amounts grew are given the noise of the first part, or noise measured on themselves as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.findings import Risk
from app.numerics.attacks.releases.linkage import linkage
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, dominate
from app.service.context import RequestContext
from app.service.copies.generation.sampled_rows import sampled_rows
from app.service.demonstration.pooled_copies import MOST_ROWS
from app.service.demonstration.setup import DemonstrationCopy, the_demonstration
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import reading

GROWTH = (1.0, 1.5, 2.0, 3.0, 4.0)
GROWING = ("income", "rent")


@dataclass(frozen=True)
class LinkScene:
    """Shares of persons whose row is found in each copy."""

    holders: tuple[DemonstrationCopy, ...]
    found: tuple[float, ...]


@dataclass(frozen=True)
class DriftScene:
    """Share of a column's variance that is left when amounts have grown.

    where:
        first     with the noise of the first part
        measured  with noise that is measured on the grown rows too
    """

    column: str
    promised: float
    growth: tuple[float, ...]
    first: tuple[float, ...]
    measured: tuple[float, ...]


def show_scenes(resources: Resources, context: RequestContext) -> tuple[LinkScene, DriftScene]:
    """Attack the principal's demonstration by links and by drift."""
    shown = the_demonstration(resources, context)
    with reading(resources.engine) as connection:
        rows = sampled_rows(resources, connection, shown.dataset, MOST_ROWS)
    links = []
    for one in shown.copies:
        copy = rows.issued(resources, context, one.entry)
        found = linkage(copy, one.level.privacy, rows.rng())
        links.append(next(each for each in found if each.risk is Risk.SINGLING_OUT))
    best = shown.copies[0]
    (protection,) = rows.protections.values()
    noise = protection.applied(best.entry.noise_variance)
    first, measured = _drift(rows.matrix, rows.numbers, protection.matrix, noise)
    with unit_of_work(resources, context) as uow:
        uow.record("demonstration.attack", shown.dataset.id, copies=len(shown.copies))
    return (
        LinkScene(shown.copies, tuple(one.success or 0.0 for one in links)),
        DriftScene(GROWING[0], best.level.privacy, GROWTH, first, measured),
    )


def _drift(
    matrix: FloatArray, names: Sequence[str], shape: FloatArray, noise: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    place, grown = names.index(GROWING[0]), np.isin(names, GROWING)
    first: list[float] = []
    measured: list[float] = []
    for factor in GROWTH:
        later = matrix * np.where(grown, factor, 1.0)
        own = dominate(shape, covariance_shape(row_moments(later)))
        K = np.cov(later.T)
        for found, S in ((first, shape), (measured, own)):
            found.append(float(_left(K, noise * S)[place]))
    return tuple(first), tuple(measured)


def _left(K: FloatArray, N: FloatArray) -> FloatArray:
    """Shares that the best linear guess leaves: 1 - (K·(K + N)⁻¹·K)_jj / K_jj."""
    return 1 - np.diag(K @ np.linalg.solve(K + N, K)) / np.diag(K)
