"""The audit log: it chains, it cannot be changed, and it shows when it was."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, delete, text, update
from sqlalchemy.exc import DBAPIError

from app.store.database import chained_logs, tables
from app.store.database.engine import open_engine, reading, writing


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


def append(engine: Engine, subject: str) -> None:
    with writing(engine) as connection:
        chained_logs.append_audit(
            connection,
            principal="rc_1",
            action="test",
            subject=subject,
            outcome="done",
            request_id="r1",
            facts={"noise_variance": 0.1, "level": "ä"},
        )


def unprotect(engine: Engine) -> None:
    """What an intruder with the right to change the schema would do."""
    with writing(engine) as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(text("DROP TRIGGER audit_log_no_update"))
            connection.execute(text("DROP TRIGGER audit_log_no_delete"))
        else:
            connection.execute(text("DROP TRIGGER audit_log_append_only ON audit_log"))


def broken(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(chained_logs.audit_faults(connection))


def test_entries_follow_one_another(engine: Engine) -> None:
    for subject in "abc":
        append(engine, subject)
    with reading(engine) as connection:
        entries = chained_logs.audit_page(connection, after=0, limit=10)
        later = chained_logs.audit_page(connection, after=2, limit=10)
    assert [entry.sequence for entry in entries] == [1, 2, 3]
    assert entries[0].previous_hash == chained_logs.GENESIS
    assert [entry.previous_hash for entry in entries[1:]] == [entry.hash for entry in entries[:2]]
    assert [entry.subject for entry in later] == ["c"]
    assert broken(engine) == []


def test_writers_at_once_make_one_chain(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: append(engine, str(number)), range(40)))
    with reading(engine) as connection:
        entries = chained_logs.audit_page(connection, after=0, limit=100)
    assert {entry.subject for entry in entries} == {str(number) for number in range(40)}
    assert broken(engine) == []


def test_the_database_refuses_to_change_or_remove_an_entry(engine: Engine) -> None:
    append(engine, "a")
    for statement in (update(tables.audit_log).values(subject="b"), delete(tables.audit_log)):
        with pytest.raises(DBAPIError, match="append-only"), writing(engine) as connection:
            connection.execute(statement)
    assert broken(engine) == []


def test_an_altered_entry_shows(engine: Engine) -> None:
    for subject in "abc":
        append(engine, subject)
    unprotect(engine)
    with writing(engine) as connection:
        connection.execute(
            update(tables.audit_log).where(tables.audit_log.c.sequence == 2).values(subject="x")
        )
    assert broken(engine) == ["entry 2 was altered"]


def test_a_removed_entry_shows(engine: Engine) -> None:
    for subject in "abcd":
        append(engine, subject)
    unprotect(engine)
    with writing(engine) as connection:
        connection.execute(delete(tables.audit_log).where(tables.audit_log.c.sequence == 2))
    assert broken(engine) == ["entries 2 to 2 are missing"]
    with writing(engine) as connection:
        connection.execute(delete(tables.audit_log).where(tables.audit_log.c.sequence == 4))
    assert broken(engine)[-1] == "the log ends at entry 3, but 4 entries were written"


def test_moments_never_run_backwards_whatever_the_clocks_say(engine: Engine) -> None:
    """Another machine's clock was an hour ahead when it appended."""
    append(engine, "a")
    ahead = datetime.now(UTC) + timedelta(hours=1)
    with writing(engine) as connection:
        connection.execute(update(tables.audit_head).values(at=ahead))
    append(engine, "b")
    append(engine, "c")
    with reading(engine) as connection:
        moments = [entry.at for entry in chained_logs.audit_page(connection, after=0, limit=10)]
    assert moments[0] < ahead
    assert moments[1:] == [ahead, ahead]
    assert broken(engine) == []
