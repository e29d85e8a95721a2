"""The service under measurement, as a child process or in process, and what a process used."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import urlopen

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

ADMIN_KEY = "benchmark-administrator-key-0123456789"
HEADERS = {"Authorization": f"Bearer {ADMIN_KEY}"}


def environment(home: Path, **settings: str) -> dict[str, str]:
    """Return the variables of a service with its state under `home`."""
    chosen = {"HOME": str(home), "ADMIN_KEY": ADMIN_KEY, **settings}
    return {f"CORNERWAVE_{name}": value for name, value in chosen.items()}


@contextmanager
def serve(home: Path, **settings: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a server process on a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "serve"],
        env=inherited | environment(home, PORT=str(port), **settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                urlopen(f"{url}/health").close()
                break
            except URLError:
                if process.poll() is not None:
                    raise RuntimeError("the service does not start") from None
                time.sleep(0.05)
        yield url, process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def serve_in_process(home: Path, **settings: str) -> Iterator[TestClient]:
    """Run the service in this process and yield the administrator's client."""
    from fastapi.testclient import TestClient

    from app.main import create_app
    from app.settings import settings_from

    app = create_app(settings_from(environment(home, **settings)))
    with TestClient(app, headers=HEADERS) as client:
        yield client


def finalize_agreement(owner: Any, recipient: Any, form: dict[str, Any]) -> str:
    """Negotiate an agreement between two HTTP clients until it is in force; return its id."""
    offered = owner.post("/v1/agreements", json=form)
    assert offered.status_code == 201, offered.text
    agreement = str(offered.json()["id"])
    for client, message in (
        (recipient, "accept"),
        (owner, "agree"),
        (recipient, "verify"),
        (owner, "finalize"),
    ):
        answer = client.post(f"/v1/agreements/{agreement}/{message}", json={})
        assert answer.status_code == 200, answer.text
    return agreement


def peak_bytes(pid: int | str = "self") -> int:
    """Return the peak resident memory of a process, 0 once it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) * 1024 if peak else 0


def processor_seconds(pid: int | str) -> float:
    """Return the processor time of a process, 0 once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
