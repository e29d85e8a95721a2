"""Supervisor of worker processes that share a socket and metrics; of the whole service: tests/e2e/test_many_processes.py."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import psutil
import pytest

from app.api.serving import server
from app.api.transport.metrics import SHARED_FOLDER, share_metrics
from tests.forked import fork_server

ROOT = Path(__file__).resolve().parents[3]
COUNTING = """
import os
from app.api.transport.metrics import Metrics

metrics = Metrics()
for times in (2, 3):
    child = os.fork()
    if child == 0:
        metrics.requests.labels("GET", "/shared", "200").inc(times)
        os._exit(0)
    os.waitpid(child, 0)
metrics.requests.labels("GET", "/shared", "200").inc()
print(metrics.exposition().decode())
"""


def supervise(factory: str, listening: socket.socket, metrics: Path) -> None:
    """Run two workers, which have a tenth of a second to end."""
    sys.stdin = None  # a fork server's is no descriptor that workers inherit
    share_metrics(metrics)
    server.EXIT_SECONDS = 0.0
    config = server.server_config(f"tests.api.serving.small_apps:{factory}", workers=2)
    server.Supervisor(config, listening, drain_seconds=0.1).run()


def answering_pid(listening: socket.socket) -> int:
    """Return the id of the worker that accepts a connection."""
    host, port = listening.getsockname()
    return int(httpx2.get(f"http://{host}:{port}", timeout=60).text)


def pids_with_gauges(metrics: Path) -> set[int]:
    return {int(file.stem.rpartition("_")[2]) for file in metrics.glob("gauge_livesum_*.db")}


def wait_for(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


def test_a_worker_that_died_is_replaced_and_all_end_together(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        supervisor = fork_server().call(supervise, "create", listening, tmp_path)
        first = answering_pid(listening)
        wait_for(lambda: len(pids_with_gauges(tmp_path)) == 2)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: first not in pids_with_gauges(tmp_path))
        wait_for(lambda: len(pids_with_gauges(tmp_path)) == 2)
        workers = {psutil.Process(pid) for pid in pids_with_gauges(tmp_path)}
        assert answering_pid(listening) in {worker.pid for worker in workers}
        supervisor.terminate()
        assert supervisor.wait() == 0
    assert not any(worker.is_running() for worker in workers)
    assert pids_with_gauges(tmp_path) == set()


@pytest.mark.parametrize(
    ("factory", "number"), [("create_deaf", signal.SIGTERM), ("create", signal.SIGKILL)]
)
def test_no_worker_outlives_its_supervisor(
    factory: str, number: signal.Signals, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        supervisor = fork_server().call(supervise, factory, listening, tmp_path)
        wait_for(lambda: len(pids_with_gauges(tmp_path)) == 2)
        workers = [psutil.Process(pid) for pid in pids_with_gauges(tmp_path)]
        supervisor.send_signal(number)
        supervisor.wait()
        psutil.wait_procs(workers)


def test_counts_of_processes_are_summed_even_after_they_ended(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        cwd=ROOT,
        env={**os.environ, SHARED_FOLDER: str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert 'cornerwave_requests_total{method="GET",route="/shared",status="200"} 6.0' in done.stdout
