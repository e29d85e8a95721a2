"""The quarantine_orphaned_blobs removes objects that no file names as its own, and never one that is being written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.service.resources import Resources
from app.service.startup.orphaned_blobs import quarantine_orphaned_blobs
from app.store.database.copies import released_files
from app.store.database.engine import reading, writing
from tests.api.conftest import Service
from tests.api.copies.copy_tables import issue, mixed_table, register

NOW = datetime.now(UTC)


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(database_url, tmp_path / "home")
    yield service
    service.close()


def announced(resources: Resources, name: str) -> None:
    with writing(resources.engine) as connection:
        released_files.announce(connection, name, "ds_gone", NOW)


def test_a_sweep_takes_strays_and_nothing_else(service: Service) -> None:
    resources: Resources = service.app.state.resources
    client = service.client()
    copy = issue(client, register(client, mixed_table(100)), level="b")["id"]
    assert client.post(f"/v1/copies/{copy}/files", json={}).status_code == 200
    folder = service.home / "blobs" / "released"
    own = {path.name for path in folder.iterdir()}
    (folder / "unknown.parquet").write_bytes(b"somebody's")
    (folder / "torn.partial").write_bytes(b"half")
    (folder / "left.parquet").write_bytes(b"whole, and no file's")
    for name in ("torn", "left", "live"):
        announced(resources, name)
    with resources.released.new("live").opened() as (sink, _):
        sink.write(b"rows")
        quarantine_orphaned_blobs(resources, NOW)
        live = {"live.partial", "live.uploading"}
        assert {path.name for path in folder.iterdir()} == own | {"unknown.parquet"} | live
    quarantine_orphaned_blobs(resources, NOW)
    assert {path.name for path in folder.iterdir()} == own | {"unknown.parquet"}
    with reading(resources.engine) as connection:
        assert released_files.stray_objects(connection) == []
