"""Lookup of copies: permission, description, and the history behind them.

Where an agreement is traceable each recipient has a copy of its own, drawn in a slot above the level. The level's
own variance is drawn before the first slot and given to no traceable recipient: it is what found tables are
compared with. A recipient with one traceable agreement on a data set has nothing of it but in slots, and what lies
in a slot is for nobody else.

A history is checked once and kept: a request reads only what came since. An entry never changes, so what was checked
stays checked. The newest kept entry is compared with the database each time: after a restore that lost the tail, or put
another in its place, all is read and checked anew. What is kept is only ever what was committed.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from app.errors import Conflict, Hidden, NotFound, Refusal
from app.model import Copy, Dataset, Grant, HistoryEntry, Role
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.noise.definition import RECIPE as NOISE
from app.numerics.copies.path import Bridge, conditional_coefficients, draws_needed
from app.numerics.copies.records import CELL_RECIPE
from app.numerics.copies.records import RECIPE as RECORDS
from app.numerics.tracing import SLOTS, free_slot, slot_variance
from app.service.context import (
    RequestContext,
    auditable_dataset,
    grant_for,
    live_grants,
    released_columns,
    visible,
)
from app.service.datasets.protection.guarantee import formal_guarantee
from app.service.datasets.protection.part_protection import PartProtection, first_protection
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole, Slot
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading
from app.store.database.sharing import agreements

RECIPE = f"{NOISE}+{RECORDS}"
FORMAL_RECIPE = f"{NOISE}+{CELL_RECIPE}"
"""How numbers and records of a copy follow from secret and hash; the second under formal protection."""

ENTRY_BYTES = 1_500
"""About what an entry takes in memory."""


@dataclass(frozen=True, repr=False)
class Chain:
    """All entries in order, and how the path at each hangs between two before it.

    where:
        first_hash  what stands before the first entry
        bridges     on the axis of v; a part has an axis of its own, in the same order
        positions   noise variance → its place in `entries`
    """

    first_hash: str
    entries: tuple[HistoryEntry, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    positions: Mapping[float, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.entries)

    def extended(self, more: list[HistoryEntry]) -> Chain:
        """The chain with further entries; HistoryNotWhole when they do not follow, or were drawn by another recipe."""
        last = self.entries[-1].hash if self.entries else self.first_hash
        if not history.follows(more, last, len(self.entries)):
            raise HistoryNotWhole("the history of a data set does not follow from its hashes")
        if any(entry.recipe not in (RECIPE, FORMAL_RECIPE) for entry in more):
            raise HistoryNotWhole("an entry of the history was drawn by an unknown recipe")
        positions = dict(self.positions)
        bridges = []
        for number, entry in enumerate(more, start=len(self.entries)):
            bridges.append(_bridge(entry, positions))
            positions[entry.noise_variance] = number
        return Chain(self.first_hash, (*self.entries, *more), (*self.bridges, *bridges), positions)

    def bridges_to(self, target: int, r_squared: float) -> dict[int, Bridge]:
        """Position → bridge on the axis of a(v; R²), of the entries that the target leads back to."""
        found = {}
        for position in draws_needed(self.bridges, target, {}):
            entry, neighbours = self.entries[position], self.bridges[position]
            lower, a, upper = (
                None if v is None else applied_variance(v, r_squared)
                for v in (entry.lower, entry.noise_variance, entry.upper)
            )
            assert a is not None
            weights = conditional_coefficients(lower or 0.0, a, upper)
            found[position] = Bridge(neighbours.lower, neighbours.upper, *weights)
        return found


def whole_chain(
    resources: Resources, connection: Connection, dataset_id: str, first_hash: str
) -> Chain:
    """The whole history, or HistoryNotWhole (a 500, and nothing leaves)."""
    kept = resources.histories.get(dataset_id)
    if kept is not None and kept.first_hash == first_hash:
        newest = history.since(connection, dataset_id, len(kept.entries))
        if newest[:1] == [kept.entries[-1]]:
            more = newest[1:]
            return _keep(resources, dataset_id, kept.extended(more)) if more else kept
    return _keep(
        resources, dataset_id, Chain(first_hash).extended(history.of(connection, dataset_id))
    )


def _keep(resources: Resources, dataset_id: str, chain: Chain) -> Chain:
    if chain.entries:
        resources.histories.put(dataset_id, chain, dataset_id)
    return chain


def _bridge(entry: HistoryEntry, positions: Mapping[float, int]) -> Bridge:
    """The bridge of `path.bridges`, from the neighbours that the entry itself names."""
    weights = conditional_coefficients(entry.lower or 0.0, entry.noise_variance, entry.upper)
    lower = None if entry.lower is None else positions[entry.lower]
    upper = None if entry.upper is None else positions[entry.upper]
    return Bridge(lower, upper, *weights)


def is_traceable(connection: Connection, context: RequestContext, dataset_id: str) -> bool:
    """Return whether what this principal has of a data set must be its own."""
    return any(
        _follows(connection, grant) for grant in live_grants(connection, context, dataset_id)
    )


def own_variance(
    connection: Connection, context: RequestContext, dataset_id: str, level_variance: float
) -> float | None:
    """The variance of the principal's slot for a level, None where it has none yet."""
    slot = history.slot_of(connection, dataset_id, context.principal.id, level_variance)
    return None if slot is None else slot.noise_variance


def given_slot(
    connection: Connection, context: RequestContext, dataset_id: str, level_variance: float
) -> float:
    """The variance of the principal's slot, given now if it has none; the principal holds the lock."""
    known = own_variance(connection, context, dataset_id, level_variance)
    if known is not None:
        return known
    drawn = {entry.noise_variance for entry in history.of(connection, dataset_id)}
    drawn |= {slot.noise_variance for slot in history.slots_of(connection, dataset_id)}
    taken = [slot for slot in range(1, SLOTS + 1) if slot_variance(level_variance, slot) in drawn]
    slot = free_slot(taken, np.random.default_rng(secrets.randbits(128)))
    if slot is None:
        raise Conflict(
            f"All {SLOTS} slots of this level are taken; define another level for more recipients"
            " of traceable agreements."
        )
    variance = slot_variance(level_variance, slot)
    history.add_slot(
        connection, Slot(dataset_id, context.principal.id, level_variance, slot, variance)
    )
    return variance


def is_anothers(
    connection: Connection, context: RequestContext, dataset_id: str, noise_variance: float
) -> bool:
    """Return whether the copy of this variance is not for this recipient: in another's slot, or in none
    where it has nothing but slots."""
    slot = history.slot_at(connection, dataset_id, noise_variance)
    if slot is None:
        return is_traceable(connection, context, dataset_id)
    return slot.recipient != context.principal.id


def _follows(connection: Connection, grant: Grant) -> bool:
    if grant.agreement is None:
        return False
    agreement = agreements.one(connection, grant.agreement)
    return agreement is not None and agreement.terms.traceable


def show_copy(resources: Resources, context: RequestContext, copy_id: str) -> Copy:
    """Return a copy, for principals who may have it and for auditors."""
    with reading(resources.engine) as connection:
        entry, dataset, grant = permitted(connection, context, copy_id)
        protection, _ = released_history(resources, connection, dataset.id)
        return copy_of(connection, dataset, grant, protection, entry)


def read_history(
    resources: Resources, context: RequestContext, dataset_id: str, *, after: int, limit: int
) -> list[HistoryEntry]:
    """Entries in order, for the data set's owner and for auditors."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        return history.page(connection, dataset_id, after=after, limit=limit)


def permitted(
    connection: Connection, context: RequestContext, copy_id: str
) -> tuple[HistoryEntry, Dataset, Grant | None]:
    """The copy's entry and data set, for principals who may know of it.

    A recipient may have its level and what is more perturbed; less perturbed copies, and those in
    other recipients' slots, do not exist for it.
    """
    entry = history.of_copy(connection, copy_id)
    if entry is None:
        # Logged like one that is hidden, so that the time of the answer does not tell them apart.
        overseer = context.principal.role in (Role.ADMIN, Role.AUDITOR)
        raise (NotFound if overseer else Hidden)(_no_copy(copy_id))
    try:
        dataset, grant = visible(connection, context, entry.dataset)
    except NotFound as hidden:
        # The id of the data set is not the principal's to learn.
        raise type(hidden)(_no_copy(copy_id)) from None
    if grant is not None:
        grant = grant_for(connection, context, dataset.id, entry.noise_variance)
        if grant is None or is_anothers(connection, context, dataset.id, entry.noise_variance):
            raise Hidden(_no_copy(copy_id))
    return entry, dataset, grant


def copy_at_level(
    resources: Resources, context: RequestContext, dataset_id: str, name: str
) -> Copy | None:
    """The copy of a level that this principal was granted, if it was issued."""
    with reading(resources.engine) as connection:
        dataset, grant = visible(connection, context, dataset_id)
        level = levels.one(connection, dataset_id, name)
        rights = [] if grant is None else live_grants(connection, context, dataset_id)
        if level is None or (grant is not None and name not in {one.level for one in rights}):
            raise Hidden(f"there is no level {name!r} for this principal")
        variance: float | None = level.noise_variance
        if grant is not None:
            grant = grant_for(connection, context, dataset_id, level.noise_variance)
            if is_traceable(connection, context, dataset_id):
                variance = own_variance(connection, context, dataset_id, level.noise_variance)
        entry = None if variance is None else history.at_variance(connection, dataset_id, variance)
        protection = first_protection(resources, connection, dataset_id)
        if entry is None or protection is None:
            return None
        return copy_of(connection, dataset, grant, protection, entry)


def downloadable(
    connection: Connection, context: RequestContext, copy_id: str
) -> tuple[HistoryEntry, Dataset, Grant | None]:
    """The same, for principals who may also have its rows: not for auditors."""
    found = permitted(connection, context, copy_id)
    refuse_auditors(context)
    return found


def refuse_auditors(context: RequestContext) -> None:
    """An auditor sees that copies exist and how they were drawn, not what is in them."""
    if context.principal.role is Role.AUDITOR:
        raise Refusal("an auditor reads histories and has no copies")


def granted_variance(connection: Connection, grant: Grant) -> float:
    """The variance of the level that a grant names; Refusal when the owner removed the level."""
    level = levels.one(connection, grant.dataset, grant.level)
    if level is None:
        raise Refusal("the level of your grant does not exist any more")
    return level.noise_variance


def released_history(
    resources: Resources, connection: Connection, dataset_id: str
) -> tuple[PartProtection, Chain]:
    """The protection of the first part, and the whole history, of a data set of which a copy was issued."""
    protection = first_protection(resources, connection, dataset_id)
    if protection is None:
        raise HistoryNotWhole("a copy was issued and nothing is protected")
    return protection, whole_chain(resources, connection, dataset_id, protection.hash)


def copy_of(
    connection: Connection,
    dataset: Dataset,
    grant: Grant | None,
    protection: PartProtection,
    entry: HistoryEntry,
) -> Copy:
    """An entry as the copy that this principal may have; `protection` is the first part's.

    A recipient learns what is promised and the grid, and nothing of the place among other draws.
    """
    columns = released_columns(dataset, grant)
    names = frozenset(column.name for column in columns)
    law = protection if grant is None else protection.published
    grid = protection.grid(entry.noise_variance)
    promised = promised_variance(connection, entry)
    return Copy(
        id=entry.copy,
        dataset=dataset.id,
        noise_variance=entry.noise_variance if grant is None else promised,
        applied_variance=law.applied(entry.noise_variance if grant is None else promised)
        if may_know_noise(dataset, grant)
        else None,
        sequence=entry.sequence if grant is None else None,
        hash=entry.hash if grant is None else None,
        issued_at=entry.at,
        rows=_rows(connection, dataset, grant),
        columns=columns,
        grid={name: exponent for name, exponent in grid.items() if name in names},
        records=names.intersection(protection.records),
        levels=level_names(connection, grant, entry),
        guarantee=formal_guarantee(columns, promised, None) if dataset.formal else None,
    )


LAW_WITHHELD = "The owner of this data set does not publish its noise law."


def may_know_noise(dataset: Dataset, grant: Grant | None) -> bool:
    """Return whether this principal may have the noise law: a recipient only where the owner publishes it."""
    return grant is None or dataset.publish_noise


def level_names(
    connection: Connection, grant: Grant | None, entry: HistoryEntry
) -> tuple[str, ...]:
    """The owner's names for a copy's variance; to a recipient, the name in its grant alone."""
    return tuple(
        level.name
        for level in levels.at_variance(
            connection, entry.dataset, promised_variance(connection, entry)
        )
        if grant is None or level.name == grant.level
    )


def promised_variance(connection: Connection, entry: HistoryEntry) -> float:
    """The variance of the copy's level: of its slot a recipient learns the level alone."""
    slot = history.slot_at(connection, entry.dataset, entry.noise_variance)
    return entry.noise_variance if slot is None else slot.level_variance


def _rows(connection: Connection, dataset: Dataset, grant: Grant | None) -> int:
    """Return how many rows a download has now: those from the first on that the principal may have."""
    if grant is None or grant.first_row == 0:
        return dataset.released_rows
    since = min(grant.first_row, dataset.rows)
    withdrawn = datasets.retired_count(connection, dataset.id, since, dataset.rows)
    return dataset.rows - since - withdrawn


def _no_copy(copy_id: str) -> str:
    return f"there is no copy {copy_id!r} for this principal"
