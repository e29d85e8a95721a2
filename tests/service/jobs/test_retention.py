"""Files of jobs go with their job: those of jobs that ended long ago, and those that no job knows."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import update

from app.service.jobs.retention import tidy
from app.service.progress import NO_PROGRESS
from app.store.database import jobs, tables
from app.store.database.engine import reading, writing
from tests.api.conftest import Service
from tests.api.jobs.test_async_requests import ended
from tests.api.story import PEOPLE

HEADERS = {"Content-Type": "text/csv", "Prefer": "respond-async"}
ADDRESS = "/v1/synthesis/primp?seed=1"


def test_files_are_swept_when_their_job_is_gone(sqlite_database: str, tmp_path: Path) -> None:
    service = Service(sqlite_database, tmp_path / "home")
    resources = service.app.state.resources
    with service.client() as running:
        old = running.post(ADDRESS, content=PEOPLE, headers=HEADERS).headers["Location"]
        ended(running, old)
    client = service.client()
    waiting = client.post(ADDRESS, content=PEOPLE, headers=HEADERS).headers["Location"]
    folder = service.home / "blobs" / "jobs"
    # Of a request that was cut off by a kill, before and after its row would have come.
    (folder / "job_lost-request.parquet").write_bytes(b"x")
    (folder / "job_begun-request.partial").write_bytes(b"x")
    (folder / "job_new-request.partial").write_bytes(b"x")
    long_ago = time.time() - timedelta(days=3).total_seconds()
    for file in folder.iterdir():
        if "job_new" not in file.name:
            os.utime(file, (long_ago, long_ago))
    old_id, waiting_id = (one.rpartition("/")[2] for one in (old, waiting))
    with writing(resources.engine) as connection:
        connection.execute(
            update(tables.jobs)
            .where(tables.jobs.c.id == old_id)
            .values(finished_at=datetime.now(UTC) - timedelta(days=30))
        )
    with reading(resources.engine) as connection:
        known = jobs.one(connection, waiting_id)
    assert known is not None
    outcome = tidy(resources, known, NO_PROGRESS)
    assert outcome.value == {"removed": 1}
    assert {file.name for file in folder.iterdir()} == {
        "job_new-request.partial",
        f"{waiting_id}-request.parquet",
    }
    assert client.get(old).status_code == 404
    service.close()
