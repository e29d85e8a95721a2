"""Sessions: how a browser that cannot send a key with each request acts for a caller.

A key is exchanged for a token, which the browser keeps and the service knows by its hash alone. A
session ends when it is ended, when it was not used for some hours, a week after it began, and with
the key or the caller behind it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.errors import NotFound, Unauthenticated
from app.model import Caller, Role, Session
from app.service.asking import Ask, Work, new_id, require, work
from app.service.permission import Holder, authenticate, refuse_address
from app.service.resources import Resources
from app.store.database.engine import reading, writing
from app.store.database.sharing import callers, sessions

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
    """A session for the holder of a key; Unauthenticated for any other."""
    caller = authenticate(resources, key, address)
    with work(resources, Ask(caller, request_id)) as under_way:
        return _begin(resources, under_way, caller, callers.public_id(key), browser)


def sign_in_known(
    resources: Resources, caller: Caller, *, browser: str, request_id: str
) -> NewSession:
    """A session for a caller whom somebody trusted has vouched for, without a key."""
    with work(resources, Ask(caller, request_id)) as under_way:
        return _begin(resources, under_way, caller, None, browser)


def make_link(resources: Resources, caller: Caller) -> str:
    """The token of a link that signs the caller in, once and within the hour."""
    token, now = secrets.token_urlsafe(32), datetime.now(UTC)
    with writing(resources.engine) as connection:
        sessions.sweep(connection, now)
        sessions.add_link(connection, caller.id, token, now + LINK_LASTS)
    return token


def make_administrators_link(resources: Resources) -> str | None:
    """The token of a link for the oldest administrator."""
    with reading(resources.engine) as connection:
        known = callers.with_role(connection, Role.ADMIN)
    return make_link(resources, known[0]) if known else None


def follow_link(
    resources: Resources, token: str, *, address: str, browser: str, request_id: str
) -> NewSession:
    """The session that a link gives; Unauthenticated when it was followed before, or is too old."""
    with writing(resources.engine) as connection:
        caller = sessions.take_link(connection, token, datetime.now(UTC))
    if caller is None:
        refuse_address(resources, address)
        raise Unauthenticated("The link was used already, is older than an hour, or is not known.")
    return sign_in_known(resources, caller, browser=browser, request_id=request_id)


def known_session(resources: Resources, token: str) -> Session | None:
    """The live session of a token; that it is in use is noted."""
    now = datetime.now(UTC)
    with reading(resources.engine) as connection:
        session = sessions.of_token(connection, token, now)
    if session is not None and now - session.seen_at >= NOTED_EVERY:
        with writing(resources.engine) as connection:
            sessions.touch(connection, session.id, now, _end(resources, session.begun_at, now))
    return session


def holder_of_session(token: str) -> Holder:
    """Who is signed in by a token, asked again in the middle of a download."""

    def holder(connection: Connection) -> Caller | None:
        session = sessions.of_token(connection, token, datetime.now(UTC))
        return session.caller if session is not None else None

    return holder


def list_sessions(resources: Resources, ask: Ask, caller_id: str) -> list[Session]:
    """A caller's sessions, for itself and for administrators."""
    if caller_id != ask.caller.id:
        require(ask)
    with reading(resources.engine) as connection:
        return sessions.of_caller(connection, caller_id, datetime.now(UTC))


def end_session(resources: Resources, ask: Ask, caller_id: str, session_id: str) -> None:
    """End a session: one's own, or for an administrator anyone's."""
    if caller_id != ask.caller.id:
        require(ask)
    with work(resources, ask) as under_way:
        if not sessions.end(under_way.connection, caller_id, session_id):
            raise NotFound(f"there is no session {session_id!r} of this caller")
        under_way.record("session.end", caller_id, session=session_id)


def _begin(
    resources: Resources, under_way: Work, caller: Caller, key: str | None, browser: str
) -> NewSession:
    now = under_way.now
    session = Session(
        id=new_id("se"),
        caller=caller,
        key=key,
        browser=browser[:BROWSER_CHARACTERS],
        begun_at=now,
        seen_at=now,
        ends_at=_end(resources, now, now),
    )
    token = secrets.token_urlsafe(32)
    sessions.sweep(under_way.connection, now)
    sessions.add(under_way.connection, session, token)
    under_way.record("session.begin", caller.id, session=session.id, key=key)
    return NewSession(session, token)


def _end(resources: Resources, begun_at: datetime, now: datetime) -> datetime:
    idle = timedelta(hours=resources.limits.session_idle_hours)
    return min(now + idle, begun_at + LONGEST)
