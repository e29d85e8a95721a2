"""A server that speaks Redis' protocol and means no good."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Liar:
    """Answers every command with the same bytes, or not at all while it is silent."""

    answer: bytes
    asked: int = 0
    opened: list[socket.socket] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def serve(self, server: socket.socket) -> None:
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            self.opened.append(connection)
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with suppress(OSError):
            while commands := connection.recv(65_536):
                # Arrays of bulk strings: a command begins where an asterisk follows a line's end.
                count = commands.count(b"\r\n*") + commands.startswith(b"*")
                self.asked += count
                connection.sendall(self.answer * count)


@contextmanager
def lying_redis(answer: bytes) -> Iterator[Liar]:
    """A Redis that gives this answer to everything; nothing at all if it is empty."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        liar = Liar(answer, port=server.getsockname()[1])
        thread = threading.Thread(target=liar.serve, args=(server,), daemon=True)
        thread.start()
        try:
            yield liar
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in liar.opened:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()


LIES = {
    "a large number": b":999999999\r\n",
    "a text": b"+OK\r\n",
    "nothing": b"$-1\r\n",
    "a list": b"*2\r\n$1\r\na\r\n$3\r\n999\r\n",
    "a number in a list": b"*1\r\n:7\r\n",
    "an error": b"-ERR no\r\n",
    "bytes that are no text": b"$4\r\n\xff\xfe\xfd\xfc\r\n",
    "rubbish": b"what?\r\n",
    "silence": b"",
}
