"""Uploads take turns, and one caller's slow ones leave turns to the others."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from app.api.transport.incoming.tables import Turns
from app.errors import Busy


async def held(turns: Turns, caller: str, stack: AsyncExitStack) -> bool:
    """Whether the caller gets a turn without waiting; it keeps it."""
    waiting = asyncio.ensure_future(stack.enter_async_context(turns.turn(caller)))
    for _ in range(5):
        await asyncio.sleep(0)
    if waiting.done():
        return True
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    return False


def test_a_caller_has_no_more_turns_than_its_share() -> None:
    async def scenario() -> None:
        turns = Turns(at_once=6, of_one=4)
        async with AsyncExitStack() as stack:
            assert [await held(turns, "slow", stack) for _ in range(6)] == [True] * 4 + [False] * 2
            assert [await held(turns, "other", stack) for _ in range(3)] == [True, True, False]

    asyncio.run(scenario())


def test_a_free_turn_goes_to_the_caller_with_the_fewest() -> None:
    async def scenario() -> None:
        turns = Turns(at_once=3, of_one=3)
        order: list[str] = []

        async def upload(caller: str) -> None:
            async with turns.turn(caller):
                order.append(caller)
                await asyncio.sleep(0)

        async with AsyncExitStack() as stack:
            for _ in range(3):
                await stack.enter_async_context(turns.turn("many"))
            waiting = [
                asyncio.ensure_future(upload(caller)) for caller in ("many", "many", "one", "two")
            ]
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        assert order.index("one") < order.index("many")
        assert order.index("two") < order.index("many")

    asyncio.run(scenario())


def test_who_waits_too_long_is_told_to_come_again_and_takes_no_turn() -> None:
    async def scenario() -> None:
        turns = Turns(at_once=1, of_one=1, waiting_seconds=0.01)
        async with turns.turn("a"):
            with pytest.raises(Busy):
                async with turns.turn("b"):
                    raise AssertionError("there was no turn")
        async with turns.turn("b"), AsyncExitStack() as stack:
            assert not await held(turns, "a", stack)

    asyncio.run(scenario())
