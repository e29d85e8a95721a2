"""A server that falls silent: a way to it that, from one moment on, passes nothing and closes nothing.

So looks a paused process or a cut network: every connection stays, and no answer comes.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Way:
    """A port of this machine that leads to another, until `fall_silent`."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._passing = threading.Event()
        self._passing.set()
        self._over = False
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        self._passing.clear()

    def speak_again(self) -> None:
        self._passing.set()

    def close(self) -> None:
        self._over = True
        self._passing.set()
        for one in [self._listening, *self._sockets]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                self._sockets.append(here)
                self._passing.wait()
                there = socket.create_connection(self._target)
                self._sockets.append(there)
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._passing.wait()
                if self._over:
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def way_to(host: str, port: int) -> Iterator[Way]:
    """A way to a server, gone with the block."""
    way = Way((host, port))
    try:
        yield way
    finally:
        way.close()
