"""The one clock by which rights begin and end: the database's, which all processes share."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, text


def moment(connection: Connection) -> datetime:
    """What time it is now for the database; on SQLite that is the machine that has the file."""
    if connection.dialect.name == "postgresql":
        # Not now(), which is the moment the transaction began.
        now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return now.astimezone(UTC)
    said = connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
    return datetime.fromisoformat(str(said)).replace(tzinfo=UTC)
