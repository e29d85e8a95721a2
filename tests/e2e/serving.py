"""The service as real processes on ports of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2

from tests.binaries import free_port
from tests.forked import Forked, fork_server

ROOT = Path(__file__).resolve().parents[2]
ADMIN_KEY = "test-administrator-key-0123456789abcdef"
MASTER_KEY = "5a" * 32
HEADERS = {"Authorization": f"Bearer {ADMIN_KEY}"}


def environment(database_url: str, home: Path, **settings: str) -> dict[str, str]:
    """What a process of the service is started with."""
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
        "OMP_NUM_THREADS": "1",
        "CORNERWAVE_DATABASE_URL": database_url,
        "CORNERWAVE_HOME": str(home),
        "CORNERWAVE_ADMIN_KEY": ADMIN_KEY,
        "CORNERWAVE_MASTER_KEY": MASTER_KEY,
        "CORNERWAVE_MAX_REQUESTS_PER_MINUTE": "1000000",
        "CORNERWAVE_DRAIN_SECONDS": "1",
        **{f"CORNERWAVE_{name}": value for name, value in settings.items()},
    }


@contextmanager
def serving(
    database_url: str, home: Path, *, processes: int = 1, **settings: str
) -> Iterator[list[str]]:
    """The URLs of so many processes that share a database and a home; ended with the block."""
    home.mkdir(exist_ok=True)
    with ExitStack() as stack:
        started: dict[str, Forked] = {}
        for number in range(processes):
            port = free_port()
            process = fork_server().fork(
                ["serve"],
                environment(database_url, home, PORT=str(port), **settings),
                home / f"process-{number}.log",
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            started[f"http://127.0.0.1:{port}"] = process
            if number == 0:
                # The first start makes the schema, the key and the administrator; then the others.
                _wait_until_it_answers(f"http://127.0.0.1:{port}", process)
        for url, process in started.items():
            _wait_until_it_answers(url, process)
        yield list(started)


def _wait_until_it_answers(url: str, process: Forked) -> None:
    while process.poll() is None:
        try:
            if httpx2.get(f"{url}/health", timeout=60).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise ChildProcessError("the service did not start; its log is in its home")
