"""A try to send a message is over by its deadline, and reads little, whatever the receiver does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from app.service.sharing.outbox import http_post
from app.service.sharing.outbox.http_post import AddressRefused, destination, post

LOOPBACK = ("127.0.0.0/8",)
Answering = Callable[[socket.socket], None]


@contextmanager
def receiver(answering: Answering) -> Iterator[str]:
    """The URL of a receiver of one message, which answers it byte by byte as it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def receive() -> None:
            with suppress(OSError), listening.accept()[0] as connection:
                connection.recv(2**16)
                answering(connection)

        thread = threading.Thread(target=receive)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/told?x=1"
        thread.join()


def sent(answering: Answering) -> tuple[int | None, str]:
    with receiver(answering) as url:
        return post(url, LOOPBACK, b"{}", {"webhook-id": "msg"})


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.0 302 Found\r\nLocation: /elsewhere\r\n\r\n", 302),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody", 200),
        (b"", None),
        (b"not HTTP\r\n\r\n", None),
    ],
)
def test_the_status_of_the_answer_is_what_counts(answer: bytes, status: int | None) -> None:
    assert sent(lambda connection: connection.sendall(answer))[0] == status


def test_a_receiver_that_drips_a_header_is_left_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_post, "ATTEMPT_SECONDS", 0.3)
    left = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.settimeout(0.01)
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000 + b"\r\n\r\n":
            connection.sendall(bytes([byte]))
            with suppress(TimeoutError):
                if connection.recv(1) == b"":
                    left.set()
                    return

    assert sent(drip) == (None, "no answer (TimeoutError)")
    assert left.is_set()


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: %s\r\n" % (b"x" * 1_000) * 20 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000 + b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_a_head_that_is_too_long_is_no_answer(head: bytes) -> None:
    assert len(head) > http_post.ANSWER_BYTES
    assert sent(lambda connection: connection.sendall(head))[0] is None


def test_a_name_that_nobody_resolves_is_left_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: over.wait() and [])
    with pytest.raises(AddressRefused):
        destination("https://slow.example/", seconds=0.05)
    over.set()


def test_the_request_names_its_host_and_length() -> None:
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def receive() -> None:
            with listening.accept()[0] as connection:
                while not got or not b"".join(got).endswith(b"{}"):
                    got.append(connection.recv(2**16))
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

        thread = threading.Thread(target=receive)
        thread.start()
        assert post(f"http://127.0.0.1:{port}/told?x=1", LOOPBACK, b"{}")[0] == 200
        thread.join()
    head = b"".join(got).split(b"\r\n\r\n")[0].decode().split("\r\n")
    assert head[0] == "POST /told?x=1 HTTP/1.1"
    assert {f"Host: 127.0.0.1:{port}", "Content-Length: 2"} <= set(head)
