"""TCP proxy that can reset its connections on demand."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of zero: closing sends a reset."""


@dataclass
class TcpProxy:
    """Connections from clients to a service."""

    target: str
    port: int = 0
    up: bool = True
    cuts: int = 0
    _ends: list[socket.socket] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Reset every connection and refuse new ones."""
        with self._lock:
            self.up = False
            ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.cuts += len(ends) // 2

    def restore(self) -> None:
        self.up = True

    def serve(self, server: socket.socket) -> None:
        while True:
            try:
                caller = server.accept()[0]
            except OSError:
                return
            try:
                service = socket.create_connection(("127.0.0.1", urlsplit(self.target).port or 80))
            except OSError:
                caller.close()
                continue
            with self._lock:
                if self.up:
                    self._ends += [caller, service]
                else:
                    caller.close()
                    service.close()
                    continue
            for one, other in ((caller, service), (service, caller)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def tcp_proxy(target: str) -> Iterator[TcpProxy]:
    """Run a proxy to the service at that URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = TcpProxy(target, server.getsockname()[1])
        thread = threading.Thread(target=proxy.serve, args=(server,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            proxy.cut()
