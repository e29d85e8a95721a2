"""When things around the service fail, it says so: 503 or 507 with Retry-After, never a 500."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg.sql import SQL
from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from app.errors import StorageFull
from app.service.health import outage_of
from app.store.database.engine import open_engine, reading
from tests.api.conftest import Service
from tests.api.copies.copy_tables import PARQUET, as_parquet, mixed_table, register
from tests.databases import administer


def with_pragma(service: Service, pragma: str) -> None:
    """Every connection to the SQLite database is like this from now on."""
    for engine in (service.app.state.resources.engine, service.app.state.resources.probing):

        def prepare(raw: Any, _record: Any) -> None:
            raw.execute(pragma)

        event.listen(engine, "connect", prepare)
        engine.dispose()


def problem(answer: Any) -> tuple[int, str]:
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["detail"].endswith(".")
    return answer.status_code, said["type"].rpartition("/")[2]


def test_a_database_that_is_gone_is_an_outage(
    postgres_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(postgres_database)
    client = service.client()
    name = make_url(postgres_database).database
    assert name is not None
    server = make_url(postgres_database).set(database="postgres")
    url = server.render_as_string(hide_password=False)
    administer(url, SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false"), name)
    administer(url, SQL("DROP DATABASE {} WITH (FORCE)"), name)
    assert problem(client.get("/v1/principals")) == (503, "unavailable")
    assert problem(client.post("/v1/principals", json={"name": "x"})) == (503, "unavailable")
    ready = client.get("/ready")
    assert (ready.status_code, ready.json()["database"]) == (503, "failing")
    assert client.get("/health").status_code == 200
    administer(url, SQL("CREATE DATABASE {}"), name)  # for the fixture to drop


def test_a_read_only_postgresql_is_not_ready_and_writes_are_told(
    postgres_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(postgres_database)
    name = make_url(postgres_database).database
    assert name is not None
    administer(
        postgres_database, SQL("ALTER DATABASE {} SET default_transaction_read_only = on"), name
    )
    service.app.state.resources.engine.dispose()
    client = service.client()
    ready = client.get("/ready")
    assert (ready.status_code, ready.json()["database"]) == (503, "failing")
    assert client.get("/v1/principals").status_code == 200
    assert problem(client.post("/v1/principals", json={"name": "x"})) == (503, "unavailable")


def test_a_read_only_sqlite_is_not_ready_and_writes_are_told(service: Service) -> None:
    with_pragma(service, "PRAGMA query_only = ON")
    client = service.client()
    ready = client.get("/ready")
    assert (ready.status_code, ready.json()["database"]) == (503, "failing")
    assert client.get("/v1/principals").status_code == 200
    assert problem(client.post("/v1/principals", json={"name": "x"})) == (503, "unavailable")


def test_a_full_sqlite_is_a_full_disk(service: Service) -> None:
    with_pragma(service, "PRAGMA max_page_count = 1")  # which means: not one more than it has
    client = service.client()
    answers = [client.post("/v1/principals", json={"name": f"n{i}"}) for i in range(200)]
    full = next(answer for answer in answers if answer.status_code != 201)
    assert problem(full) == (507, "storage-full")


def test_a_full_postgresql_is_a_full_disk(postgres_database: str) -> None:
    engine = open_engine(postgres_database)
    full = "DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$"
    with pytest.raises(OperationalError) as raised, reading(engine) as connection:
        connection.execute(text(full))
    assert isinstance(outage_of(raised.value), StorageFull)
    engine.dispose()


def test_a_full_disk_of_blobs_leaves_nothing_of_a_registration(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = service.client()
    place = service.app.state.resources.blobs.place
    full = service.home / "blobs" / "full.partial"
    full.symlink_to("/dev/full")
    monkeypatch.setattr(place, "unfinished", lambda _name: str(full))
    before = sorted(path.name for path in (service.home / "blobs").iterdir())
    for rows in (10, 100_000):
        answer = client.post(
            "/v1/datasets",
            params={"name": "people"},
            content=as_parquet(mixed_table(rows)),
            headers={"content-type": PARQUET},
        )
        assert problem(answer) == (507, "storage-full")
        # What stood for the unfinished blob was removed, as a real one would be.
        assert not full.is_symlink()
        full.symlink_to("/dev/full")
    assert sorted(path.name for path in (service.home / "blobs").iterdir()) == before


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS])
def test_a_full_or_read_only_disk_is_not_ready(
    service: Service, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr("app.store.blobs.folder.os.fsync", fail)
    ready = service.client().get("/ready")
    assert (ready.status_code, ready.json()["blobs"]) == (503, "failing")


def test_blobs_that_are_gone_show(service: Service) -> None:
    client = service.client()
    register(client, mixed_table(20), name="one")
    register(client, mixed_table(20), name="two")
    assert client.get("/ready").json()["blobs"] == "ok"
    first, second = (service.home / "blobs").glob("*.parquet")
    whole = first.read_bytes()
    first.unlink()
    service.app.state.probes.blobs._until = 0.0
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["blobs"]) == (200, "incomplete")
    second.write_bytes(b"not what was written")
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["blobs"]) == (503, "failing")
    first.write_bytes(whole)
    assert client.get("/ready").json()["blobs"] == "incomplete"


def test_a_look_that_hangs_is_an_answer_and_hangs_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from app.service.health import Condition, Probe

    let_go = threading.Event()
    looks: list[int] = []

    def look() -> Condition:
        looks.append(1)
        let_go.wait()
        return Condition.OK

    monkeypatch.setattr("app.api.health.DEADLINE_SECONDS", 0.05)
    object.__setattr__(service.app.state.probes, "database", Probe(look))
    client = service.client()
    for _ in range(3):
        answer = client.get("/ready")
        assert (answer.status_code, answer.json()["database"]) == (503, "failing")
    assert len(looks) == 1
    let_go.set()


def test_a_failure_of_our_own_is_still_one(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no number: nobody's disk")

    monkeypatch.setattr("app.service.sharing.principals.principals.page", fail)
    answer = service.client().get("/v1/principals")
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal-error")
