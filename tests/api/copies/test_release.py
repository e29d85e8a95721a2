"""A copy block by block: in order, few at a time, and none once the right to it has ended."""

from __future__ import annotations

import time
from collections.abc import Generator

import numpy as np
import pyarrow as pa
import pytest

from app.api.transport.endpoints.downloads import CHECKED_BYTES, watched
from app.errors import Refusal
from app.model import BLOCK_ROWS, Role
from app.service.context import RequestContext
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.download_scheduler import AHEAD
from app.store.database.engine import reading
from app.store.database.sharing import principals
from tests.api.conftest import Service
from tests.api.copies.copy_tables import issue, register

BLOCKS = 8
"""More than are made ahead of the one that is taken."""


@pytest.fixture
def release(service: Service) -> Release:
    table = pa.table({"x": np.random.default_rng(0).normal(size=BLOCKS * BLOCK_ROWS - 7)})
    admin = service.client()
    copy = issue(admin, register(admin, table, columns=None), level="a")["id"]
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "test")
    return open_release(resources, context, copy, Selection())


def test_blocks_come_in_order(release: Release) -> None:
    lengths = list(release.each_block(lambda block: block.num_rows))
    assert lengths == [BLOCK_ROWS] * (BLOCKS - 1) + [BLOCK_ROWS - 7]
    whole = pa.Table.from_batches(release.batches())
    for number, block in enumerate(release.batches()):
        assert pa.Table.from_batches([block]).equals(whole.slice(number * BLOCK_ROWS, len(block)))


def test_the_right_is_asked_for_before_the_first_byte_and_all_along() -> None:
    chunk, asked = memoryview(bytes(CHECKED_BYTES // 2)), 0

    def go_on() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise Refusal("the right has ended")

    given = watched(iter([chunk] * 10), go_on)
    assert asked == 0
    for expected in (1, 1, 2, 2):
        assert next(given) is chunk
        assert asked == expected
    with pytest.raises(Refusal):
        next(given)
    with pytest.raises(StopIteration):
        next(given)


def test_a_slow_reader_has_few_blocks_waiting(release: Release) -> None:
    made: list[int] = []
    given = release.each_block(lambda block: made.append(block.num_rows))
    next(given)
    time.sleep(1.0)  # time enough to make all eight
    assert 1 < len(made) <= AHEAD < BLOCKS
    assert isinstance(given, Generator)
    given.close()
