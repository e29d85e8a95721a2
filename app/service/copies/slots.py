"""A copy of each recipient's own, where an agreement is traceable: drawn in a slot above the level.

The level's own variance is drawn before the first slot and given to no traceable recipient: it is what
found tables are compared with. A recipient with one traceable agreement on a data set has nothing of it but
in slots, and what lies in a slot is for nobody else.
"""

from __future__ import annotations

import secrets

import numpy as np
from sqlalchemy import Connection

from app.errors import Conflict
from app.model import Grant
from app.numerics.tracing import SLOTS, free_slot, slot_variance
from app.service.access import live_grants
from app.service.asking import Ask
from app.store.database.copies import history, slots
from app.store.database.copies.slots import Slot
from app.store.database.sharing import agreements


def is_traceable(connection: Connection, ask: Ask, dataset_id: str) -> bool:
    """Whether what this caller has of a data set must be its own."""
    return any(_follows(connection, grant) for grant in live_grants(connection, ask, dataset_id))


def own_variance(
    connection: Connection, ask: Ask, dataset_id: str, level_variance: float
) -> float | None:
    """The variance of the caller's slot for a level, None where it has none yet."""
    slot = slots.of_recipient(connection, dataset_id, ask.caller.id, level_variance)
    return None if slot is None else slot.noise_variance


def given_slot(connection: Connection, ask: Ask, dataset_id: str, level_variance: float) -> float:
    """The variance of the caller's slot, given now if it has none; the caller holds the lock."""
    known = own_variance(connection, ask, dataset_id, level_variance)
    if known is not None:
        return known
    drawn = {entry.noise_variance for entry in history.of(connection, dataset_id)}
    drawn |= {slot.noise_variance for slot in slots.of(connection, dataset_id)}
    taken = [slot for slot in range(1, SLOTS + 1) if slot_variance(level_variance, slot) in drawn]
    slot = free_slot(taken, np.random.default_rng(secrets.randbits(128)))
    if slot is None:
        raise Conflict(
            f"All {SLOTS} slots of this level are taken; define another level for more recipients"
            " of traceable agreements."
        )
    variance = slot_variance(level_variance, slot)
    slots.add(connection, Slot(dataset_id, ask.caller.id, level_variance, slot, variance))
    return variance


def is_anothers(connection: Connection, ask: Ask, dataset_id: str, noise_variance: float) -> bool:
    """Whether the copy of this variance is not for this recipient: in another's slot, or in none
    where it has nothing but slots."""
    slot = slots.at_variance(connection, dataset_id, noise_variance)
    if slot is None:
        return is_traceable(connection, ask, dataset_id)
    return slot.recipient != ask.caller.id


def _follows(connection: Connection, grant: Grant) -> bool:
    if grant.agreement is None:
        return False
    agreement = agreements.one(connection, grant.agreement)
    return agreement is not None and agreement.terms.traceable
