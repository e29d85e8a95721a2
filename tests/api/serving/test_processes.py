"""Processes that share a socket and their counts; with the service in them: tests/e2e/test_many_processes.py."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

from app.api.serving.metrics import SHARED_FOLDER
from app.api.serving.server import Processes
from tests.forked import fork_server

ROOT = Path(__file__).resolve().parents[3]
CHILD = """
import os, socket, sys
listening = socket.socket(fileno=int(sys.argv[1]))
while True:
    with listening.accept()[0] as taken:
        taken.sendall(str(os.getpid()).encode())
"""
COUNTING = """
import os
from app.api.serving.metrics import Metrics

metrics = Metrics()
for times in (2, 3):
    child = os.fork()
    if child == 0:
        metrics.requests.labels("GET", "/shared", "200").inc(times)
        os._exit(0)
    os.waitpid(child, 0)
metrics.requests.labels("GET", "/shared", "200").inc()
print(metrics.text().decode())
"""


def look_after(listening: socket.socket, gone: Path) -> None:
    """Run two processes, and write down which have ended."""

    def note(number: int) -> None:
        with gone.open("a") as noted:
            noted.write(f"{number}\n")

    Processes(listening, 2, ["-c", CHILD], gone=note).run(drain_seconds=1.0)


def answered(listening: socket.socket) -> int:
    """The number of the process that takes a connection."""
    with socket.create_connection(listening.getsockname()) as opened:
        return int(opened.makefile("rb").read())


def test_one_that_dies_is_told_of_and_started_again_and_all_end_together(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        keeper = fork_server().call(look_after, listening, gone)
        first = answered(listening)
        os.kill(first, signal.SIGKILL)
        while not gone.exists():
            time.sleep(0.01)
        assert gone.read_text().split() == [str(first)]
        parent = psutil.Process(keeper.pid)
        while len(parent.children()) < 2:
            time.sleep(0.01)
        children = parent.children()
        assert first not in {child.pid for child in children}
        assert answered(listening) in {child.pid for child in children}
        keeper.terminate()
        assert keeper.wait() == 0
    assert not any(child.is_running() for child in children)
    assert {int(number) for number in gone.read_text().split()} >= {one.pid for one in children}


def test_counts_of_processes_are_summed_also_of_those_that_ended(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        cwd=ROOT,
        env={**os.environ, SHARED_FOLDER: str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert 'cornerwave_requests_total{method="GET",route="/shared",status="200"} 6.0' in done.stdout
