"""A copy block by block: in order, and each one only after the right to it was asked for again."""

from __future__ import annotations

import time
from collections.abc import Generator

import numpy as np
import pyarrow as pa
import pytest

from app.errors import Refusal
from app.model import BLOCK_ROWS, Role
from app.service.asking import Ask
from app.service.release import AHEAD, Release, Selection, open_release
from app.store import callers
from app.store.engine import reading
from tests.api.conftest import Service
from tests.api.copy_tables import issue, register

BLOCKS = 8
"""More than are made ahead of the one that is taken."""


@pytest.fixture
def release(service: Service) -> Release:
    table = pa.table({"x": np.random.default_rng(0).normal(size=BLOCKS * BLOCK_ROWS - 7)})
    admin = service.client()
    copy = issue(admin, register(admin, table, columns=None), level="a")["id"]
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        ask = Ask(callers.with_role(connection, Role.ADMIN)[0], "test")
    return open_release(resources, ask, copy, Selection())


def test_blocks_come_in_order_and_after_the_right_was_asked_for(release: Release) -> None:
    asked: list[None] = []
    taken: list[pa.RecordBatch] = []
    for block in release.each_block(lambda made: made, lambda: asked.append(None)):
        taken.append(block)
        assert len(asked) == len(taken)
    assert [block.num_rows for block in taken] == [BLOCK_ROWS] * (BLOCKS - 1) + [BLOCK_ROWS - 7]
    assert pa.Table.from_batches(taken).equals(pa.Table.from_batches(release.batches()))


def test_nothing_is_given_once_the_right_has_ended(release: Release) -> None:
    left = iter([None, None])

    def go_on() -> None:
        if next(left, "none") == "none":
            raise Refusal("the right has ended")

    given = release.each_block(lambda block: block.num_rows, go_on)
    assert [next(given), next(given)] == [BLOCK_ROWS] * 2
    with pytest.raises(Refusal):
        next(given)
    with pytest.raises(StopIteration):
        next(given)


def test_a_slow_reader_has_few_blocks_waiting(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.service.release.THREADS", 2)
    made: list[int] = []
    given = release.each_block(lambda block: made.append(block.num_rows))
    next(given)
    time.sleep(1.0)  # time enough to make all eight
    assert 1 < len(made) <= 2 + AHEAD + 1 < BLOCKS
    assert isinstance(given, Generator)
    given.close()
