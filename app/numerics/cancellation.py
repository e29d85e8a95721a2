"""Cooperative cancellation: checkpoints inside long computations.

A library call that lasts and passes none runs in a process of its own, which cancellation kills.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing.connection import Connection
from typing import Any, TypeVar

CHECK_SECONDS = 0.05

Result = TypeVar("Result")


def _never() -> None:
    """Check of a computation that nobody can cancel."""


_check: ContextVar[Callable[[], None]] = ContextVar("cancellation_check", default=_never)


@contextmanager
def cancellable(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` at every checkpoint that this thread passes within the block; it may raise."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """Raise what the check of `cancellable` raises; do nothing outside of such a block."""
    _check.get()()


def call_in_process(function: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Result of a call in a process that cancellation kills; outside of `cancellable` a plain call.

    Starting the process takes about a second of one core. EOFError where it ends without a result.
    """
    if _check.get() is _never:
        return function(*arguments, **options)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, arguments, options))
    process.start()
    sender.close()
    try:
        while not receiver.poll(CHECK_SECONDS):
            checkpoint()
        result: Result = receiver.recv()
        return result
    finally:
        process.kill()
        process.join()
        receiver.close()


def _send(
    sender: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    for stop in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # those of the whole group are the parent's to act on
        signal.signal(stop, signal.SIG_IGN)
    sender.send(function(*arguments, **options))
