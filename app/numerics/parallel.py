"""Parallel map on the cores of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import numba

from app.numerics.cancellation import CHECK_SECONDS, checkpoint

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_on_cores(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Results of `function` in the order of `tasks`; cancelled, it ends after the tasks that have begun."""
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
