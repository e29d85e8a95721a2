"""The service as a stranger meets it: a process on a free port, spoken to over HTTP."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.binaries import free_port
from tests.forked import Forked, Through, fork_server, run_command
from trials.environment.fork_server import run

ADMIN_KEY = "end-to-end-tests-know-this-key-0123456789"
MASTER_KEY = "5a" * 32


@dataclass(frozen=True)
class Beginning:
    """A process that was started to serve, and what it says."""

    process: Forked
    url: str
    log: Path


@dataclass(frozen=True)
class Service:
    """A process that serves, and a client that holds the administrator's key."""

    process: Forked
    url: str
    client: httpx2.Client


def environment(home: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The variables of a service with its state under `home`; those of this shell do not count."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    chosen = {
        "HOME": str(home),
        "ADMIN_KEY": ADMIN_KEY,
        "MASTER_KEY": MASTER_KEY,
        "DRAIN_SECONDS": "1",
        **settings,
    }
    return inherited | {f"CORNERWAVE_{name}": value for name, value in chosen.items()}


@contextmanager
def begun(
    home: Path,
    settings: Mapping[str, str],
    command: str = "serve",
    *,
    through: Through = run,
) -> Iterator[Beginning]:
    """A service that may not answer yet, forked; whatever becomes of the block, it is ended."""
    home.mkdir(exist_ok=True)
    port = free_port()
    log = home / f"{port}.log"
    variables = environment(home, {"PORT": str(port), **settings})
    log.touch()
    process = fork_server().fork([command], variables, log, through=through)
    try:
        yield Beginning(process, f"http://127.0.0.1:{port}", log)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def answering(beginning: Beginning) -> Iterator[Service]:
    """The service, as soon as it answers."""
    process, url = beginning.process, beginning.url
    while True:
        try:
            httpx2.get(f"{url}/health", timeout=60).raise_for_status()
        except httpx2.TransportError:
            assert process.poll() is None, f"the service ended: {beginning.log.read_text()}"
            time.sleep(0.05)
        else:
            break
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
        yield Service(process, url, client)


@contextmanager
def serving(
    home: Path, settings: Mapping[str, str], *, through: Through = run
) -> Iterator[Service]:
    """A service that answers."""
    with begun(home, settings, through=through) as beginning, answering(beginning) as service:
        yield service


def command(home: Path, name: str, settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """One of the other commands, on the same state."""
    return run_command([name], environment(home, settings))
