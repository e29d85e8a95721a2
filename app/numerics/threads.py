"""Threads of mathematics: how many BLAS has, and when others may begin."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

starting = threading.Lock()
"""Held while a thread is started by work that may be ended from outside, and while that end is raised.

A thread that is being born has the number of its parent for a moment. An exception that is raised in the
parent then ends the child before it has begun, and the parent waits for it for ever.
"""

_lock = threading.Lock()
_inside = 0
_limits: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS works in the calling thread alone, in the whole process, until the last caller has left.

    For many small products: more threads wait for each other longer than they work.

    The limit belongs to the process. Requests overlap, so the first one sets it and the last one
    lifts it; each on its own would restore what another had set.
    """
    global _inside, _limits  # noqa: PLW0603
    with _lock:
        _inside += 1
        if _inside == 1:
            _limits = threadpool_limits(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None
