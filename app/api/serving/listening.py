"""The socket that the service listens on, taken before anything else is done.

A second start on the same port then fails before it has changed a key or shown one.
"""

from __future__ import annotations

import socket

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
