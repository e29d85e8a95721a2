"""A PostgreSQL or a Redis that trials may end, and have again on the same port with the same data."""

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
"""What was committed must outlive the server, as it would where it is run in earnest."""

ATTEMPTS = 10
"""Of a start after a kill: the server's own children may be about to end."""


@dataclass
class Server:
    """The server, while it runs."""

    name: str
    home: Path
    process: subprocess.Popen[bytes]
    url: str

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait()

    def begin(self) -> None:
        """Start again where it was."""
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
    """A `postgres` or a `redis` in a temporary folder."""
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
