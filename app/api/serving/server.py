"""Uvicorn server: its configuration, and the supervisor of several processes.

The socket is bound before anything else is done: a second start on the same port fails before it has changed a key
or shown one. Worker processes inherit it from uvicorn's supervisor, which replaces one that ended or hangs, restarts
them one by one on SIGHUP, and passes SIGTERM on to all. Added here: an end in bounded time, workers that stop with
their supervisor, and metrics without the gauges of workers that ended.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Sequence

from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn import Config
from uvicorn.supervisors import Multiprocess

from app.api.serving.admission import notice_seconds
from app.api.serving.connection_limits import LimitedProtocol
from app.errors import CannotStart

BACKLOG = 2_048
KEEP_ALIVE_SECONDS = 75
"""How long a connection waits for the next request: longer than proxies keep theirs, so that they
never send one on a connection that is being closed."""

HANG_SECONDS = 60
"""How long a worker may not answer its supervisor: orjson held the interpreter 3.8 s for 4 million numbers."""

EXIT_SECONDS = 10.0
"""Beyond the time to drain, what a worker gets to end."""


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; connections wait in its backlog until the service accepts them."""
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


def server_config(
    app: FastAPI | str,
    *,
    workers: int = 1,
    proxies: Sequence[str] = (),
    max_connections: int = 1_000,
    drain_seconds: float = 30.0,
) -> Config:
    """Return uvicorn's configuration for an app, or for the import path of a function that creates it.

    where:
        proxies          addresses and networks whose X-Forwarded-For is trusted; from any other it would be a way
                         past the rate limits of an address
        max_connections  connections of a process
        drain_seconds    from SIGTERM to the end
    """
    return Config(
        app,
        factory=isinstance(app, str),
        workers=workers,
        http=LimitedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        limit_concurrency=min(max_connections, _open_files() // 2),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=drain_seconds - notice_seconds(drain_seconds),  # type: ignore[arg-type]
        timeout_worker_healthcheck=HANG_SECONDS,
    )


def _open_files() -> int:
    """Return how many files the process may have open, after raising the limit as far as it goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


class Supervisor(Multiprocess):
    """uvicorn's supervisor, which ends in bounded time and removes the gauges of workers that ended."""

    def __init__(self, config: Config, listening: socket.socket, drain_seconds: float) -> None:
        super().__init__(config, [listening])
        self._exit_seconds = drain_seconds + EXIT_SECONDS
        self._pids: set[int | None] = set()

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        self._note_workers({worker.pid for worker in self.processes})

    def join_all(self) -> None:
        deadline = time.monotonic() + self._exit_seconds
        for worker in self.processes:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.process.kill()
            worker.process.join()
        self._note_workers(set())

    def _note_workers(self, pids: set[int | None]) -> None:
        for ended in self._pids - pids:
            mark_process_dead(ended)
        self._pids = pids


def stop_with_supervisor() -> None:
    """Stop this worker process when its supervisor has ended, however that ended."""
    supervisor = multiprocessing.parent_process()
    assert supervisor is not None

    def watch() -> None:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watch-supervisor", daemon=True).start()
