"""Parsing the next batches while the caller works on this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

DEPTH = 4


def read_ahead(batches: Iterator[pa.RecordBatch], depth: int = DEPTH) -> Iterator[pa.RecordBatch]:
    """The same batches, at most `depth` of them made in advance by one thread."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
    try:
        pending = deque(pool.submit(next, batches, None) for _ in range(depth))
        while (batch := pending.popleft().result()) is not None:
            pending.append(pool.submit(next, batches, None))
            yield batch
    finally:
        # Not waited for: it may be blocked on a client that sends slowly, and ends with it.
        pool.shutdown(wait=False, cancel_futures=True)
