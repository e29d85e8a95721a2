"""PostgreSQL and Redis servers that can be stopped and restarted with the same port and data."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.binaries import (
    CannotStart,
    Start,
    start_postgres,
    start_valkey,
    started,
    temporary_home,
)
from tests.databases import sqlalchemy_url

DURABLE = {"synchronous_commit": "on"}
"""Commits must survive a kill, as in production."""

ATTEMPTS = 10
"""Attempts to start after a kill, while the server's children are still ending."""


@dataclass
class Server:
    """A running server."""

    name: str
    home: Path
    process: subprocess.Popen[bytes]
    url: str

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait()

    def begin(self) -> None:
        """Restart on the same port."""
        for attempt in range(ATTEMPTS):
            try:
                self.process, _ = started(_start(self.name, urlsplit(self.url).port), self.home)
            except CannotStart:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return


@contextmanager
def server(name: str) -> Iterator[Server]:
    """Run `postgres` or `redis` in a temporary folder."""
    home = temporary_home(name)
    try:
        process, url = started(_start(name, None), home)
        one = Server(name, home, process, sqlalchemy_url(url) if name == "postgres" else url)
        try:
            yield one
        finally:
            one.process.send_signal(signal.SIGCONT)
            one.process.send_signal(signal.SIGQUIT if name == "postgres" else signal.SIGTERM)
            one.process.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _start(name: str, port: int | None) -> Start:
    if name == "postgres":
        return partial(start_postgres, port=port, changed=DURABLE)
    return partial(start_valkey, port=port)
