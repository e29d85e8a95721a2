"""Cooperative cancellation: of loops, of tasks on several cores, and of calls in a process."""

from __future__ import annotations

import math
import multiprocessing
import threading
import time

import pytest

from app.numerics.cancellation import call_in_process, cancellable, checkpoint
from app.numerics.parallel import map_on_cores


class Stop(Exception):
    """What a check raises."""


class Check:
    """Check that raises from some call on."""

    def __init__(self, allowed: int) -> None:
        self.left = allowed

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stop


def test_checkpoints_call_the_innermost_check() -> None:
    outer, inner = Check(1), Check(0)
    with cancellable(outer):
        checkpoint()
        with pytest.raises(Stop), cancellable(inner):
            checkpoint()
        with pytest.raises(Stop):
            checkpoint()
    checkpoint()  # nobody's


def test_another_thread_has_no_check() -> None:
    ended: list[bool] = []

    def work() -> None:
        checkpoint()
        ended.append(True)

    with cancellable(Check(0)):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert ended == [True]


def test_results_on_cores_keep_their_order() -> None:
    assert map_on_cores(lambda n: n * n, range(50)) == [n * n for n in range(50)]
    with pytest.raises(ZeroDivisionError):
        map_on_cores(lambda n: 1 / n, [1, 0, 2])


def test_tasks_not_begun_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.get_num_threads", lambda: 2)
    begun: list[int] = []
    stopped = threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        stopped.wait()

    class Once(Check):
        def __call__(self) -> None:
            try:
                super().__call__()
            except Stop:
                stopped.set()
                raise

    with pytest.raises(Stop), cancellable(Once(3)):
        map_on_cores(work, range(100))
    assert len(begun) <= 4


def test_a_call_in_a_process_returns_its_result() -> None:
    with cancellable(lambda: None):
        assert call_in_process(math.hypot, 3.0, 4.0) == 5.0
        with pytest.raises(EOFError):
            call_in_process(math.sqrt, -1.0)


def test_a_call_in_a_process_is_killed() -> None:
    before = multiprocessing.active_children()  # other tests of this process share a fork server
    with pytest.raises(Stop), cancellable(Check(20)):
        call_in_process(time.sleep, 10_000)
    assert multiprocessing.active_children() == before
