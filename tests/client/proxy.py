"""A proxy between a client and a service that misbehaves as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

Fault = Callable[[bytes], "int | bytes | threading.Event | None"]
"""Given the head of a request: after how many bytes of the answer the line is cut, what is answered in the service's
place, what the answer is held back for, or None to stay out of the way."""


@contextmanager
def between(service_url: str, fault: Fault) -> Iterator[str]:
    """The address of the proxy; every connection carries one request."""
    target = urlsplit(service_url)
    assert target.hostname is not None
    assert target.port is not None
    behind = (target.hostname, target.port)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                thread = threading.Thread(target=_carry, args=(client, behind, fault))
                thread.start()
                threads.append(thread)

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
            accepting.join()
            for thread in threads:
                thread.join()


def _carry(client: socket.socket, behind: tuple[str, int], fault: Fault) -> None:
    with client, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            received = client.recv(65536)
            if not received:
                return
            head += received
        told = fault(head)
        if isinstance(told, bytes):
            client.sendall(told)
            return
        # One request a connection: the service closes it, and the client opens another.
        asked = head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        with socket.create_connection(behind) as service:
            service.sendall(asked)
            upward = threading.Thread(target=_pump, args=(client, service))
            upward.start()
            if isinstance(told, threading.Event):
                told.wait()
                told = None
            left = told
            while left is None or left > 0:
                chunk = service.recv(65536 if left is None else min(left, 65536))
                if not chunk:
                    break
                client.sendall(chunk)
                left = None if left is None else left - len(chunk)
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            upward.join()


def _pump(client: socket.socket, service: socket.socket) -> None:
    with suppress(OSError):
        while chunk := client.recv(65536):
            service.sendall(chunk)
    with suppress(OSError):
        service.shutdown(socket.SHUT_RDWR)


def answer(status: int, **headers: str) -> bytes:
    """An answer without a body."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} As told\r\nContent-Length: 0\r\nConnection: close\r\n{lines}\r\n".encode()
