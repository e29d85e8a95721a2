"""Callers and their keys: make, look up, rotate, revoke."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError

from app.errors import InvalidParameter, NameTaken, NotFound, Refusal
from app.model import Caller, Role
from app.service.asking import Ask, Work, checked_name, is_duplicate, new_id, require, work
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.sharing import callers, sessions
from app.store.database.sharing.callers import CallerRecord

LONGEST_PARTICIPANT = 500


@dataclass(frozen=True, repr=False)
class NewKey:
    """A caller and the key just made for it: the only time that the key is seen."""

    caller: Caller
    key: str


def create_recipient(resources: Resources, ask: Ask, name: str, role: Role) -> NewKey:
    """A new caller with its first key. An owner may make recipients, an administrator anyone."""
    require(ask, Role.OWNER)
    if ask.caller.role is Role.OWNER and role is not Role.RECIPIENT:
        raise Refusal(f"only an administrator may make a key with the role {role.value}")
    checked_name("name", name)
    with work(resources, ask) as under_way:
        if callers.name_taken(under_way.connection, name):
            raise _name_taken(name)
        caller = Caller(new_id("rc"), name, role)
        try:
            callers.add(under_way.connection, caller, under_way.now, ask.caller.id)
        except IntegrityError as error:
            # Somebody took the name since the look at it.
            raise (_name_taken(name) if is_duplicate(error) else error) from None
        key = callers.add_key(under_way.connection, caller.id, under_way.now)
        under_way.record("recipient.create", caller.id, role=role.value, key=callers.public_id(key))
    return NewKey(caller, key)


def rotate_key(resources: Resources, ask: Ask, recipient: str) -> NewKey:
    """A new key in place of all the caller had; its sessions end. Everyone may rotate their own."""
    if recipient != ask.caller.id:
        require(ask)
    with work(resources, ask) as under_way:
        record = _live(under_way, recipient)
        revoked = callers.revoke_keys(under_way.connection, recipient, under_way.now)
        sessions.end_all(under_way.connection, recipient)
        key = callers.add_key(under_way.connection, recipient, under_way.now)
        under_way.record("key.rotate", recipient, revoked=revoked, key=callers.public_id(key))
    return NewKey(record.caller, key)


def name_participant(
    resources: Resources, ask: Ask, recipient: str, participant_id: str | None
) -> CallerRecord:
    """Say who a recipient is in a data space, or that it is in none (any more).

    For administrators alone: whoever goes by an identity is offered what others agreed with it.
    """
    require(ask)
    if participant_id is not None:
        checked_participant(participant_id)
    with work(resources, ask) as under_way:
        record = _live(under_way, recipient)
        if record.caller.role is not Role.RECIPIENT:
            raise InvalidParameter(
                "only recipients have a participant id", parameter="participant_id"
            )
        try:
            callers.set_participant(under_way.connection, recipient, participant_id)
        except IntegrityError as error:
            raise (_participant_taken() if is_duplicate(error) else error) from None
        under_way.record("recipient.participant", recipient, participant=participant_id)
    return replace(record, participant_id=participant_id)


def checked_participant(participant_id: str) -> str:
    """The id, or InvalidParameter: a name as data spaces have them, a URI of printable characters."""
    if not 0 < len(participant_id) <= LONGEST_PARTICIPANT or not all(
        "!" <= character <= "~" for character in participant_id
    ):
        raise InvalidParameter(
            f"participant_id must have 1 to {LONGEST_PARTICIPANT} printable ASCII characters"
            " without spaces",
            parameter="participant_id",
        )
    return participant_id


def revoke_key(resources: Resources, ask: Ask, recipient: str, key_id: str) -> None:
    """Revoke one key by its public id."""
    require(ask)
    with work(resources, ask) as under_way:
        _live(under_way, recipient)
        if not callers.revoke_keys(under_way.connection, recipient, under_way.now, only=key_id):
            raise NotFound(f"caller {recipient!r} has no live key {key_id!r}")
        under_way.record("key.revoke", recipient, key=key_id)


def revoke_recipient(resources: Resources, ask: Ask, recipient: str) -> None:
    """Revoke a caller and all its keys for good."""
    require(ask)
    if recipient == ask.caller.id:
        raise InvalidParameter("a caller cannot revoke itself", parameter="recipient")
    with work(resources, ask) as under_way:
        _live(under_way, recipient)
        callers.revoke(under_way.connection, recipient, under_way.now)
        under_way.record("recipient.revoke", recipient)


def list_recipients(
    resources: Resources, ask: Ask, *, after: str, limit: int
) -> list[CallerRecord]:
    """Callers by id; to an owner those it created, and its partners."""
    require(ask, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return callers.page(connection, after=after, limit=limit, visible_to=_only_for(ask))


def names_of(resources: Resources, ask: Ask, ids: Iterable[str]) -> dict[str, str]:
    """The names of callers by id, as far as they are callers: for those who may list them."""
    require(ask, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return callers.names(connection, ids)


def show_recipient(resources: Resources, ask: Ask, recipient: str) -> CallerRecord:
    """One caller; everyone may look at themselves."""
    if recipient != ask.caller.id:
        require(ask, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        record = callers.one(connection, recipient, visible_to=_only_for(ask))
    if record is None:
        raise NotFound(f"there is no caller {recipient!r}")
    return record


def _only_for(ask: Ask) -> str | None:
    """The owner whose view of callers this is; None for those who see all, or only themselves."""
    return ask.caller.id if ask.caller.role is Role.OWNER else None


def _live(under_way: Work, recipient: str) -> CallerRecord:
    """The caller, whose keys nobody else changes until this write is done."""
    callers.lock(under_way.connection, recipient)
    record = callers.one(under_way.connection, recipient)
    if record is None or record.revoked_at is not None:
        raise NotFound(f"there is no caller {recipient!r}, or it was revoked")
    return record


def _participant_taken() -> NameTaken:
    return NameTaken("another caller has this participant id", parameter="participant_id")


def _name_taken(name: str) -> NameTaken:
    return NameTaken(f"there is a caller named {name!r} already", parameter="name")
