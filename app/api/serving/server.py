"""The app behind a socket: which proxies are believed, how many connections, and how it stops.

The socket is taken before anything else is done. A second start on the same port then fails before it has changed a
key or shown one.

Several processes can serve on one socket, and one looks after them. The first process takes the socket and
prepares the database; the others inherit the socket and serve. One that ends unasked is started again. A signal to
stop goes to all of them, and each drains. Should the one that looks after them be killed, they notice by the pipe
that it held, and stop too.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from app.api.serving.refusing import Draining, DrainingServer
from app.api.serving.wire import bounded
from app.errors import CannotStart

BACKLOG = 2_048


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; principals wait in its queue until the service takes them."""
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotStart(
            f"CORNERWAVE_HOST and CORNERWAVE_PORT: nothing can listen on {host}:{port}"
            f" ({error.strerror}); does another Cornerwave run there? Nothing was changed."
        ) from None


KEEP_ALIVE_SECONDS = 75
"""How long a connection waits for the next request: longer than proxies keep theirs, so that they
never send one on a connection that is being closed."""


@dataclass(frozen=True)
class Serving:
    """How the service is served.

    where:
        proxies           addresses and networks whose X-Forwarded-For is believed; others' is not
        most_connections  connections at once
        drain_seconds     from SIGTERM to the end
    """

    host: str
    port: int
    proxies: tuple[str, ...] = ()
    most_connections: int = 1_000
    drain_seconds: float = 30.0


def server(app: FastAPI, serving: Serving) -> DrainingServer:
    """A server of the app, ready to run."""
    draining: Draining = app.state.draining
    config = uvicorn.Config(
        app,
        host=serving.host,
        port=serving.port,
        http=bounded(min(serving.most_connections, _open_files() // 2)),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # From anyone else X-Forwarded-For would be a way past the limits of an address.
        proxy_headers=bool(serving.proxies),
        forwarded_allow_ips=list(serving.proxies),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    return DrainingServer(config, draining, serving.drain_seconds)


def _open_files() -> int:
    """How many files the process may have open, after asking for as many as it can get."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.1
LEAVING_SECONDS = 10.0
"""Beyond the time to drain, what a process gets to end."""

log = logging.getLogger("cornerwave.processes")


@dataclass
class Processes:
    """Processes that serve.

    where:
        arguments   what each is started with, before the descriptors of the socket and of the pipe
        added       what is added to its environment
        gone        called with the number of a process that ended
    """

    listening: socket.socket
    count: int
    arguments: list[str]
    added: dict[str, str] = field(default_factory=dict)
    gone: Callable[[int], None] = lambda _number: None

    def run(self, drain_seconds: float) -> None:
        """Serve until a signal to stop, then until all have ended."""
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        watched, held = os.pipe()
        running = [self._started(watched) for _ in range(self.count)]
        while not stopped.wait(LOOK_SECONDS):
            for place, process in enumerate(running):
                if process.poll() is not None:
                    said = {"ended": process.pid, "code": process.returncode}
                    log.error("a process ended", extra=said)
                    self.gone(process.pid)
                    if stopped.wait(AGAIN_SECONDS):
                        break
                    running[place] = self._started(watched)
        for process in running:
            process.terminate()
        self._wait(running, time.monotonic() + drain_seconds + LEAVING_SECONDS)
        os.close(held)
        os.close(watched)

    def _started(self, watched: int) -> subprocess.Popen[bytes]:
        descriptors = (self.listening.fileno(), watched)
        return subprocess.Popen(  # noqa: S603 - this program again
            [sys.executable, *self.arguments, *map(str, descriptors)],
            env=os.environ | self.added,
            pass_fds=descriptors,
        )

    def _wait(self, running: list[subprocess.Popen[bytes]], until: float) -> None:
        for process in running:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.gone(process.pid)


def stop_with(watched: int) -> None:
    """Stop this process when the one at the other end of the pipe is gone."""

    def watch() -> None:
        os.read(watched, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def empty_folder(folder: Path) -> None:
    """A folder for what these processes share, without what earlier ones left."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in folder.glob("*.db"):
        left.unlink(missing_ok=True)
