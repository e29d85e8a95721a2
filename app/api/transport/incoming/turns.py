"""Uploads take turns: so many at once, of one caller no more than its share, and nobody for long.

An upload holds a thread until its sender is done, and Starlette has 40: the rest are for others. A
free turn goes to the waiting caller that has the fewest under way, so that one with many slow
senders keeps its own waiting and not everybody.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from app.errors import Busy

UPLOADS_AT_ONCE, UPLOADS_OF_ONE = 24, 8
WAITING_SECONDS = 60.0
"""How long a request waits for its turn until it is told to come again."""

COME_AGAIN_SECONDS = 10


class Turns:
    """Turns in one event loop."""

    def __init__(self, at_once: int, of_one: int, waiting_seconds: float = WAITING_SECONDS) -> None:
        self._at_once = at_once
        self._of_one = of_one
        self._waiting_seconds = waiting_seconds
        self._under_way: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for a turn and hold it; Busy when that takes too long."""
        called = anyio.Event()
        self._waiting.setdefault(caller, deque()).append(called)
        self._call()
        try:
            with anyio.move_on_after(self._waiting_seconds):
                await called.wait()
            if not called.is_set():
                raise Busy(
                    f"All turns for uploads were taken for {self._waiting_seconds:g} seconds.",
                    seconds=COME_AGAIN_SECONDS,
                )
            yield
        finally:
            if called.is_set():
                self._under_way[caller] -= 1
                if not self._under_way[caller]:
                    del self._under_way[caller]
            else:
                self._leave(caller, called)
            self._call()

    def _call(self) -> None:
        """Give the free turns away."""
        while self._under_way.total() < self._at_once:
            least = min(
                (c for c in self._waiting if self._under_way[c] < self._of_one),
                key=lambda caller: self._under_way[caller],
                default=None,
            )
            if least is None:
                return
            called = self._waiting[least][0]
            self._leave(least, called)
            self._under_way[least] += 1
            called.set()

    def _leave(self, caller: str, called: anyio.Event) -> None:
        queue = self._waiting[caller]
        queue.remove(called)
        if not queue:
            del self._waiting[caller]
        else:
            self._waiting.move_to_end(caller)  # among equals, those who waited longest go first
