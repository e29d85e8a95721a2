"""A lock of a row is waited for by one transaction of each process, so that none keeps it from the others for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError

from app.store.database import tables
from app.store.database.engine import lock_row, open_engine, reading, writing

HEAD = select(tables.audit_head).with_for_update()
"""A row that is always there."""


def opened(database: str, name: str, timeout_seconds: float) -> Engine:
    url = make_url(database).update_query_dict({"application_name": name})
    return open_engine(url.render_as_string(hide_password=False), timeout_seconds=timeout_seconds)


class Writers:
    """Transactions of one process that lock the row, and keep it until they are told to end."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []
        self.begun = self.locked = 0

    def add(self, count: int) -> None:
        for _ in range(count):
            self._threads.append(threading.Thread(target=self._write))
            self._threads[-1].start()

    def _write(self) -> None:
        with suppress(DBAPIError), writing(self._engine) as connection:
            connection.execute(text("SELECT 1"))
            self.begun += 1
            lock_row(connection, "head", HEAD)
            self.locked += 1
            self._end.wait()

    def until_begun(self, count: int) -> None:
        while self.begun < count:
            time.sleep(0.001)

    def until_locked(self) -> None:
        while not self.locked:
            time.sleep(0.001)

    def end(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def writers(engine: Engine, count: int) -> Iterator[Writers]:
    crew = Writers(engine)
    crew.add(count)
    try:
        yield crew
    finally:
        crew.end()
        engine.dispose()


def sessions(watching: Engine, name: str, condition: str) -> int:
    query = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = :name AND {condition}"
    with reading(watching) as connection:
        return int(connection.execute(text(query), {"name": name}).scalar_one())


def until(watching: Engine, name: str, condition: str, count: int) -> None:
    while sessions(watching, name, condition) != count:
        time.sleep(0.01)


def test_a_process_has_one_waiter_for_a_row(postgres_database: str) -> None:
    watching = opened(postgres_database, "watching", 60)
    with (
        writers(opened(postgres_database, "first", 60), 1) as first,
        writers(opened(postgres_database, "second", 60), 0) as second,
    ):
        first.until_locked()
        second.add(4)
        until(watching, "second", "xact_start IS NOT NULL", 4)
        until(watching, "second", "wait_event_type = 'Lock'", 1)
        assert sessions(watching, "second", "wait_event_type = 'Lock'") == 1
        first.end()
        second.end()
        assert (first.locked, second.locked) == (1, 4)
    watching.dispose()


def test_a_stuck_process_with_waiters_lets_go_of_a_row_once(postgres_database: str) -> None:
    """Were its waiters queued in the database, each would keep the row for as long as the first."""
    watching = opened(postgres_database, "watching", 60)
    stuck = opened(postgres_database, "stuck", 3)
    with writers(stuck, 1) as crew:
        crew.until_locked()
        crew.add(3)
        crew.until_begun(4)
        with writers(opened(postgres_database, "healthy", 3), 1) as healthy:
            healthy.end()
            assert healthy.locked == 1
    watching.dispose()


def test_a_wait_in_the_process_ends_as_one_in_the_database(postgres_database: str) -> None:
    engine = opened(postgres_database, "one", 0.6)
    with writing(engine) as first:
        lock_row(first, "head", HEAD)
        lock_row(first, "head", HEAD)  # its own already
        alive = threading.Thread(target=lambda: first.execute(text("SELECT pg_sleep(0.55)")))
        alive.start()
        with pytest.raises(OperationalError), writing(engine) as second:
            lock_row(second, "head", HEAD)
        alive.join()
    with writing(engine) as third:
        lock_row(third, "head", HEAD)
    engine.dispose()


def test_a_transaction_that_fails_lets_the_next_have_the_row(postgres_database: str) -> None:
    engine = opened(postgres_database, "one", 60)

    def fail() -> None:
        with writing(engine) as connection:
            lock_row(connection, "head", HEAD)
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fail()
    engine.dispose()
