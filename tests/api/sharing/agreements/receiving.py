"""A receiver of webhooks behind a real socket, and workers that send to it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from app.service.jobs.runner import Runner
from app.service.resources import Resources
from app.service.sharing.deliveries import plans
from app.service.sharing.outbox import outbox

LOOPBACK = {"WEBHOOK_NETWORKS": "127.0.0.0/8"}
WAIT_SECONDS = 600.0
"""For what must happen; a test that waits so long has failed."""


@dataclass
class Receiver:
    """What came in, and what is answered: by default that all is well."""

    url: str = ""
    status: int = 204
    secret: str = ""
    got: list[tuple[dict[str, str], str]] = field(default_factory=list)
    checked: list[Any] = field(default_factory=list)

    @property
    def events(self) -> list[str]:
        """The events that were received and verified, in order."""
        return [str(one["type"]) for one in self.verified()]

    def take(self, headers: dict[str, str], body: str) -> None:
        """Keep a message, checked by the public library with the secret: now, while it is new."""
        try:
            self.checked.append(Webhook(self.secret).verify(body, headers))
        except (WebhookVerificationError, ValueError) as problem:
            self.checked.append(problem)
        self.got.append((headers, body))

    def verified(self) -> list[Any]:
        """All bodies; what failed its check fails here."""
        for one in self.checked:
            if isinstance(one, Exception):
                raise one
        return list(self.checked)

    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in list(self.got)]


@contextmanager
def receiving(own: Receiver | None = None) -> Iterator[Receiver]:
    """A receiver on a port of this machine; one of a kind of its own, if one is given."""
    receiver = own or Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            receiver.take({k.lower(): v for k, v in self.headers.items()}, body)
            self.send_response(receiver.status)
            if receiver.status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/told"
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def working(resources: Resources, pauses: tuple[float, ...] = (0.05,) * 3) -> Iterator[Runner]:
    """Workers of this process, with short pauses between tries."""
    types = resources.jobs.job_types
    for kind in (outbox.SEND, plans.DELIVER):
        types[kind] = replace(types[kind], retry_delays=pauses)
    runner = Runner(resources, 2)
    runner.start()
    try:
        yield runner
    finally:
        runner.stop(5.0)


def until(holds: Callable[[], bool]) -> None:
    """Wait for what must happen."""
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def add_webhook(client: Any, receiver: Receiver, **form: Any) -> str:
    """Have a principal told at the receiver; the webhook's id."""
    made = client.post("/v1/webhooks", json={"url": receiver.url, **form})
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    receiver.secret = made.json()["secret"]
    return str(made.json()["id"])


def messages(client: Any, webhook: str) -> list[Any]:
    listed = client.get(f"/v1/webhooks/{webhook}/messages", params={"limit": 1000})
    found: list[Any] = listed.json()["messages"]
    assert json.dumps(found)
    return found
