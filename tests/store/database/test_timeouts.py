"""The database is never waited for without end, and no process can stop the others for long."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from app.store.database import chained_logs
from app.store.database.engine import open_engine, reading, writing
from app.store.database.migrations import migrate
from tests.silent import way_to


def say(engine: Engine, subject: str) -> None:
    with writing(engine) as connection:
        chained_logs.append_audit(
            connection,
            principal="rc_1",
            action="test",
            subject=subject,
            outcome="done",
            request_id="r1",
            facts={},
        )


def test_a_server_that_falls_silent_is_given_up(postgres_database: str) -> None:
    url = make_url(postgres_database)
    assert url.host is not None
    assert url.port is not None
    with way_to(url.host, url.port) as way:
        through = url.set(host="127.0.0.1", port=way.port).render_as_string(hide_password=False)
        engine = open_engine(through, timeout_seconds=0.3)
        with reading(engine) as connection:
            connection.execute(text("SELECT 1"))
        way.fall_silent()
        # The connection at hand says nothing, and a new one cannot be made.
        with pytest.raises(OperationalError), reading(engine) as connection:
            connection.execute(text("SELECT 1"))
        way.speak_again()
        with reading(engine) as connection:
            connection.execute(text("SELECT 1"))
        engine.dispose()


def test_a_process_stuck_with_the_head_of_the_log_stops_nobody_for_good(
    postgres_database: str,
) -> None:
    stuck, healthy = (open_engine(postgres_database, timeout_seconds=3) for _ in range(2))
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        with suppress(DBAPIError), writing(stuck) as connection:
            chained_logs.lock_audit(connection)
            holding.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait()
    try:
        say(healthy, "a")
    finally:
        done.set()
        holder.join()
    with reading(healthy) as connection:
        assert list(chained_logs.audit_faults(connection)) == []
    stuck.dispose()
    healthy.dispose()


def test_a_lock_and_a_statement_are_waited_for_in_vain_only_so_long(
    postgres_database: str,
) -> None:
    engine = open_engine(postgres_database, timeout_seconds=1)
    with pytest.raises(OperationalError, match="statement timeout"), reading(engine) as connection:
        connection.execute(text("SELECT pg_sleep(60)"))
    with writing(engine) as first:
        chained_logs.lock_audit(first)
        # Not idle, so that it is not ended before the other gives up.
        waiting = threading.Thread(target=lambda: first.execute(text("SELECT pg_sleep(0.9)")))
        waiting.start()
        with pytest.raises(OperationalError, match="lock timeout"):
            say(engine, "b")
        waiting.join()
    engine.dispose()


def test_a_writer_that_waits_for_another_on_sqlite_gives_up(sqlite_database: str) -> None:
    engine = open_engine(sqlite_database, timeout_seconds=0.1)
    with (
        writing(engine),
        pytest.raises(OperationalError, match="locked"),
        writing(engine),
    ):
        pass
    engine.dispose()


def test_a_process_has_no_more_connections_than_it_was_given(database_url: str) -> None:
    engine = open_engine(database_url, connections=2, timeout_seconds=0.3)
    with reading(engine), reading(engine), pytest.raises(NoConnectionFree), reading(engine):
        pass
    engine.dispose()


def test_a_migration_is_not_hurried_and_leaves_its_connection_patient(
    unprepared_database_url: str,
) -> None:
    engine = open_engine(unprepared_database_url, connections=1, timeout_seconds=7)
    migrate(engine)
    if engine.dialect.name == "postgresql":
        with reading(engine) as connection:
            assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "7s"
            assert connection.execute(text("SHOW lock_timeout")).scalar_one() == "4666ms"
            raw = connection.connection.dbapi_connection
            assert getattr(raw, "timeout_seconds", None) == 12
    engine.dispose()


def test_what_the_operator_says_in_the_url_wins(postgres_database: str) -> None:
    url = make_url(postgres_database).update_query_dict({"options": "-c statement_timeout=99000"})
    engine = open_engine(url.render_as_string(hide_password=False))
    with reading(engine) as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "99s"
    engine.dispose()
