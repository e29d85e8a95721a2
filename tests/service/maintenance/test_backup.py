"""A backup has database and blobs of one moment; restored, everything is as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import CannotStart
from app.service.jobs.runner import Runner
from app.service.maintenance.backup import back_up
from app.service.maintenance.restore import restore
from app.service.maintenance.verify import verify
from app.store.blobs.store import place_at
from app.store.database.engine import open_engine
from tests.api.conftest import MASTER_KEY, Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register, rows_of
from tests.api.jobs.test_async_requests import ended
from tests.api.story import PEOPLE
from tests.databases import fresh_database
from tests.portal.test_sessions import signed_in
from tests.portal.test_workbench import begun, finished

KEY = bytes.fromhex(MASTER_KEY)


def quiet(_what: str, _done: int, _total: int) -> None:
    pass


@pytest.fixture
def service(sqlite_database: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(sqlite_database, tmp_path / "home")
    yield service
    service.close()


@pytest.fixture
def empty_postgres(postgres_url: str) -> Iterator[str]:
    """A PostgreSQL database that nothing was ever in."""
    with fresh_database(postgres_url) as url:
        yield url


def backed_up(service: Service, folder: Path) -> dict[str, Any]:
    resources = service.app.state.resources
    return back_up(resources.engine, resources.blobs.place, folder, quiet)


def restored(folder: Path, url: str, blobs: Path, key: bytes = KEY) -> None:
    engine = open_engine(url)
    try:
        restore(engine, place_at(str(blobs)), folder, [key], quiet)
    finally:
        engine.dispose()


@pytest.mark.parametrize("source", ["sqlite", "postgres"])
def test_everything_comes_back_on_the_other_database(
    source: str, sqlite_database: str, postgres_database: str, empty_postgres: str, tmp_path: Path
) -> None:
    empty_sqlite = f"sqlite:///{tmp_path}/restored.sqlite"
    url, target_url = (
        (sqlite_database, empty_postgres)
        if source == "sqlite"
        else (postgres_database, empty_sqlite)
    )
    service = Service(url, tmp_path / "home")
    client = service.client()
    dataset = register(client, mixed_table(300))
    first = issue(client, dataset, level="b")["id"]
    append(client, dataset, mixed_table(300, seed=1))
    client.post(f"/v1/datasets/{dataset}/rows/retire", json={"rows": [3]})
    copies = [first, issue(client, dataset, level="c")["id"]]
    before = [rows_of(client, copy) for copy in copies]
    entries = client.get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    said = backed_up(service, tmp_path / "backup")
    assert said["log_entries"] >= len(entries) > 0
    # What comes after the backup is no part of it.
    register(client, mixed_table(20), name="later")

    restored(tmp_path / "backup", target_url, tmp_path / "new")
    after = Service(target_url, tmp_path / "new-home", BLOB_URL=str(tmp_path / "new"))
    names = [one["name"] for one in after.client().get("/v1/datasets").json()["datasets"]]
    assert names == ["people"]
    assert all(
        rows_of(after.client(), copy).equals(rows)
        for copy, rows in zip(copies, before, strict=True)
    )
    found = verify(after.app.state.resources, quiet)
    assert found.findings == []
    assert (found.data_sets, found.blobs, found.copies) == (1, 2, 2)
    log = after.client().get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    assert log[: len(entries)] == entries
    assert "backup.restore" in [entry["action"] for entry in log[len(entries) :]]
    after.close()
    service.close()


def test_jobs_come_back_with_what_was_sent_and_what_they_answered(
    service: Service, tmp_path: Path
) -> None:
    target_url = f"sqlite:///{tmp_path}/restored.sqlite"
    address = "/v1/synthesis/primp?seed=1"
    headers = {"Content-Type": "text/csv", "Prefer": "respond-async"}
    with service.client() as running:
        done = running.post(address, content=PEOPLE, headers=headers).headers["Location"]
        shown = ended(running, done)
        answer = running.get(shown["result"]).content
    waiting = service.client().post(address, content=PEOPLE, headers=headers).headers["Location"]
    resources = service.app.state.resources
    assert verify(resources, quiet).findings == []
    said = backed_up(service, tmp_path / "backup")
    assert len(said["jobs"]) == 2

    restored(tmp_path / "backup", target_url, tmp_path / "new")
    after = Service(target_url, tmp_path / "new-home", BLOB_URL=str(tmp_path / "new"))
    assert verify(after.app.state.resources, quiet).findings == []
    with after.client() as running:
        assert running.get(shown["result"]).content == answer
        again = ended(running, waiting)
        assert running.get(again["result"]).content == answer
    after.close()
    # What is lost is told.
    request, kept = waiting.rpartition("/")[2], done.rpartition("/")[2]
    for file in (service.home / "blobs" / "jobs").iterdir():
        file.unlink()
    found = [one.where.split()[1] for one in verify(resources, quiet).findings]
    assert sorted(found) == sorted([request, kept])


def test_work_of_the_workbench_comes_back(service: Service, tmp_path: Path) -> None:
    key = service.principal("recipient")[1].headers["authorization"].removeprefix("Bearer ")
    client = signed_in(service, key)
    options: dict[str, object] = {"confidential": ["c"], "seed": 7}
    done = begun(client, "swap", options)
    resources = service.app.state.resources
    runner = Runner(resources, 1)
    runner.start()
    try:
        finished(client, done)
    finally:
        runner.stop(0.0)
    swapped = client.get(f"{done}/content").content
    begun(client, "swap", options)
    assert len(backed_up(service, tmp_path / "backup")["jobs"]) == 2

    restored(tmp_path / "backup", f"sqlite:///{tmp_path}/restored.sqlite", tmp_path / "new")
    after = Service(
        f"sqlite:///{tmp_path}/restored.sqlite", tmp_path / "home-2", BLOB_URL=str(tmp_path / "new")
    )
    assert verify(after.app.state.resources, quiet).findings == []
    assert signed_in(after, key).get(f"{done}/content").content == swapped
    after.close()
    # What is lost is told.
    for file in (service.home / "blobs" / "jobs").iterdir():
        file.unlink()
    assert len(verify(resources, quiet).findings) == 2


def test_a_data_set_removed_during_the_backup_is_no_part_of_it(
    service: Service, tmp_path: Path
) -> None:
    client = service.client()
    register(client, mixed_table(20), name="stays")
    goes = register(client, mixed_table(20), name="goes")
    removed: list[int] = []

    def remove(what: str, done: int, total: int) -> None:
        if not removed:
            removed.append(client.delete(f"/v1/datasets/{goes}").status_code)

    resources = service.app.state.resources
    said = back_up(resources.engine, resources.blobs.place, tmp_path / "backup", remove)
    assert removed == [204]
    tables = tmp_path / "backup" / "tables"
    (kept,) = [json.loads(line) for line in (tables / "datasets.jsonl").read_text().splitlines()]
    assert kept["name"] == "stays"
    (part,) = [json.loads(line) for line in (tables / "parts.jsonl").read_text().splitlines()]
    assert list(said["blobs"]) == [part["blob"]]
    assert [path.stem for path in (tmp_path / "backup" / "blobs").iterdir()] == [part["blob"]]


def test_nothing_is_overwritten_and_nothing_damaged_or_foreign_is_taken(
    service: Service, tmp_path: Path
) -> None:
    client = service.client()
    register(client, mixed_table(20))
    folder = tmp_path / "backup"
    backed_up(service, folder)
    with pytest.raises(CannotStart, match="exists already"):
        backed_up(service, folder)
    fresh = f"sqlite:///{tmp_path}/fresh.sqlite"
    with pytest.raises(CannotStart, match="BLOB_URL is not empty"):
        restored(folder, fresh, service.home / "blobs")
    used = service.app.state.resources.engine.url.render_as_string(hide_password=False)
    with pytest.raises(CannotStart, match="DATABASE_URL is not empty"):
        restored(folder, used, tmp_path / "new")
    with pytest.raises(CannotStart, match="CORNERWAVE_MASTER_KEY is not the key"):
        restored(folder, fresh, tmp_path / "new", bytes(32))
    (blob,) = (folder / "blobs").iterdir()
    blob.write_bytes(blob.read_bytes()[:-1] + b"x")
    with pytest.raises(CannotStart, match="is not what was backed up"):
        restored(folder, fresh, tmp_path / "new")
    (folder / "manifest.json").unlink()
    with pytest.raises(CannotStart, match="holds no backup"):
        restored(folder, fresh, tmp_path / "new")
    assert not list((tmp_path / "new").glob("*.parquet"))


def test_a_backup_that_fails_leaves_nothing(service: Service, tmp_path: Path) -> None:
    register(service.client(), mixed_table(20))

    def fail(_what: str, _done: int, _total: int) -> None:
        raise OSError("the disk is full")

    resources = service.app.state.resources
    with pytest.raises(OSError, match="full"):
        back_up(resources.engine, resources.blobs.place, tmp_path / "backup", fail)
    assert not list(tmp_path.glob("backup*"))
