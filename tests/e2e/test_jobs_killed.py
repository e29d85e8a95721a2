"""Workers killed in the middle of jobs: no job is lost, none is done twice, no file is half written."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.job import JobState
from app.service.maintenance.verify import verify
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.e2e.job_worker import run_jobs
from tests.e2e.serving import environment
from tests.e2e.victims import victims

LEASE_SECONDS = 1
LATER = {"Prefer": "respond-async", "Content-Type": "text/csv"}
SYNTHESIS = "/v1/synthesis/primp?seed=1"
LONGEST = 0.5
"""Seconds that a worker works on at most once a job runs."""


def table(seed: int, rows: int) -> str:
    values = np.random.default_rng(seed).normal(size=(rows, 4)).round(6)
    lines = [",".join(map(str, row)) for row in values.tolist()]
    return "\n".join(["a,b,c,d", *lines]) + "\n"


@pytest.mark.parametrize(
    ("database_url", "rounds"),
    [
        ("sqlite", 2),
        pytest.param("sqlite", 25, marks=pytest.mark.slow),
        pytest.param("postgres", 25, marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_no_job_is_lost_or_doubled_and_no_file_half_written(
    database_url: str, rounds: int, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    service = Service(database_url, home, JOB_LEASE_SECONDS=str(LEASE_SECONDS))
    client = service.client()
    resources: Resources = service.app.state.resources
    made_from = table(1, 500)
    expected = client.post(SYNTHESIS, content=made_from, headers={"Content-Type": "text/csv"})
    assert expected.status_code == 200
    chance = random.Random(1)
    registered: dict[str, str] = {}
    synthesised: list[str] = []
    in_the_middle = 0
    settings = environment(database_url, home, JOB_LEASE_SECONDS=str(LEASE_SECONDS))
    with victims(settings, run_jobs) as workers:
        for number in range(rounds):
            name = f"r{number}"
            rows = table(10 + number, 20_000)
            registered[name] = accepted(client, f"/v1/datasets?name={name}", rows)
            synthesised.append(accepted(client, SYNTHESIS, made_from))
            worker = workers.begin(number)
            while not unfinished(resources).get(JobState.RUNNING):
                time.sleep(0.01)
            time.sleep(chance.uniform(0, LONGEST) if number else 0)
            workers.kill(worker)
            in_the_middle += unfinished(resources).get(JobState.RUNNING, 0) > 0
        worker = workers.begin(rounds)
        shown = {job: ended(client, job) for job in [*registered.values(), *synthesised]}
        workers.kill(worker)

    told = Counter(one["state"] for one in shown.values())
    print(f"{rounds} kills, {in_the_middle} in the middle of jobs; {dict(told)},", end=" ")
    print(f"begun {Counter(one['attempts'] for one in shown.values())}")
    assert in_the_middle > 0  # else nothing was tested
    for one in shown.values():
        # Taken up again and done or, having lost five workers, reported.
        lost = one["state"] == "failed" and one["problem"]["type"] == "/problems/job-lost"
        assert one["state"] == "done" or lost, one
    there = {one["name"]: one["id"] for one in every_data_set(client)}
    assert len(there) == len(every_data_set(client))
    for name, job in registered.items():
        if shown[job]["state"] == "done":
            assert shown[job]["subject"] == there[name]
    for job in synthesised:
        if shown[job]["state"] == "done":
            assert client.get(shown[job]["result"]).content == expected.content
    results = sum(one["result"] is not None for one in shown.values())
    files = sorted(path.name for path in (home / "blobs" / "jobs").iterdir())
    assert len(files) == results, files
    assert verify(resources, lambda *_: None).findings == []
    service.close()


def accepted(client: TestClient, address: str, rows: str) -> str:
    answer = client.post(address, content=rows, headers=LATER)
    assert answer.status_code == 202, answer.text
    return answer.headers["Location"]


def unfinished(resources: Resources) -> dict[JobState, int]:
    with reading(resources.engine) as connection:
        return jobs.unfinished(connection)


def ended(client: TestClient, job: str) -> dict[str, Any]:
    while True:
        shown: dict[str, Any] = client.get(job).json()
        if shown["state"] not in ("queued", "running"):
            return shown
        time.sleep(0.05)


def every_data_set(client: TestClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/v1/datasets", params={"limit": 1000}).json()[
        "datasets"
    ]
    return found
