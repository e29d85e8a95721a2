"""Fair semaphore: slots shared among principals, with a bounded share and a bounded wait.

A free slot goes to the waiting principal that holds the fewest, among equals to the one that has waited longest.
So one with many requests keeps its own waiting and not everybody.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from app.errors import Busy

WAITING_SECONDS = 60.0
"""Longest wait for a slot in seconds; then 503."""

COME_AGAIN_SECONDS = 10


class FairSemaphore:
    """Slots in one event loop."""

    def __init__(
        self, slots: int, per_principal: int, waiting_seconds: float = WAITING_SECONDS
    ) -> None:
        self._slots = slots
        self._per_principal = per_principal
        self._waiting_seconds = waiting_seconds
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    @asynccontextmanager
    async def acquire(self, principal: str) -> AsyncIterator[Callable[[], None]]:
        """Wait for a slot and hold it until the end of the block, or until what is yielded is called.

        Busy when that takes too long.
        """
        granted = anyio.Event()
        self._waiting.setdefault(principal, deque()).append(granted)
        self._grant()
        is_over = False

        def release() -> None:
            nonlocal is_over
            if is_over:
                return
            is_over = True
            if granted.is_set():
                self._held[principal] -= 1
                if not self._held[principal]:
                    del self._held[principal]
            else:
                self._leave(principal, granted)
            self._grant()

        try:
            with anyio.move_on_after(self._waiting_seconds):
                await granted.wait()
            if not granted.is_set():
                raise Busy(
                    f"All slots for uploads were taken for {self._waiting_seconds:g} seconds.",
                    seconds=COME_AGAIN_SECONDS,
                )
            yield release
        finally:
            release()

    def _grant(self) -> None:
        """Give the free slots away."""
        while self._held.total() < self._slots:
            least = min(
                (p for p in self._waiting if self._held[p] < self._per_principal),
                key=lambda principal: self._held[principal],
                default=None,
            )
            if least is None:
                return
            granted = self._waiting[least][0]
            self._leave(least, granted)
            self._held[least] += 1
            granted.set()

    def _leave(self, principal: str, granted: anyio.Event) -> None:
        queue = self._waiting[principal]
        queue.remove(granted)
        if not queue:
            del self._waiting[principal]
        else:
            self._waiting.move_to_end(principal)  # among equals, those who waited longest go first
