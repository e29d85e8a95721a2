"""Principals who send slowly, or read slowly, keep neither others nor themselves from uploading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from fastapi import FastAPI
from starlette.types import Message

from app.api.transport.incoming.bodies import FairSemaphore
from tests.api.conftest import Service
from tests.api.transport.asgi import Conversation, speak

CSV = {"content-type": "text/csv"}
TABLE = [b"city,job\n", b"a,x\nb,y\na,x\n"]
ADDRESS = "/v1/identifiability?confidential=city"


@pytest.fixture
def app(service: Service) -> FastAPI:
    """The app with two slots, one for each principal, of which nobody waits long for one."""
    service.app.state.uploads = FairSemaphore(2, 1, waiting_seconds=0.05)
    return service.app


class SlowReader(Conversation):
    """Takes the head of the answer, and its body when it is told to."""

    def __init__(self, parts: list[bytes]) -> None:
        super().__init__(parts)
        self.reads = asyncio.Event()

    async def send(self, message: Message) -> None:
        await super().send(message)
        if message["type"] == "http.response.body":
            await self.reads.wait()


async def begun(conversation: Conversation, read: int) -> None:
    while conversation.read < read:
        await asyncio.sleep(0.001)


def test_bodies_that_trickle_in_hold_no_slot(app: FastAPI, service: Service) -> None:
    """Three keys drip; another one, and one of the three, upload meanwhile."""
    keys = [service.principal("recipient")[1].headers["authorization"].split()[1] for _ in range(4)]

    async def scenario() -> list[int]:
        dripping = [(Conversation([b"a,b\n"], stalls=True), key) for key in keys[:3] * 10]
        tasks = [
            asyncio.create_task(speak(app, "POST", ADDRESS, conversation, CSV, key=key))
            for conversation, key in dripping
        ]
        for conversation, _ in dripping:
            await begun(conversation, 1)
        sent = [Conversation(list(TABLE)) for _ in range(2)]
        for conversation, key in zip(sent, keys[2:], strict=True):
            await speak(app, "POST", ADDRESS, conversation, CSV, key=key)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [conversation.status for conversation in sent]

    assert asyncio.run(scenario()) == [200, 200]
    assert app.state.spool_quota.held == 0


@pytest.mark.parametrize(("parts", "status"), [([b"\x00\x01\x02"], 422), (TABLE, 200)])
def test_an_answer_that_is_read_slowly_holds_no_slot(
    app: FastAPI, parts: list[bytes], status: int
) -> None:
    """Uploads whose senders do not read the answer, and then one more of the same key."""

    async def scenario() -> int:
        unread = [SlowReader(list(parts)) for _ in range(3)]
        tasks = []
        for conversation in unread:
            tasks.append(asyncio.create_task(speak(app, "POST", ADDRESS, conversation, CSV)))
            while len(conversation.sent) < 2:
                await asyncio.sleep(0.001)
        last = Conversation(list(TABLE))
        await speak(app, "POST", ADDRESS, last, CSV)
        for conversation in unread:
            assert conversation.status == status
            conversation.reads.set()
        await asyncio.gather(*tasks)
        return last.status

    assert asyncio.run(scenario()) == 200


def test_what_one_key_may_send_at_once_is_bounded_and_told(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(sqlite_database, SPOOL_BYTES="1000")

    async def scenario() -> list[int]:
        first, second = Conversation([b"x" * 400], stalls=True), Conversation([b"x" * 400])
        task = asyncio.create_task(speak(service.app, "POST", ADDRESS, first, CSV))
        await begun(first, 1)
        await speak(service.app, "POST", ADDRESS, second, CSV)
        other = Conversation(list(TABLE))
        key = service.principal("owner")[1].headers["authorization"].split()[1]
        await speak(service.app, "POST", ADDRESS, other, CSV, key=key)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert second.headers[b"retry-after"]
        return [second.status, other.status]

    assert asyncio.run(scenario()) == [429, 200]
