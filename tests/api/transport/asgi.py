"""A request spoken to the app as a server would, to see what it reads and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Scope

from tests.api.conftest import ADMIN_KEY


@dataclass
class Conversation:
    """What was read of the body, and what was answered."""

    parts: list[bytes]
    stalls: bool = False
    leaves: bool = False
    read: int = 0
    sent: list[Message] = field(default_factory=list)
    read_before_answer: int | None = None

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    async def receive(self) -> Message:
        if self.read < len(self.parts):
            self.read += 1
            more = self.stalls or self.read < len(self.parts)
            return {"type": "http.request", "body": self.parts[self.read - 1], "more_body": more}
        if self.leaves:
            return {"type": "http.disconnect"}
        await asyncio.Event().wait()
        raise AssertionError("never reached")

    async def send(self, message: Message) -> None:
        if not self.sent:
            self.read_before_answer = self.read
        self.sent.append(message)


def spoken(
    app: ASGIApp,
    method: str,
    path: str,
    parts: Iterable[bytes],
    headers: dict[str, str],
    *,
    key: str | None = ADMIN_KEY,
    stalls: bool = False,
    leaves: bool = False,
) -> Conversation:
    """One request whose body comes in these parts; it never ends if it `stalls`, and nobody waits if its principal `leaves`."""
    conversation = Conversation(list(parts), stalls, leaves)
    asyncio.run(speak(app, method, path, conversation, headers, key=key))
    return conversation


async def speak(
    app: ASGIApp,
    method: str,
    path: str,
    conversation: Conversation,
    headers: dict[str, str],
    *,
    key: str | None = ADMIN_KEY,
) -> None:
    """Have a conversation, beside others in this event loop."""
    path, _, query = path.partition("?")
    given = {"transfer-encoding": "chunked", **headers}
    if key is not None:
        given["authorization"] = f"Bearer {key}"
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "state": {},
    }
    await app(scope, conversation.receive, conversation.send)
