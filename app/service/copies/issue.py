"""Issue copies: at most one draw per variance, in the history before it is used.

The history entry is the copy: it is committed here, and only what is committed can be downloaded
(invariant 1). The data set is locked from the look at the history to the commit (invariant 2), so a
variance is drawn once among concurrent requests (invariant 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from app.errors import Hidden, InvalidParameter, NotFound, Refusal
from app.model import Copy, Dataset, Grant, HistoryEntry, Role
from app.numerics.copies.path import sequential_order
from app.service.context import RequestContext, grant_for, new_id, visible
from app.service.copies.generation.history import (
    FORMAL_RECIPE,
    RECIPE,
    copy_of,
    given_slot,
    granted_variance,
    is_traceable,
    own_variance,
    refuse_auditors,
    whole_chain,
)
from app.service.copies.levels import checked_variance, refuse_over_cap
from app.service.datasets.protection.freeze import freeze_dataset, measure_ahead, require_frozen
from app.service.datasets.protection.part_protection import (
    PartProtection,
    first_protection,
    open_protections,
)
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.copies import history
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading

MOST_IN_A_BATCH = 1_000

NEAREST = 2.0**-40
"""Relative distance of two variances from which on a(v) tells them apart in every part."""


class Algorithm(StrEnum):
    """Order in which a batch is drawn: as asked (algorithm 1 of li2012), or ascending (2).

    Both give the same distribution. Drawn in ascending order on an empty history, every copy is the
    one before it plus independent noise, and costs one more draw than it.
    """

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True)
class CopyRequest:
    """A copy asked for: by the name of a level or, for owners, by its variance."""

    level: str | None = None
    noise_variance: float | None = None


@dataclass(frozen=True)
class IssuedCopy:
    """A copy, and whether this request was the first to ask for its variance."""

    copy: Copy
    first: bool


def issue_copy(
    resources: Resources, context: RequestContext, dataset_id: str, wanted: CopyRequest
) -> IssuedCopy:
    """The copy of a level or variance, drawn now if it never was."""
    return _issue(resources, context, dataset_id, [wanted], Algorithm.PARALLEL)[0]


def issue_batch(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    wanted: Sequence[CopyRequest],
    algorithm: Algorithm,
) -> list[IssuedCopy]:
    """Copies of several levels, in the order asked: all of them, or none where one is refused."""
    if not 0 < len(wanted) <= MOST_IN_A_BATCH:
        raise InvalidParameter(
            f"a batch has 1 to {MOST_IN_A_BATCH} levels", parameter="levels", limit=MOST_IN_A_BATCH
        )
    return _issue(resources, context, dataset_id, wanted, algorithm)


def _issue(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    wanted: Sequence[CopyRequest],
    algorithm: Algorithm,
) -> list[IssuedCopy]:
    refuse_auditors(context)
    with reading(resources.engine) as connection:
        # Without the lock first: most requests are for copies that exist.
        known = _known(resources, connection, context, dataset_id, wanted)
    if known is not None:
        return known
    measurement = measure_ahead(resources, dataset_id)
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        datasets.lock(connection, dataset_id)
        dataset, grant = visible(connection, context, dataset_id)
        levelled = [_variance(connection, context, dataset, grant, one) for one in wanted]
        variances = levelled
        if grant is not None and is_traceable(connection, context, dataset_id):
            variances = [given_slot(connection, context, dataset_id, one) for one in levelled]
        first = freeze_dataset(resources, connection, dataset, uow.now, measurement)
        entries = list(whole_chain(resources, connection, dataset_id, first.hash).entries)
        # Nothing is drawn that could not be released: every part has its protection, which carries the noise.
        parts = datasets.parts(connection, dataset_id)
        protections = open_protections(resources, connection, dataset_id, parts).values()
        before = len(entries)
        # A level comes before its slots, which are traced by what they add to it.
        to_draw = variances if variances == levelled else [*levelled, *variances]
        for variance in _drawing_order(to_draw, algorithm):
            if all(entry.noise_variance != variance for entry in entries):
                refuse_over_cap(dataset, variance)
                _refuse_too_near(variance, entries)
                for protection in protections:
                    protection.grid(variance)
                entry = history.append(
                    connection,
                    entries,
                    dataset=dataset_id,
                    copy=new_id("cp"),
                    noise_variance=variance,
                    recipe=RECIPE if first.declared is None else FORMAL_RECIPE,
                    first_hash=first.hash,
                    at=uow.now,
                    principal=context.principal.id,
                )
                entries.append(entry)
        for one in wanted:
            if one.level is not None:
                levels.mark_issued(connection, dataset_id, one.level, uow.now)
        uow.record("copy.issue", dataset_id, drawn=len(entries) - before, sequence=len(entries))
    drawn = {entry.noise_variance: entry for entry in entries}
    # After the commit: nobody waits while the copies are described.
    with reading(resources.engine) as connection:
        return [
            IssuedCopy(
                _described(connection, context, dataset, first, drawn[variance]),
                drawn[variance].sequence > before,
            )
            for variance in variances
        ]


def _known(
    resources: Resources,
    connection: Connection,
    context: RequestContext,
    dataset_id: str,
    wanted: Sequence[CopyRequest],
) -> list[IssuedCopy] | None:
    """The copies, when every one was drawn before and every level asked for knows that.

    Conflict for a recipient before the owner's first copy.
    """
    dataset, grant = visible(connection, context, dataset_id)
    variances = [_variance(connection, context, dataset, grant, one) for one in wanted]
    if grant is not None:
        require_frozen(dataset)
    if grant is not None and is_traceable(connection, context, dataset_id):
        slotted = [own_variance(connection, context, dataset_id, one) for one in variances]
        variances = [one for one in slotted if one is not None]
        if len(variances) < len(slotted):
            return None
    first = first_protection(resources, connection, dataset_id)
    if first is None:
        return None
    entries = [history.at_variance(connection, dataset_id, variance) for variance in variances]
    known = [entry for entry in entries if entry is not None]
    if len(known) < len(entries):
        return None
    for one in wanted:
        level = None if one.level is None else levels.one(connection, dataset_id, one.level)
        if level is not None and not level.issued:
            return None
    return [
        IssuedCopy(_described(connection, context, dataset, first, entry), first=False)
        for entry in known
    ]


def _described(
    connection: Connection,
    context: RequestContext,
    dataset: Dataset,
    first: PartProtection,
    entry: HistoryEntry,
) -> Copy:
    """The copy as this principal may have it: by its right to this very level, where it has several."""
    _, grant = visible(connection, context, dataset.id)
    if grant is not None:
        grant = grant_for(connection, context, dataset.id, entry.noise_variance) or grant
    return copy_of(connection, dataset, grant, first, entry)


def _variance(
    connection: Connection,
    context: RequestContext,
    dataset: Dataset,
    grant: Grant | None,
    wanted: CopyRequest,
) -> float:
    """The variance asked for, where this principal may have it."""
    if (wanted.level is None) == (wanted.noise_variance is None):
        raise InvalidParameter("give either level or noise_variance", parameter="level")
    if wanted.noise_variance is not None:
        if context.principal.role is not Role.ADMIN and dataset.owner != context.principal.id:
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
                f"there is no level {wanted.level!r} for this principal; its grant is for level"
                f" {grant.level!r} and what is more perturbed"
            )
    assert level is not None
    return checked_variance(level.noise_variance, "level")


def _refuse_too_near(noise_variance: float, entries: Sequence[HistoryEntry]) -> None:
    """InvalidParameter where rounding could put two draws in another order in some part."""
    for entry in entries:
        if abs(noise_variance - entry.noise_variance) < NEAREST * entry.noise_variance:
            raise InvalidParameter(
                "this variance is too near to one already drawn; ask for that one, or for one that differs by more",
                parameter="noise_variance",
            )


def _drawing_order(variances: Sequence[float], algorithm: Algorithm) -> list[float]:
    if algorithm is Algorithm.PARALLEL:
        return list(variances)
    return [variances[position] for position in sequential_order(variances)]
