"""A server on loopback that is not a Cornerwave service: it gives everybody the same answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Stranger:
    """Where it is, and what it was asked: each request as its method and path, and its headers."""

    url: str
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def stranger(status: int, body: str = "", **headers: str) -> Iterator[Stranger]:
    """One that answers so until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self._read_all()
            there.asked.append(f"{self.command} {self.path}")
            there.headers.append({name.lower(): said for name, said in self.headers.items()})
            self.send_response(status)
            for name, said in headers.items():
                self.send_header(name.replace("_", "-"), said)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815  # as http.server has it

        def _read_all(self) -> None:
            """A connection that is closed on bytes nobody read loses the answer."""
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    self.rfile.read(size + 2)
                self.rfile.readline()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    there = Stranger(f"http://127.0.0.1:{server.server_address[1]}")
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield there
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
