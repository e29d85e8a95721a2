"""Callers and their keys: make, look up, rotate, revoke."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import InvalidParameter, NameTaken, NotFound, Refusal
from app.model import Caller, Role
from app.service.access import require
from app.service.asking import Ask, Work, new_id, work
from app.service.naming import checked_name
from app.service.resources import Resources
from app.store import audit_log, callers
from app.store.callers import CallerRecord
from app.store.engine import reading


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
        audit_log.queue(under_way.connection)
        if callers.name_taken(under_way.connection, name):
            raise NameTaken(f"there is a caller named {name!r} already", parameter="name")
        caller = Caller(new_id("rc"), name, role)
        callers.add(under_way.connection, caller, under_way.now)
        key = callers.add_key(under_way.connection, caller.id, under_way.now)
        under_way.record("recipient.create", caller.id, role=role.value, key=callers.public_id(key))
    return NewKey(caller, key)


def rotate_key(resources: Resources, ask: Ask, recipient: str) -> NewKey:
    """A new key in place of all the caller had. Everyone may rotate their own."""
    if recipient != ask.caller.id:
        require(ask)
    with work(resources, ask) as under_way:
        record = _live(under_way, recipient)
        revoked = callers.revoke_keys(under_way.connection, recipient, under_way.now)
        key = callers.add_key(under_way.connection, recipient, under_way.now)
        under_way.record("key.rotate", recipient, revoked=revoked, key=callers.public_id(key))
    return NewKey(record.caller, key)


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
    """Callers by id."""
    require(ask, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return callers.page(connection, after=after, limit=limit)


def show_recipient(resources: Resources, ask: Ask, recipient: str) -> CallerRecord:
    """One caller; everyone may look at themselves."""
    if recipient != ask.caller.id:
        require(ask, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        record = callers.one(connection, recipient)
    if record is None:
        raise NotFound(f"there is no caller {recipient!r}")
    return record


def _live(under_way: Work, recipient: str) -> CallerRecord:
    """The caller, whose keys nobody else changes until this write is done."""
    audit_log.queue(under_way.connection)
    record = callers.one(under_way.connection, recipient)
    if record is None or record.revoked_at is not None:
        raise NotFound(f"there is no caller {recipient!r}, or it was revoked")
    return record
