"""What follows from a change of an agreement, in the very transaction that changes it."""

from __future__ import annotations

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State
from app.service.resources import Resources
from app.service.sharing.agreements.record import keep_record
from app.service.sharing.dataspace.following import follow_in_dataspace
from app.service.sharing.deliveries.planning import plan
from app.service.sharing.webhooks.telling import Event, tell
from app.store.database.clock import moment
from app.store.database.sharing import callers


def follow(
    resources: Resources, connection: Connection, agreement: Agreement, party: Party
) -> Agreement:
    """Do what the state that an agreement has just reached, by a party, asks for; it as it is then."""
    if agreement.state is State.FINALIZED:
        keep_record(resources, connection, agreement)
        plan(resources, connection, agreement, moment(connection))
    if agreement.state is State.TERMINATED:
        callers.revoke_share_keys(connection, agreement.id, moment(connection))
    event = Event(f"agreement.{agreement.state.lower()}")
    facts = {"version": agreement.version, "log_hash": agreement.log_hash}
    tell(resources, connection, agreement, event, f"version:{agreement.version}", facts)
    return follow_in_dataspace(resources, connection, agreement, party)
