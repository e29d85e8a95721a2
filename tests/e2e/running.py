"""The service as a stranger meets it: a process on a free port, spoken to over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.binaries import free_port

ROOT = Path(__file__).resolve().parents[2]
ADMIN_KEY = "end-to-end-tests-know-this-key-0123456789"
MASTER_KEY = "5a" * 32
SERVE = ("-m", "app", "serve")


@dataclass(frozen=True)
class Service:
    """A process that serves, and a client that holds the administrator's key."""

    process: subprocess.Popen[str]
    url: str
    client: httpx.Client


def environment(home: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The variables of a service with its state under `home`; those of this shell do not count."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    chosen = {"HOME": str(home), "ADMIN_KEY": ADMIN_KEY, "MASTER_KEY": MASTER_KEY, **settings}
    return inherited | {f"CORNERWAVE_{name}": value for name, value in chosen.items()}


def begin(
    home: Path, port: int, settings: Mapping[str, str], program: tuple[str, ...] = SERVE
) -> subprocess.Popen[str]:
    """Start a service without waiting for it."""
    return subprocess.Popen(
        [sys.executable, *program],
        cwd=ROOT,
        env=environment(home, {"PORT": str(port), **settings}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until_it_answers(process: subprocess.Popen[str], port: int) -> Service:
    url = f"http://127.0.0.1:{port}"
    while True:
        try:
            httpx.get(f"{url}/health").raise_for_status()
        except httpx.TransportError:
            if process.poll() is not None:
                raise AssertionError(f"the service ended: {process.communicate()[0]}") from None
            time.sleep(0.05)
        else:
            headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
            return Service(process, url, httpx.Client(base_url=url, headers=headers, timeout=60))


@contextmanager
def serving(home: Path, settings: Mapping[str, str]) -> Iterator[Service]:
    """A service that answers, ended politely when the block ends."""
    port = free_port()
    process = begin(home, port, settings)
    try:
        service = until_it_answers(process, port)
        with service.client:
            yield service
    finally:
        process.terminate()
        process.communicate()


def command(home: Path, name: str, settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """One of the other commands, on the same state."""
    return subprocess.run(
        [sys.executable, "-m", "app", name],
        cwd=ROOT,
        env=environment(home, settings),
        check=False,
        capture_output=True,
        text=True,
    )
