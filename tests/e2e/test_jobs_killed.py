"""Workers killed in the middle of jobs: no job is lost, none is done twice, no file is half written.

CORNERWAVE_TEST_KILLS says how many kills there are on each of the two databases; 200 rounds in all are

    CORNERWAVE_TEST_KILLS=100 python -m pytest -s tests/e2e/test_jobs_killed.py
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

import numpy as np
from fastapi.testclient import TestClient

from app.service.resources import Resources
from app.service.upkeep.verify import verify
from app.store.database import jobs
from app.store.database.engine import reading
from app.store.database.jobs import JobState
from tests.api.conftest import Service
from tests.e2e.serving import ROOT, environment

ROUNDS = int(os.environ.get("CORNERWAVE_TEST_KILLS", "6"))
LEASE_SECONDS = 1
LATER = {"Prefer": "respond-async", "Content-Type": "text/csv"}
SYNTHESIS = "/v1/synthesis/primp?seed=1"
ENDING_SECONDS = 300.0
"""For all that is left when the last kill is over; a test that takes so long has failed."""


def table(seed: int, rows: int) -> str:
    values = np.random.default_rng(seed).normal(size=(rows, 4)).round(6)
    lines = [",".join(map(str, row)) for row in values.tolist()]
    return "\n".join(["a,b,c,d", *lines]) + "\n"


def test_no_job_is_lost_or_doubled_and_no_file_half_written(
    database_url: str, tmp_path: Path
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
    longest, in_the_middle = 2.0, 0
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.job_worker"],
        cwd=ROOT,
        env=environment(database_url, home, JOB_LEASE_SECONDS=str(LEASE_SECONDS)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as workers:
        assert workers.stdin is not None
        assert workers.stdout is not None
        for number in range(ROUNDS):
            name = f"r{number}"
            rows = table(10 + number, 20_000)
            registered[name] = accepted(client, f"/v1/datasets?name={name}", rows)
            synthesised.append(accepted(client, SYNTHESIS, made_from))
            child = begin(workers.stdin, workers.stdout)
            until = time.monotonic() + chance.uniform(0, longest)
            while unfinished(resources) and time.monotonic() < until:  # idle, its end shows nothing
                time.sleep(0.05)
            end(child, workers.stdout)
            left = unfinished(resources)
            in_the_middle += left.get(JobState.RUNNING, 0) > 0
            longest *= 1.3 if sum(left.values()) > 4 else 0.8
        child = begin(workers.stdin, workers.stdout)
        shown = {job: ended(client, job) for job in [*registered.values(), *synthesised]}
        end(child, workers.stdout)
        workers.stdin.close()

    told = Counter(one["state"] for one in shown.values())
    print(f"{ROUNDS} kills, {in_the_middle} in the middle of jobs; {dict(told)},", end=" ")
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


def begin(asked: IO[str], told: IO[str]) -> int:
    print("another", file=asked, flush=True)
    return int(told.readline())


def end(child: int, told: IO[str]) -> None:
    os.kill(child, signal.SIGKILL)
    assert told.readline() == "ended\n"


def ended(client: TestClient, job: str) -> dict[str, Any]:
    deadline = time.monotonic() + ENDING_SECONDS
    while True:
        shown: dict[str, Any] = client.get(job).json()
        if shown["state"] not in ("queued", "running"):
            return shown
        assert time.monotonic() < deadline, shown
        time.sleep(0.1)


def every_data_set(client: TestClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/v1/datasets", params={"limit": 1000}).json()[
        "datasets"
    ]
    return found
