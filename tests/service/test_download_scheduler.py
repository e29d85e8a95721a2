"""Downloads share a budget of bytes: they wait in line, and what they held is free when they end."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.errors import Busy
from app.service import download_scheduler
from app.service.download_scheduler import AHEAD, Budget, Downloads


def test_what_is_made_comes_in_order_and_all_bytes_are_free_afterwards() -> None:
    downloads = Downloads(100)
    assert list(downloads.in_turn(range(50), lambda n: n * n, lambda _: 30)) == [
        n * n for n in range(50)
    ]
    assert downloads.budget.taken == 0


def test_no_more_is_held_than_the_budget_whatever_the_readers_do() -> None:
    downloads = Downloads(100)
    most = 0

    def read(_: int) -> int:
        nonlocal most
        count = 0
        for _made in downloads.in_turn(range(30), lambda n: n, lambda _: 40):
            most = max(most, downloads.budget.taken)
            count += 1
        return count

    with ThreadPoolExecutor(8) as readers:
        assert list(readers.map(read, range(8))) == [30] * 8
    assert 40 <= most <= 100
    assert downloads.budget.taken == 0


def test_one_reader_makes_ahead_and_not_without_end() -> None:
    downloads = Downloads(10**9)
    made: list[int] = []
    given = downloads.in_turn(range(100), made.append, lambda _: 1)
    next(given)
    assert downloads.budget.taken == AHEAD
    assert isinstance(given, Generator)
    given.close()
    downloads._pool.shutdown()
    assert downloads.budget.taken == 0
    assert len(made) <= AHEAD


def test_with_others_in_line_nothing_is_made_ahead_and_the_line_moves() -> None:
    downloads = Downloads(100)
    slow = downloads.in_turn(range(2), lambda n: n, lambda _: 60)
    assert next(slow) == 0
    assert downloads.budget.taken == 60  # a second one would not fit
    other = downloads.in_turn(range(2), lambda n: n, lambda _: 60)
    with ThreadPoolExecutor(2) as readers:
        waiting = readers.submit(list, other)
        while not downloads.budget._line:
            pass
        assert not downloads.budget.take_now(1)
        # The slow reader comes back, which gives its bytes to who waited.
        assert readers.submit(list, slow).result() == [1]
        assert waiting.result() == [0, 1]
    assert downloads.budget.taken == 0


def test_what_is_larger_than_all_there_is_goes_alone() -> None:
    budget = Budget(10)
    assert budget.take_now(50)
    assert not budget.take_now(1)
    budget.give_back(50)
    assert budget.take_now(1)
    assert not budget.take_now(50)


def test_turns_are_given_in_order() -> None:
    budget = Budget(10)
    assert budget.take_now(10)
    order: list[int] = []

    def take(number: int) -> None:
        budget.wait(10)
        order.append(number)
        budget.give_back(10)

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=take, args=(number,)))
        threads[-1].start()
        while len(budget._line) <= number:
            pass
    budget.give_back(10)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_download_without_room_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_scheduler, "FIRST_SECONDS", 0.01)
    downloads = Downloads(10)
    assert downloads.budget.take_now(10)
    with pytest.raises(Busy):
        next(downloads.in_turn(range(3), lambda n: n, lambda _: 5))
    assert downloads.budget.taken == 10


def test_a_failure_is_told_and_frees_its_bytes() -> None:
    downloads = Downloads(100)

    def failing(number: int) -> int:
        if number == 2:
            raise ValueError("no")
        return number

    with pytest.raises(ValueError, match="no"):
        list(downloads.in_turn(range(50), failing, lambda _: 10))
    downloads._pool.shutdown()
    assert downloads.budget.taken == 0
