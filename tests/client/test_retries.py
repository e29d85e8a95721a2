"""When and after how long a request is sent again."""

from __future__ import annotations

from email.utils import formatdate
from time import time

import pytest

from cornerwave.transport.retries import Retries, seconds_to_wait


def test_pauses_double_up_to_the_longest_and_are_spread() -> None:
    latest = Retries(first_pause_seconds=1, longest_pause_seconds=10, chance=lambda: 1.0)
    soonest = Retries(first_pause_seconds=1, longest_pause_seconds=10, chance=lambda: 0.0)
    assert [latest.pause(failures) for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]
    assert [soonest.pause(failures) for failures in range(1, 4)] == [0.5, 1, 2]
    drawn = {Retries().pause(1) for _ in range(20)}
    assert len(drawn) > 1


def test_the_service_says_when_in_seconds_or_as_a_date() -> None:
    assert seconds_to_wait({}) is None
    assert seconds_to_wait({"retry-after": "7"}) == 7
    assert seconds_to_wait({"retry-after": formatdate(time() + 60, usegmt=True)}) == pytest.approx(
        60, abs=5
    )
    assert seconds_to_wait({"retry-after": formatdate(time() - 60, usegmt=True)}) == 0
    assert seconds_to_wait({"retry-after": "soon"}) is None
