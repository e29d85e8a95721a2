"""Cooperative cancellation: long computations pass checkpoints, at which their caller may end them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numba

CHECK_SECONDS = 0.05

Task = TypeVar("Task")
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


def map_on_cores(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Results of `function` in the order of `tasks`; cancelled, it returns after the tasks that have begun."""
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        futures = [pool.submit(function, task) for task in tasks]
        pending = set(futures)
        try:
            while pending:
                checkpoint()
                pending = wait(pending, CHECK_SECONDS).not_done
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]
