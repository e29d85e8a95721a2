"""Issuing copies: at most one draw for each variance, written to the history before it can be used.

The history entry is the copy: it is committed here, and only what is committed can be downloaded
(invariant 1). The data set is locked from the look at the history to the commit (invariant 2), so a
variance is drawn once whoever asks at once (invariant 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from app.errors import Hidden, InvalidParameter, NotFound, Refusal
from app.model import Copy, Dataset, Grant, Role
from app.numerics.multilevel import sequential_order
from app.numerics.noise import RECIPE
from app.service.access import visible
from app.service.asking import Ask, new_id, work
from app.service.copies import copy_of, granted_variance, refuse_auditors, whole_history
from app.service.levels import checked_variance
from app.service.resources import Resources
from app.service.shape import frozen_shape, open_shape
from app.service.statistics import open_statistics
from app.store import datasets, history, levels
from app.store.engine import reading

MOST_IN_A_BATCH = 1_000


class Algorithm(StrEnum):
    """How a batch is drawn: in the order asked (algorithm 1 of li2012), or ascending (2).

    Both give the same distribution. Drawn in ascending order on an empty history, every copy is the
    one before it plus independent noise, and costs one more draw than it.
    """

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True)
class Wanted:
    """A copy asked for: by the name of a level or, for owners, by its variance."""

    level: str | None = None
    noise_variance: float | None = None


@dataclass(frozen=True)
class Issued:
    """A copy, and whether this request was the first to ask for its variance."""

    copy: Copy
    first: bool


def issue_copy(resources: Resources, ask: Ask, dataset_id: str, wanted: Wanted) -> Issued:
    """The copy of a level or variance, drawn now if it never was."""
    return _issue(resources, ask, dataset_id, [wanted], Algorithm.PARALLEL)[0]


def issue_batch(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    wanted: Sequence[Wanted],
    algorithm: Algorithm,
) -> list[Issued]:
    """Copies of several levels, in the order asked: all of them, or none where one is refused."""
    if not 0 < len(wanted) <= MOST_IN_A_BATCH:
        raise InvalidParameter(
            f"a batch has 1 to {MOST_IN_A_BATCH} levels", parameter="levels", limit=MOST_IN_A_BATCH
        )
    return _issue(resources, ask, dataset_id, wanted, algorithm)


def _issue(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    wanted: Sequence[Wanted],
    algorithm: Algorithm,
) -> list[Issued]:
    refuse_auditors(ask)
    with reading(resources.engine) as connection:
        # Without the lock first: most requests are for copies that exist.
        known = _known(resources, connection, ask, dataset_id, wanted)
    if known is not None:
        return known
    with work(resources, ask) as under_way:
        connection = under_way.connection
        datasets.lock(connection, dataset_id)
        dataset, grant = visible(connection, ask, dataset_id)
        variances = [_variance(connection, ask, dataset, grant, one) for one in wanted]
        shape = frozen_shape(resources, connection, dataset, under_way.now)
        entries = whole_history(connection, dataset_id, shape)
        before = len(entries)
        largest = open_statistics(resources, connection, dataset_id).largest
        for variance in _drawing_order(variances, algorithm):
            shape.check_carried(variance, largest)
            if all(entry.noise_variance != variance for entry in entries):
                entry = history.append(
                    connection,
                    entries,
                    dataset=dataset_id,
                    copy=new_id("cp"),
                    noise_variance=variance,
                    recipe=RECIPE,
                    first_hash=shape.hash,
                    at=under_way.now,
                    caller=ask.caller.id,
                )
                entries.append(entry)
        for one in wanted:
            if one.level is not None:
                levels.mark_issued(connection, dataset_id, one.level, under_way.now)
        under_way.record(
            "copy.issue", dataset_id, drawn=len(entries) - before, sequence=len(entries)
        )
        drawn = {entry.noise_variance: entry for entry in entries}
        return [
            Issued(
                copy_of(connection, dataset, grant, shape, drawn[variance]),
                drawn[variance].sequence > before,
            )
            for variance in variances
        ]


def _known(
    resources: Resources,
    connection: Connection,
    ask: Ask,
    dataset_id: str,
    wanted: Sequence[Wanted],
) -> list[Issued] | None:
    """The copies, when every one was drawn before and every level asked for knows that."""
    dataset, grant = visible(connection, ask, dataset_id)
    variances = [_variance(connection, ask, dataset, grant, one) for one in wanted]
    shape = open_shape(resources, connection, dataset_id)
    if shape is None:
        return None
    entries = [history.at_variance(connection, dataset_id, variance) for variance in variances]
    issued = {level.name for level in levels.of(connection, dataset_id) if level.issued}
    if any(one.level is not None and one.level not in issued for one in wanted):
        return None
    known = [entry for entry in entries if entry is not None]
    if len(known) < len(entries):
        return None
    return [
        Issued(copy_of(connection, dataset, grant, shape, entry), first=False) for entry in known
    ]


def _variance(
    connection: Connection, ask: Ask, dataset: Dataset, grant: Grant | None, wanted: Wanted
) -> float:
    """The variance asked for, where this caller may have it."""
    if (wanted.level is None) == (wanted.noise_variance is None):
        raise InvalidParameter("give either level or noise_variance", parameter="level")
    if wanted.noise_variance is not None:
        if ask.caller.role is not Role.ADMIN and dataset.owner != ask.caller.id:
            raise Refusal("only the data set's owner may ask by noise_variance; ask for a level")
        return checked_variance(wanted.noise_variance, "noise_variance")
    assert wanted.level is not None
    level = levels.one(connection, dataset.id, wanted.level)
    if grant is None and level is None:
        raise NotFound(f"the data set has no level {wanted.level!r}")
    if grant is not None:
        # A level below the grant and one that nobody defined look the same.
        least = granted_variance(connection, grant)
        if level is None or level.noise_variance < least:
            raise Hidden(
                f"there is no level {wanted.level!r} for this caller; its grant is for level"
                f" {grant.level!r} and what is more perturbed"
            )
    assert level is not None
    return checked_variance(level.noise_variance, "level")


def _drawing_order(variances: Sequence[float], algorithm: Algorithm) -> list[float]:
    if algorithm is Algorithm.PARALLEL:
        return list(variances)
    return [variances[position] for position in sequential_order(variances)]
