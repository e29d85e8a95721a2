"""Blocks kept up to a number of bytes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from app.store.caches.block_cache import HotBlocks

BYTES = 800


def block(seed: int = 0, rows: int = 100) -> pa.RecordBatch:
    return pa.record_batch({"x": np.random.default_rng(seed).normal(size=rows)})


def test_what_is_put_comes_back() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(10 * BYTES)
    blocks.put("a", block(), "A")
    assert blocks.get("a") == block()
    assert blocks.get("b") is None


def test_the_longest_unused_leave_when_it_is_full() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(3 * BYTES)
    for name in "abc":
        blocks.put(name, block(), name)
    blocks.get("a")
    blocks.put("d", block(), "D")
    assert [name for name in "abcd" if blocks.get(name) is not None] == ["a", "c", "d"]
    assert blocks.bytes_held == 3 * BYTES


def test_small_blocks_are_reckoned_with_what_they_take_beside_their_values() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(3 * BYTES, beside=BYTES // 2)
    for name in "abc":
        blocks.put(name, block(), name)
    assert [name for name in "abc" if blocks.get(name) is not None] == ["b", "c"]
    assert blocks.bytes_held == 3 * BYTES
    blocks.let_go("b")
    blocks.put("c", block(rows=150), "c")
    assert blocks.bytes_held == 2 * BYTES


def test_a_block_takes_the_place_of_the_one_of_its_name() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(10 * BYTES)
    blocks.put("a", block(), "A")
    blocks.put("a", block(rows=200), "A")
    assert blocks.bytes_held == 2 * BYTES
    blocks.put("a", block(rows=2_000), "A")  # too long; the old one is out of date all the same
    assert blocks.get("a") is None
    assert blocks.bytes_held == 0


def test_a_block_larger_than_all_room_drives_nothing_out() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(2 * BYTES)
    blocks.put("a", block(), "A")
    blocks.put("b", block(rows=201), "B")
    assert blocks.get("a") is not None
    assert blocks.get("b") is None


def test_a_series_longer_than_the_room_keeps_its_beginning() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(4 * BYTES)
    blocks.put("other", block(), "other")
    found = []
    for _ in range(3):
        found.append(0)
        for number in range(6):
            if blocks.get(number) is None:
                blocks.put(number, block(), "series")
            else:
                found[-1] += 1
    assert found == [0, 4, 4]
    assert blocks.get("other") is None
    blocks.put("other", block(), "other")  # and leaves when another series comes
    assert blocks.get("other") is not None
    assert blocks.bytes_held == 4 * BYTES


def test_threads_leave_the_count_of_bytes_right() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(5 * BYTES)

    def work(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, 20, 300):
            if blocks.get(int(number)) is None:
                blocks.put(int(number), block(), int(number))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [number for number in range(20) if blocks.get(number) is not None]
    assert blocks.bytes_held == len(held) * BYTES == 5 * BYTES


def test_a_block_that_two_ask_for_is_made_once() -> None:
    kept: HotBlocks[pa.RecordBatch] = HotBlocks(10 * BYTES)
    began, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> pa.RecordBatch:
        made.append(1)
        began.set()
        go_on.wait()
        return block()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get_or_make, "a", make, "series")
        began.wait()
        second = pool.submit(kept.get_or_make, "a", make, "series")
        go_on.set()
        assert first.result() is second.result()
    assert made == [1]
    assert kept.get_or_make("a", make, "series") is first.result()
    assert made == [1]


def test_a_block_that_could_not_be_made_is_tried_again() -> None:
    kept: HotBlocks[pa.RecordBatch] = HotBlocks(10 * BYTES)

    def failing() -> pa.RecordBatch:
        raise OSError("the disk is gone")

    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            kept.get_or_make("a", failing, "series")
    assert kept.get_or_make("a", block, "series") == block()


def test_who_waited_for_work_that_was_cancelled_makes_the_block_itself() -> None:
    kept: HotBlocks[pa.RecordBatch] = HotBlocks(10 * BYTES)
    began, go_on = threading.Event(), threading.Event()

    class Cancelled(BaseException):
        """Of the other's work."""

    def cancelled() -> pa.RecordBatch:
        began.set()
        go_on.wait()
        raise Cancelled

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get_or_make, "a", cancelled, "series")
        began.wait()
        second = pool.submit(kept.get_or_make, "a", block, "series")
        time.sleep(0.05)  # until it waits; were it later, the same must come of it
        go_on.set()
        assert second.result() == block()
        assert isinstance(first.exception(), Cancelled)


def test_a_block_that_is_let_go_makes_room() -> None:
    blocks: HotBlocks[pa.RecordBatch] = HotBlocks(BYTES)
    blocks.put("a", block(), "A")
    blocks.let_go("a")
    blocks.let_go("never held")
    assert blocks.get("a") is None
    assert blocks.bytes_held == 0
