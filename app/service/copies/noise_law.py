"""The public noise law of a copy: everything about its noise but the draws.

Guarantee 3 assumes an attacker who knows the law, and analysts need it to correct their estimates. It is told to the precision
at which the rows tell it: an exact covariance would tell whoever knows the other rows of a part the last one. A copy in a slot
shows the law of its level, which lies within 1 % of its own: the slot is known to nobody but the owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.errors import Hidden
from app.numerics.arrays import FloatArray
from app.numerics.copies.donors import NO_PARENT
from app.numerics.copies.records import COLUMN_EVENT_RATE, kept_share
from app.service.context import RequestContext, released_columns
from app.service.copies.generation.history import (
    LAW_WITHHELD,
    may_know_noise,
    permitted,
    promised_variance,
)
from app.service.datasets.protection.donor_pool import Donors
from app.service.datasets.protection.part_protection import PartProtection, open_protections
from app.service.resources import Resources
from app.store.database.datasets import datasets
from app.store.database.engine import reading


@dataclass(frozen=True)
class PartNoise:
    """The noise law of rows that were measured together.

    where:
        rows              ordinals [first, last) of runs of rows
        applied_variance  a, in units of the noise's shape S
        covariance        a·S of the columns, (d, d), on their scales
        kept_share        q, the share of records that no record event replaced; under formal protection that of
                          cells shown without having been drawn
    """

    rows: tuple[tuple[int, int], ...]
    applied_variance: float
    covariance: tuple[tuple[float, ...], ...]
    kept_share: float


@dataclass(frozen=True)
class NoiseLaw:
    """Return the noise law of a copy, in the columns that a principal may have.

    where:
        columns            names of the columns with noise, in the order of the covariances
        scale_units        of their log scales, on which the noise is added; None on the linear scale
        records            names of the columns whose cells are replaced
        record_event_rate, column_event_rate  of all of these together and of each, on the axis ln(1 + a)
        categories         their declared values, from which replacements are drawn evenly (formal protection)
        donor_pairs        pairs of records' columns that an edge joins in the tree which donors are drawn along
        withheld_pairs     pairs that the tree joins by columns which are withheld
    """

    copy: str
    noise_variance: float
    columns: tuple[str, ...]
    scale_units: tuple[float | None, ...]
    records: tuple[str, ...]
    record_event_rate: float
    column_event_rate: float
    categories: dict[str, tuple[str, ...]] | None
    donor_pairs: tuple[tuple[str, str], ...]
    withheld_pairs: tuple[tuple[str, str], ...]
    parts: tuple[PartNoise, ...]


def noise_covariance(
    protection: PartProtection, noise_variance: float, names: Sequence[str]
) -> FloatArray:
    """Return a·S of these columns at a level, (d, d)."""
    places = [protection.numeric.index(name) for name in names]
    S = protection.matrix[np.ix_(places, places)]
    return np.asarray(protection.applied(noise_variance) * S)


def show_noise_law(resources: Resources, context: RequestContext, copy_id: str) -> NoiseLaw:
    """Return the noise law to principals who may have the copy; Hidden where its owner withholds it."""
    with reading(resources.engine) as connection:
        entry, dataset, grant = permitted(connection, context, copy_id)
        if not may_know_noise(dataset, grant):
            raise Hidden(LAW_WITHHELD)
        since = 0 if grant is None else grant.first_row
        parts = [part for part in datasets.parts(connection, dataset.id) if part.end_row > since]
        known = open_protections(resources, connection, dataset.id, parts)
        variance = promised_variance(connection, entry)
    released = [column.name for column in released_columns(dataset, grant)]
    runs: dict[str, list[tuple[int, int]]] = {}
    protections = {}
    for part in parts:
        protection = known[part.number].published
        protections[protection.hash] = protection
        first = max(part.first_row, since)
        runs.setdefault(protection.hash, []).append((first, part.end_row))
    frozen = next(iter(protections.values()), None)
    declared = None if frozen is None else frozen.declared
    columns = tuple(one for one in released if frozen is not None and one in frozen.numeric)
    units = {} if frozen is None else dict(zip(frozen.numeric, frozen.scale_units, strict=True))
    records = tuple(one for one in released if frozen is not None and one in frozen.records)
    donors = None if frozen is None else frozen.donors
    known_pairs, withheld_pairs = ((), ()) if donors is None else _donor_pairs(donors, records)
    return NoiseLaw(
        copy=copy_id,
        noise_variance=variance,
        columns=columns,
        scale_units=tuple(units[name] for name in columns),
        records=records,
        record_event_rate=1.0 if declared is None else 0.0,
        column_event_rate=COLUMN_EVENT_RATE if declared is None else 1.0,
        categories=None if declared is None else {name: declared.values[name] for name in records},
        donor_pairs=known_pairs,
        withheld_pairs=withheld_pairs,
        parts=tuple(
            _part_noise(protections[hash_], variance, columns, ranges)
            for hash_, ranges in runs.items()
        ),
    )


Pairs = tuple[tuple[str, str], ...]


def _donor_pairs(donors: Donors, released: Sequence[str]) -> tuple[Pairs, Pairs]:
    """The tree's edges between released columns, and between those that meet in withheld ones.

    It is the tree's shape, without a count: whoever knows which columns tell most of each other knows it.
    """
    names = tuple(donors.values)
    edges = [(names[k], names[j]) for j, k in enumerate(donors.counts.parents) if k != NO_PARENT]
    meet: dict[str, set[str]] = {name: {name} for name in names if name not in released}
    for one, other in edges:
        if one in meet and other in meet:
            together = meet[one] | meet[other]
            meet |= dict.fromkeys(together, together)
    withheld: set[tuple[str, str]] = set()
    for group in {frozenset(group) for group in meet.values()}:
        around = sorted(
            {there for edge in edges for here, there in (edge, edge[::-1]) if here in group} - group
        )
        withheld |= set(pairwise(around))
    known = tuple(edge for edge in edges if not set(edge) & set(meet))
    return known, tuple(sorted(withheld))


def _part_noise(
    protection: PartProtection,
    noise_variance: float,
    columns: Sequence[str],
    rows: Sequence[tuple[int, int]],
) -> PartNoise:
    a = protection.applied(noise_variance)
    covariance = noise_covariance(protection, noise_variance, columns)
    return PartNoise(
        rows=tuple(rows),
        applied_variance=a,
        covariance=tuple(tuple(line) for line in covariance.tolist()),
        kept_share=kept_share(a),
    )
