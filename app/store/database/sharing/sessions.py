"""Portal sessions and single-use sign-in links.

A token has 256 random bits and is kept as SHA-256 only, as the secret of a key is.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from sqlalchemy import Connection, Row, Select, delete, insert, or_, select, update

from app.model import Principal, Role, Session
from app.store.database import tables


def add(connection: Connection, session: Session, token: str) -> None:
    """Keep a new session under its token."""
    connection.execute(
        insert(tables.sessions).values(
            id=session.id,
            token_hash=_hashed(token),
            principal=session.principal.id,
            key=session.key,
            browser=session.browser,
            begun_at=session.begun_at,
            seen_at=session.seen_at,
            ends_at=session.ends_at,
            since=session.since,
        )
    )
    _visited(connection, session.principal.id, session.begun_at)


def last_visit(connection: Connection, principal_id: str) -> datetime | None:
    """Return the last use of any session of a principal."""
    query = select(tables.principals.c.visited_at).where(tables.principals.c.id == principal_id)
    moment: datetime | None = connection.execute(query).scalar_one()
    return moment


def _visited(connection: Connection, principal_id: str, now: datetime) -> None:
    principals = tables.principals
    connection.execute(
        update(principals).where(principals.c.id == principal_id).values(visited_at=now)
    )


def of_token(connection: Connection, token: str, now: datetime) -> Session | None:
    """The session of a token, while neither it, nor its key, nor its principal has ended.

    The token is looked for by its hash: what the time of the search tells is of no use.
    """
    row = connection.execute(
        _live(now).where(tables.sessions.c.token_hash == _hashed(token))
    ).one_or_none()
    return _session(row) if row is not None else None


def of_principal(connection: Connection, principal_id: str, now: datetime) -> list[Session]:
    """A principal's live sessions, the newest first."""
    query = _live(now).where(tables.sessions.c.principal == principal_id)
    rows = connection.execute(query.order_by(tables.sessions.c.begun_at.desc()))
    return [_session(row) for row in rows]


def touch(connection: Connection, session: Session, now: datetime, ends_at: datetime) -> None:
    """Keep that a session is in use, and when it ends if it is not used again."""
    connection.execute(
        update(tables.sessions)
        .where(tables.sessions.c.id == session.id)
        .values(seen_at=now, ends_at=ends_at)
    )
    _visited(connection, session.principal.id, now)


def end(connection: Connection, principal_id: str, session_id: str) -> bool:
    """End one session of a principal; whether there was one."""
    done = connection.execute(
        delete(tables.sessions).where(
            tables.sessions.c.id == session_id, tables.sessions.c.principal == principal_id
        )
    )
    return done.rowcount > 0


def end_all(connection: Connection, principal_id: str) -> int:
    """End every session of a principal and every link that would begin one; how many sessions there were."""
    sessions, links = tables.sessions, tables.sign_in_links
    connection.execute(delete(links).where(links.c.principal == principal_id))
    return connection.execute(delete(sessions).where(sessions.c.principal == principal_id)).rowcount


def end_of_key(connection: Connection, key_id: str) -> None:
    """End every session that was begun with a key."""
    connection.execute(delete(tables.sessions).where(tables.sessions.c.key == key_id))


def remove_expired(connection: Connection, now: datetime) -> None:
    """Remove sessions and links whose time is over."""
    for table in (tables.sessions, tables.sign_in_links):
        connection.execute(delete(table).where(table.c.ends_at <= now))


def add_link(connection: Connection, principal_id: str, token: str, ends_at: datetime) -> None:
    """Keep a link that signs a principal in."""
    connection.execute(
        insert(tables.sign_in_links).values(
            token_hash=_hashed(token), principal=principal_id, ends_at=ends_at
        )
    )


def take_link(connection: Connection, token: str, now: datetime) -> Principal | None:
    """Consume a link and return its principal; of two who follow it one succeeds."""
    links = tables.sign_in_links
    found = connection.execute(
        select(tables.principals)
        .join(links, links.c.principal == tables.principals.c.id)
        .where(
            links.c.token_hash == _hashed(token),
            links.c.ends_at > now,
            tables.principals.c.revoked_at.is_(None),
        )
    ).one_or_none()
    taken = connection.execute(delete(links).where(links.c.token_hash == _hashed(token)))
    if found is None or taken.rowcount == 0:
        return None
    return Principal(found.id, found.name, Role(found.role))


def _live(now: datetime) -> Select[tuple[object, ...]]:
    """Sessions with their principals, but those that count no longer."""
    sessions, principals, keys = tables.sessions, tables.principals, tables.keys
    return (
        select(
            sessions,
            principals.c.name.label("principal_name"),
            principals.c.role.label("principal_role"),
        )
        .join(principals, principals.c.id == sessions.c.principal)
        .outerjoin(keys, keys.c.id == sessions.c.key)
        .where(
            sessions.c.ends_at > now,
            principals.c.revoked_at.is_(None),
            or_(sessions.c.key.is_(None), keys.c.revoked_at.is_(None)),
        )
    )


def _session(row: Row[tuple[object, ...]]) -> Session:
    return Session(
        id=row.id,
        principal=Principal(row.principal, row.principal_name, Role(row.principal_role)),
        key=row.key,
        browser=row.browser,
        begun_at=row.begun_at,
        seen_at=row.seen_at,
        ends_at=row.ends_at,
        since=row.since,
    )


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
