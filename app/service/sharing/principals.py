"""Principals and keys: create, look up, rotate, revoke."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import InvalidParameter, NameTaken, NotFound, Refusal
from app.model import ListQuery, ListResult, Principal, PrincipalRecord, Role
from app.service.context import RequestContext, checked_name, new_id, require
from app.service.resources import Resources
from app.service.unit_of_work import UnitOfWork, is_duplicate, unit_of_work
from app.store.database.engine import reading
from app.store.database.sharing import principals, sessions

LONGEST_PARTICIPANT = 500


INVITATION_LASTS = timedelta(days=7)
"""Long enough for a week away; after this somebody has to be invited anew."""


@dataclass(frozen=True, repr=False)
class Invitation:
    """A principal and the token of its invitation: the only time that the token is seen."""

    principal: Principal
    token: str
    ends_at: datetime


@dataclass(frozen=True, repr=False)
class NewKey:
    """A principal and the key just made for it: the only time that the key is seen."""

    principal: Principal
    key: str


def create_principal(
    resources: Resources, context: RequestContext, name: str, role: Role
) -> NewKey:
    """A new principal with its first key. An owner may make recipients, an administrator anyone."""
    with unit_of_work(resources, context) as uow:
        principal = _created(uow, context, name, role)
        key = principals.add_key(uow.connection, principal.id, uow.now)
        uow.record("recipient.create", principal.id, role=role.value, key=principals.public_id(key))
    return NewKey(principal, key)


def require_recipient(connection: Connection, principal_id: str | None) -> str:
    """Return the id of a recipient that was not revoked; NotFound for any other."""
    record = None if principal_id is None else principals.one(connection, principal_id)
    if record is None or record.revoked_at or record.principal.role is not Role.RECIPIENT:
        raise NotFound(f"there is no recipient {principal_id!r}")
    return record.principal.id


def rotate_key(resources: Resources, context: RequestContext, recipient: str) -> NewKey:
    """A new key in place of all the principal had; its sessions end. Everyone may rotate their own."""
    if recipient != context.principal.id:
        require(context)
    with unit_of_work(resources, context) as uow:
        record = _live(uow, recipient)
        revoked = principals.revoke_keys(uow.connection, recipient, uow.now)
        sessions.end_all(uow.connection, recipient)
        key = principals.add_key(uow.connection, recipient, uow.now)
        uow.record("key.rotate", recipient, revoked=revoked, key=principals.public_id(key))
    return NewKey(record.principal, key)


def name_participant(
    resources: Resources, context: RequestContext, recipient: str, participant_id: str | None
) -> PrincipalRecord:
    """Set the participant id of a recipient in a data space; None removes it.

    An owner proposes it for a recipient that it created, an administrator confirms it by setting the same. A proposed
    id gives no access: whoever goes by an identity is offered what others agreed with it.
    """
    require(context, Role.OWNER)
    if participant_id is not None:
        checked_participant(participant_id)
    with unit_of_work(resources, context) as uow:
        record = _live(uow, recipient)
        if context.principal.role is Role.OWNER:
            if not principals.propose_participant(
                uow.connection, recipient, participant_id, created_by=context.principal.id
            ):
                raise _not_found(recipient)
            uow.record("recipient.participant.propose", recipient, participant=participant_id)
            return replace(record, proposed_participant_id=participant_id)
        if record.principal.role is not Role.RECIPIENT:
            raise InvalidParameter(
                "only recipients have a participant id", parameter="participant_id"
            )
        try:
            principals.set_participant(uow.connection, recipient, participant_id)
        except IntegrityError as error:
            raise (_participant_taken() if is_duplicate(error) else error) from None
        uow.record("recipient.participant", recipient, participant=participant_id)
    return replace(record, participant_id=participant_id, proposed_participant_id=None)


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


def revoke_key(resources: Resources, context: RequestContext, recipient: str, key_id: str) -> None:
    """Revoke one key by its public id."""
    require(context)
    with unit_of_work(resources, context) as uow:
        _live(uow, recipient)
        if not principals.revoke_keys(uow.connection, recipient, uow.now, only=key_id):
            raise NotFound(f"principal {recipient!r} has no live key {key_id!r}")
        uow.record("key.revoke", recipient, key=key_id)


def revoke_principal(resources: Resources, context: RequestContext, recipient: str) -> None:
    """Revoke a principal and all its keys for good."""
    require(context)
    if recipient == context.principal.id:
        raise InvalidParameter("a principal cannot revoke itself", parameter="recipient")
    with unit_of_work(resources, context) as uow:
        _live(uow, recipient)
        principals.revoke(uow.connection, recipient, uow.now)
        uow.record("recipient.revoke", recipient)


def list_principals(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> list[PrincipalRecord]:
    """Principals by id; to an owner those it created, and its partners."""
    require(context, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return principals.page(connection, after=after, limit=limit, visible_to=_only_for(context))


def search_principals(
    resources: Resources, context: RequestContext, wanted: ListQuery
) -> ListResult[PrincipalRecord]:
    """Search, sort and page the principals of `list_principals`."""
    require(context, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return principals.search(connection, wanted, visible_to=_only_for(context))


def invite_principal(
    resources: Resources, context: RequestContext, name: str, role: Role
) -> Invitation:
    """A new principal without a key, and the token of a link by which it signs in once."""
    token = secrets.token_urlsafe(32)
    with unit_of_work(resources, context) as uow:
        principal = _created(uow, context, name, role)
        ends_at = uow.now + INVITATION_LASTS
        sessions.add_link(uow.connection, principal.id, token, ends_at)
        uow.record("recipient.invite", principal.id, role=role.value)
    return Invitation(principal, token, ends_at)


def names_of(resources: Resources, context: RequestContext, ids: Iterable[str]) -> dict[str, str]:
    """The names of principals by id, as far as they are principals: for those who may list them."""
    require(context, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return principals.names(connection, ids)


def show_principal(
    resources: Resources, context: RequestContext, recipient: str
) -> PrincipalRecord:
    """One principal; everyone may look at themselves."""
    if recipient != context.principal.id:
        require(context, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        record = principals.one(connection, recipient, visible_to=_only_for(context))
    if record is None:
        raise NotFound(f"there is no principal {recipient!r}")
    return record


def _only_for(context: RequestContext) -> str | None:
    """The owner whose view of principals this is; None for those who see all, or only themselves."""
    return context.principal.id if context.principal.role is Role.OWNER else None


def _created(uow: UnitOfWork, context: RequestContext, name: str, role: Role) -> Principal:
    require(context, Role.OWNER)
    if context.principal.role is Role.OWNER and role is not Role.RECIPIENT:
        raise Refusal(f"only an administrator may create a principal with the role {role.value}")
    checked_name("name", name)
    if principals.name_taken(uow.connection, name):
        raise _name_taken(name)
    principal = Principal(new_id("rc"), name, role)
    try:
        principals.add(uow.connection, principal, uow.now, context.principal.id)
    except IntegrityError as error:
        # Somebody took the name since the look at it.
        raise (_name_taken(name) if is_duplicate(error) else error) from None
    return principal


def _live(uow: UnitOfWork, recipient: str) -> PrincipalRecord:
    """The principal, whose keys nobody else changes until this write is done."""
    principals.lock(uow.connection, recipient)
    record = principals.one(uow.connection, recipient)
    if record is None or record.revoked_at is not None:
        raise _not_found(recipient)
    return record


def _not_found(recipient: str) -> NotFound:
    return NotFound(f"there is no principal {recipient!r}, or it was revoked")


def _participant_taken() -> NameTaken:
    return NameTaken("another principal has this participant id", parameter="participant_id")


def _name_taken(name: str) -> NameTaken:
    return NameTaken(f"there is a principal named {name!r} already", parameter="name")
