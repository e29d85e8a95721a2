"""The app behind a socket: which proxies are believed, how many connections, and how it stops.

The socket is taken before anything else is done. A second start on the same port then fails before it has changed a
key or shown one.
"""

from __future__ import annotations

import resource
import socket
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from app.api.serving.draining import Draining, DrainingServer
from app.api.serving.wire import bounded
from app.errors import CannotStart

BACKLOG = 2_048


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; callers wait in its queue until the service takes them."""
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
