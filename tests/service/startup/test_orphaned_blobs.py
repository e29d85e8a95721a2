"""A quarantine_orphaned_blobs touches what the database proves to be its own and unfinished, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.main import open_resources
from app.model import Role
from app.service.context import RequestContext
from app.service.copies.removal import remove_dataset
from app.service.resources import Resources
from app.service.startup.installation import ensure_administrator
from app.service.startup.orphaned_blobs import BEGINNING, QUARANTINE, quarantine_orphaned_blobs
from app.settings import settings_from
from app.store.database import chained_logs
from app.store.database.datasets import orphaned_blobs
from app.store.database.datasets.orphaned_blobs import Reason
from app.store.database.engine import reading, writing
from app.store.database.sharing import principals
from tests.api.conftest import MASTER_KEY, Service
from tests.api.copies.copy_tables import mixed_table, register

NOW = datetime.now(UTC)
LATER = NOW + QUARANTINE + timedelta(seconds=1)


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(database_url, tmp_path / "home")
    yield service
    service.close()


def resources_of(service: Service) -> Resources:
    resources: Resources = service.app.state.resources
    return resources


def begun(resources: Resources, name: str, reason: Reason = Reason.UPLOAD) -> None:
    """An upload as a crash leaves it: announced, its lock gone."""
    with writing(resources.engine) as connection:
        orphaned_blobs.add(connection, [name], reason, NOW)


def files(service: Service) -> dict[str, bytes]:
    folder = service.home / "blobs"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "cornerwave-store.json"
    }


def actions(resources: Resources) -> list[tuple[str, str]]:
    with reading(resources.engine) as connection:
        entries = chained_logs.audit_page(connection, after=0, limit=1_000)
    return [(e.action, e.subject) for e in entries if e.action.startswith("blob.")]


def test_files_that_the_database_does_not_know_are_left_alone(service: Service) -> None:
    register(service.client(), mixed_table(50))
    folder = service.home / "blobs"
    for name in ("stranger.parquet", "stranger.partial", "stranger.uploading", "notes.txt"):
        (folder / name).write_bytes(b"somebody's")
    before = files(service)
    assert quarantine_orphaned_blobs(resources_of(service), LATER) == {}
    assert files(service) == before


def test_an_unfinished_upload_is_set_aside_told_and_removed_after_days(service: Service) -> None:
    resources = resources_of(service)
    register(service.client(), mixed_table(50))
    kept = files(service)
    for name, ending in (("whole", "parquet"), ("torn", "partial")):
        begun(resources, name)
        (service.home / "blobs" / f"{name}.{ending}").write_bytes(b"rows")
    assert quarantine_orphaned_blobs(resources, NOW) == dict.fromkeys(
        ("whole", "torn"), "blob.quarantine"
    )
    aside = {"quarantine/whole.parquet": b"rows", "quarantine/torn.partial": b"rows"}
    assert files(service) == kept | aside
    assert quarantine_orphaned_blobs(resources, NOW + QUARANTINE / 2) == {}
    assert files(service) == kept | aside
    assert quarantine_orphaned_blobs(resources, LATER) == dict.fromkeys(
        ("whole", "torn"), "blob.remove"
    )
    assert files(service) == kept
    assert sorted(actions(resources)) == sorted(
        (action, name)
        for action in ("blob.quarantine", "blob.remove")
        for name in ("whole", "torn")
    )
    assert quarantine_orphaned_blobs(resources, LATER) == {}


def test_a_live_upload_is_not_looked_at(service: Service) -> None:
    resources = resources_of(service)
    schema = mixed_table(1).schema

    def announce() -> None:
        begun(resources, "live")

    with resources.blobs.writer("live", schema, announce) as upload:
        assert quarantine_orphaned_blobs(resources, LATER) == {}
        upload.finish()
        assert quarantine_orphaned_blobs(resources, LATER) == {}
    assert quarantine_orphaned_blobs(resources, LATER) == {"live": "blob.quarantine"}


def test_an_upload_that_left_nothing_is_forgotten_when_it_cannot_be_about_to_begin(
    service: Service,
) -> None:
    resources = resources_of(service)
    begun(resources, "nothing")
    assert quarantine_orphaned_blobs(resources, NOW) == {}
    with reading(resources.engine) as connection:
        assert [blob.name for blob in orphaned_blobs.all_of_them(connection)] == ["nothing"]
    assert quarantine_orphaned_blobs(resources, NOW + BEGINNING) == {}
    with reading(resources.engine) as connection:
        assert orphaned_blobs.all_of_them(connection) == []


def test_a_blob_that_a_data_set_refers_to_stays_whatever_else_is_said_of_it(
    service: Service,
) -> None:
    resources = resources_of(service)
    register(service.client(), mixed_table(50))
    (name,) = resources.blobs.place.names()
    begun(resources, name)
    assert quarantine_orphaned_blobs(resources, LATER) == {}
    assert resources.blobs.place.names() == {name}


def test_the_lock_that_a_kill_left_beside_a_committed_blob_goes(service: Service) -> None:
    resources = resources_of(service)
    register(service.client(), mixed_table(50))
    before = files(service)
    (name,) = resources.blobs.place.names()
    (service.home / "blobs" / f"{name}.uploading").touch()
    quarantine_orphaned_blobs(resources, NOW)
    assert files(service) == before


def test_a_blob_in_quarantine_that_a_data_set_needs_comes_back(service: Service) -> None:
    """An older database set it aside, and then the newer one was restored."""
    resources = resources_of(service)
    register(service.client(), mixed_table(50))
    before = files(service)
    (name,) = resources.blobs.place.names()
    resources.blobs.set_aside(name)
    assert quarantine_orphaned_blobs(resources, LATER) == {name: "blob.bring-back"}
    assert files(service) == before


def test_what_a_removal_could_not_remove_goes_with_the_next_sweep(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = resources_of(service)
    dataset = register(service.client(), mixed_table(50))
    (name,) = resources.blobs.place.names()
    with reading(resources.engine) as connection:
        context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "r1")

    def fail(_name: str) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(resources.blobs, "delete", fail)
        remove_dataset(resources, context, dataset)
    assert resources.blobs.place.names() == {name}
    assert quarantine_orphaned_blobs(resources, NOW) == {name: "blob.remove"}
    assert files(service) == {}


def test_an_upload_that_is_refused_leaves_neither_file_nor_name(service: Service) -> None:
    bad = b"a,b\n1,2\n3\n"
    answer = service.client().post(
        "/v1/datasets", params={"name": "bad"}, content=bad, headers={"content-type": "text/csv"}
    )
    assert answer.status_code == 422
    assert files(service) == {}
    with reading(resources_of(service).engine) as connection:
        assert orphaned_blobs.all_of_them(connection) == []


def test_an_older_database_takes_nothing_of_what_came_after_it(tmp_path: Path) -> None:
    """The database of a backup, started on the store of today."""
    from tests.api.copies.copy_tables import copy_database

    today, backup = (f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("today", "backup"))
    service = Service(today, tmp_path / "home")
    copy_database(today, backup)
    register(service.client(), mixed_table(50))
    kept = files(service)
    service.close()
    environment = {
        "CORNERWAVE_HOME": str(tmp_path / "home"),
        "CORNERWAVE_DATABASE_URL": backup,
        "CORNERWAVE_MASTER_KEY": MASTER_KEY,
    }
    resources = open_resources(settings_from(environment))
    ensure_administrator(resources, None)
    assert quarantine_orphaned_blobs(resources, LATER) == {}
    resources.engine.dispose()
    assert files(service) == kept
