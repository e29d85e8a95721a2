"""Slots are shared: one principal's many leave some to the others."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from app.api.transport.incoming.bodies import FairSemaphore
from app.errors import Busy


async def held(slots: FairSemaphore, principal: str, stack: AsyncExitStack) -> bool:
    """Whether the principal gets a slot without waiting; it keeps it."""
    waiting = asyncio.ensure_future(stack.enter_async_context(slots.acquire(principal)))
    for _ in range(5):
        await asyncio.sleep(0)
    if waiting.done():
        return True
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    return False


def test_a_principal_has_no_more_slots_than_its_share() -> None:
    async def scenario() -> None:
        slots = FairSemaphore(slots=6, per_principal=4)
        async with AsyncExitStack() as stack:
            assert [await held(slots, "slow", stack) for _ in range(6)] == [True] * 4 + [False] * 2
            assert [await held(slots, "other", stack) for _ in range(3)] == [True, True, False]

    asyncio.run(scenario())


def test_a_free_slot_goes_to_the_principal_with_the_fewest() -> None:
    async def scenario() -> None:
        slots = FairSemaphore(slots=3, per_principal=3)
        order: list[str] = []

        async def upload(principal: str) -> None:
            async with slots.acquire(principal):
                order.append(principal)
                await asyncio.sleep(0)

        async with AsyncExitStack() as stack:
            for _ in range(3):
                await stack.enter_async_context(slots.acquire("many"))
            waiting = [
                asyncio.ensure_future(upload(principal))
                for principal in ("many", "many", "one", "two")
            ]
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        assert order.index("one") < order.index("many")
        assert order.index("two") < order.index("many")

    asyncio.run(scenario())


def test_who_waits_too_long_is_told_to_come_again_and_takes_no_slot() -> None:
    async def scenario() -> None:
        slots = FairSemaphore(slots=1, per_principal=1, waiting_seconds=0.01)
        async with slots.acquire("a"):
            with pytest.raises(Busy):
                async with slots.acquire("b"):
                    raise AssertionError("there was no slot")
        async with slots.acquire("b"), AsyncExitStack() as stack:
            assert not await held(slots, "a", stack)

    asyncio.run(scenario())


def test_a_slot_may_be_given_back_before_the_block_ends() -> None:
    async def scenario() -> None:
        slots = FairSemaphore(slots=1, per_principal=1)
        async with slots.acquire("a") as release, AsyncExitStack() as stack:
            assert not await held(slots, "b", stack)
            release()
            release()
            assert [await held(slots, name, stack) for name in ("b", "c")] == [True, False]

    asyncio.run(scenario())
