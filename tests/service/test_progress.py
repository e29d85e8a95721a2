"""Progress never goes back, and tells the one who works when to end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.service import progress as timing
from app.service.progress import NO_PROGRESS, SCALE, Cancelled, Interrupted, Progress


@given(st.lists(st.tuples(st.integers(-5, 50), st.integers(0, 40)), max_size=20))
def test_the_share_done_never_shrinks_and_never_exceeds_the_whole(
    told: list[tuple[int, int]],
) -> None:
    progress, before = Progress(), 0.0
    for done, total in told:
        progress.report("x", done, total)
        _, kept, whole = progress.current
        share = kept / whole if whole else 0.0
        assert before <= share <= 1
        before = share


def test_shares_of_work_add_up() -> None:
    progress = Progress()
    first, second = progress.subrange(0, 250), progress.subrange(250, SCALE)
    first.report("reading", 1, 2)
    assert progress.current == ("reading", 125, SCALE)
    second.subrange(0, 500).report("making", 3, 3)
    assert progress.current == ("making", 625, SCALE)
    second.report("writing", 7, 7)
    assert progress.current == ("writing", SCALE, SCALE)


def test_telling_is_looking_in_every_part() -> None:
    progress = Progress()
    part = progress.subrange(0, 10).subrange(0, 10)
    progress.stop(Cancelled)
    progress.stop(Interrupted)  # the first reason stands
    for one in (progress, part):
        with pytest.raises(Cancelled):
            one.report("x", 1, 2)
        with pytest.raises(Cancelled):
            one.raise_if_cancelled()


def test_nobody_listens_to_silent_progress() -> None:
    NO_PROGRESS.subrange(0, 1).report("x", 1, 2)
    assert NO_PROGRESS.current == ("", 0, 0)


def test_an_end_that_was_swallowed_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "RAISE_AGAIN_SECONDS", 0.0)
    progress = Progress()
    swallowed, ended = threading.Event(), threading.Event()

    def work() -> None:
        try:
            with progress.interruptible():
                try:
                    while True:
                        time.sleep(0.001)
                except Cancelled:  # as a destructor does
                    swallowed.set()
                while True:
                    time.sleep(0.001)
        except Cancelled:
            ended.set()

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        progress.stop(Cancelled)
        worker.join(0.02)
    assert swallowed.is_set()
    assert ended.is_set()


CALLED_OFF = """
import resource
import threading
from app.service.progress import Cancelled, Progress

resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # a thread that turns in circles ends the process
progress = Progress()
try:
    with progress.interruptible():
        progress._end = Cancelled  # too late for an exception to come
except Cancelled:
    print("ended")
threading.setprofile(lambda *_: None)
thread = threading.Thread(target=sum, args=[range(9)])
thread.start()
thread.join()
print("went on")
"""


def test_threads_go_on_under_a_profiler_after_an_end_that_did_not_come() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLED_OFF], check=False, capture_output=True, text=True
    )
    assert done.stdout.split("\n") == ["ended", "went on", ""], done.stderr


def test_an_end_that_comes_at_the_gate_leaves_it_open() -> None:
    progress, inside, leave = Progress(), threading.Event(), threading.Event()
    ends: list[type[BaseException]] = []

    def work() -> None:
        try:
            with progress.interruptible():
                inside.set()
                leave.wait()
        except Cancelled as end:
            ends.append(type(end))

    worker = threading.Thread(target=work)
    worker.start()
    inside.wait()
    with progress._gate:  # as one has it who ends the work
        progress._end = Cancelled
        leave.set()
        while progress._within is not None:
            time.sleep(0.001)
        time.sleep(0.05)  # until the work waits for the gate
        assert worker.ident is not None
        timing._raise_in(worker.ident, Cancelled)
    worker.join()
    assert ends == [Cancelled]
    assert not progress._gate.locked()
