"""CORNERWAVE_WORKERS: processes that share a socket, a database and their metrics; how, in tests/api/serving."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.e2e.running import serving

PROCESSES = 2
ROUTE = 'cornerwave_requests_total{method="GET",route="/v1/datasets"'
WAIT_SECONDS = 120.0
"""For what must happen; a test that waits so long has failed."""


def waited_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def counted(text: str, name: str) -> float:
    """The sum of all lines of a metric."""
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def counting(home: Path) -> set[int]:
    """The processes that have counted a request for data sets: each has files of its own."""
    files = next(home.glob("metrics-*")).glob("counter_*.db")
    return {
        int(file.stem.rpartition("_")[2]) for file in files if b"/v1/datasets" in file.read_bytes()
    }


@pytest.mark.slow
def test_processes_share_a_socket_and_tell_their_sums(
    postgres_database: str, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": postgres_database, "WORKERS": str(PROCESSES)}
    with serving(tmp_path / "home", settings) as service:
        parent = psutil.Process(service.process.pid)
        asked = 0

        def ask() -> bool:
            nonlocal asked
            # A connection each: they are taken by any process.
            with httpx2.Client(headers=service.client.headers, timeout=60) as client:
                assert client.get(f"{service.url}/v1/datasets").status_code == 200
            asked += 1
            return len(counting(tmp_path / "home")) == PROCESSES

        waited_for(ask)
        metrics = httpx2.get(f"{service.url}/metrics", timeout=60).text
        assert counted(metrics, ROUTE) == asked
        assert counted(metrics, "cornerwave_database_connections{") > 0
        children = parent.children()
    assert not any(child.is_running() for child in children)


@pytest.mark.slow
def test_one_that_dies_is_started_again_and_what_it_counted_stays_counted(
    postgres_database: str, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": postgres_database, "WORKERS": str(PROCESSES)}
    with serving(tmp_path / "home", settings) as service:
        parent = psutil.Process(service.process.pid)
        assert service.client.get("/v1/datasets").status_code == 200
        (killed,) = counting(tmp_path / "home")
        os.kill(killed, signal.SIGKILL)
        waited_for(lambda: killed not in {child.pid for child in parent.children()})
        waited_for(lambda: len(parent.children()) == PROCESSES)
        assert counted(httpx2.get(f"{service.url}/metrics", timeout=60).text, ROUTE) == 1


def test_processes_do_not_outlive_the_one_that_looks_after_them(
    postgres_database: str, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": postgres_database, "WORKERS": str(PROCESSES)}
    with serving(tmp_path / "home", settings) as service:
        children = psutil.Process(service.process.pid).children()
        service.process.kill()
        psutil.wait_procs(children, timeout=WAIT_SECONDS)
        assert not any(child.is_running() for child in children)
