"""Browser sessions of principals, and single-use sign-in links.

A key is exchanged for a token, which the browser keeps and the service knows by its hash alone. A
session ends when it is ended, when it was not used for some hours, a week after it began, and with
the key or the principal behind it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.errors import NotFound, Unauthenticated
from app.model import Principal, Role, Session
from app.service.authentication import FindPrincipal, authenticate, refuse_address
from app.service.context import RequestContext, new_id, require
from app.service.resources import Resources
from app.service.unit_of_work import UnitOfWork, unit_of_work
from app.store.database.engine import reading, writing
from app.store.database.sharing import principals, sessions

LONGEST = timedelta(days=7)
"""After this a session ends, however much it is used."""

NOTED_EVERY = timedelta(minutes=1)
"""A use is written down so often, and no oftener: reading a page should not be a write."""

LINK_LASTS = timedelta(hours=1)
"""A link that nobody followed for so long signs nobody in."""

BROWSER_CHARACTERS = 80


@dataclass(frozen=True, repr=False)
class NewSession:
    """A session and its token: the only time that the token is seen."""

    session: Session
    token: str


def sign_in(
    resources: Resources, key: str, *, address: str, browser: str, request_id: str
) -> NewSession:
    """Begin a session for the principal of a key; Unauthenticated for an invalid one."""
    principal = authenticate(resources, key, address)
    with unit_of_work(resources, RequestContext(principal, request_id)) as uow:
        return _begin(resources, uow, principal, principals.public_id(key), browser)


def sign_in_known(
    resources: Resources, principal: Principal, *, browser: str, request_id: str
) -> NewSession:
    """Begin a session for a principal authenticated by an identity provider or a link, without a key."""
    with unit_of_work(resources, RequestContext(principal, request_id)) as uow:
        return _begin(resources, uow, principal, None, browser)


def make_link(resources: Resources, principal: Principal) -> str:
    """The token of a link that signs the principal in, once and within the hour."""
    token, now = secrets.token_urlsafe(32), datetime.now(UTC)
    with writing(resources.engine) as connection:
        sessions.remove_expired(connection, now)
        sessions.add_link(connection, principal.id, token, now + LINK_LASTS)
    return token


def make_administrators_link(resources: Resources) -> str | None:
    """The token of a link for the oldest administrator."""
    with reading(resources.engine) as connection:
        known = principals.with_role(connection, Role.ADMIN)
    return make_link(resources, known[0]) if known else None


def follow_link(
    resources: Resources, token: str, *, address: str, browser: str, request_id: str
) -> NewSession:
    """The session that a link gives; Unauthenticated when it was followed before, or is too old."""
    with writing(resources.engine) as connection:
        principal = sessions.take_link(connection, token, datetime.now(UTC))
    if principal is None:
        refuse_address(resources, address)
        raise Unauthenticated("The link was used already, its time is over, or it is not known.")
    return sign_in_known(resources, principal, browser=browser, request_id=request_id)


def known_session(resources: Resources, token: str) -> Session | None:
    """The live session of a token; that it is in use is noted."""
    now = datetime.now(UTC)
    with reading(resources.engine) as connection:
        session = sessions.of_token(connection, token, now)
    if session is not None and now - session.seen_at >= NOTED_EVERY:
        with writing(resources.engine) as connection:
            sessions.touch(connection, session, now, _end(resources, session.begun_at, now))
    return session


def principal_of_session(token: str) -> FindPrincipal:
    """Return a function that looks up the principal of a session, again during a download."""

    def find_principal(connection: Connection) -> Principal | None:
        session = sessions.of_token(connection, token, datetime.now(UTC))
        return session.principal if session is not None else None

    return find_principal


def list_sessions(
    resources: Resources, context: RequestContext, principal_id: str
) -> list[Session]:
    """A principal's sessions, for itself and for administrators."""
    if principal_id != context.principal.id:
        require(context)
    with reading(resources.engine) as connection:
        return sessions.of_principal(connection, principal_id, datetime.now(UTC))


def end_session(
    resources: Resources, context: RequestContext, principal_id: str, session_id: str
) -> None:
    """End a session: one's own, or for an administrator anyone's."""
    if principal_id != context.principal.id:
        require(context)
    with unit_of_work(resources, context) as uow:
        if not sessions.end(uow.connection, principal_id, session_id):
            raise NotFound(f"there is no session {session_id!r} of this principal")
        uow.record("session.end", principal_id, session=session_id)


def _begin(
    resources: Resources, uow: UnitOfWork, principal: Principal, key: str | None, browser: str
) -> NewSession:
    now = uow.now
    session = Session(
        id=new_id("se"),
        principal=principal,
        key=key,
        browser=browser[:BROWSER_CHARACTERS],
        begun_at=now,
        seen_at=now,
        ends_at=_end(resources, now, now),
        since=sessions.last_visit(uow.connection, principal.id),
    )
    token = secrets.token_urlsafe(32)
    sessions.remove_expired(uow.connection, now)
    sessions.add(uow.connection, session, token)
    uow.record("session.begin", principal.id, session=session.id, key=key)
    return NewSession(session, token)


def _end(resources: Resources, begun_at: datetime, now: datetime) -> datetime:
    idle = timedelta(hours=resources.limits.session_idle_hours)
    return min(now + idle, begun_at + LONGEST)
