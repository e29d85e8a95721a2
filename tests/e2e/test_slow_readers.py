"""Slow readers of large downloads: together they hold no more than the budget, and it is given back."""

from __future__ import annotations

import hashlib
import io
import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.running import ADMIN_KEY, Service, serving
from tests.e2e.test_abuse import connection

MIB = 2**20
READERS, BUDGET = 12, 48 * MIB


def resident_bytes(service: Service) -> int:
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def registered(service: Service, rows: int, columns: int) -> str:
    """The id of a copy of a table of random numbers."""
    numbers = np.random.default_rng(1).normal(size=(columns, rows))
    table = pa.table({f"c{number}": values for number, values in enumerate(numbers)})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    headers = {"Content-Type": "application/vnd.apache.parquet"}
    made = service.client.post(
        "/v1/datasets", params={"name": "wide"}, content=sink.getvalue(), headers=headers
    )
    path = f"/v1/datasets/{made.json()['id']}"
    assert service.client.put(f"{path}/levels/a", json={"noise_variance": 1}).is_success
    return str(service.client.post(f"{path}/copies", json={"level": "a"}).json()["id"])


def asked(service: Service, copy: str) -> socket.socket:
    opened = connection(service)
    opened.sendall(
        f"GET /v1/copies/{copy}/content HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\n"
        f"Authorization: Bearer {ADMIN_KEY}\r\nConnection: close\r\n\r\n".encode()
    )
    return opened


@pytest.mark.parametrize(("rows", "columns"), [(131_072, 40)])
def test_slow_readers_hold_no_more_than_the_budget_and_memory_is_given_back(
    tmp_path: Path, rows: int, columns: int
) -> None:
    settings = {
        "DOWNLOAD_BYTES": str(BUDGET),
        "COPY_CACHE_BYTES": "1",
        "NOISE_CACHE_BYTES": "1",
    }
    with serving(tmp_path, settings) as service:
        copy = registered(service, rows, columns)
        accept = {"Accept": "text/csv"}
        whole = service.client.get(f"/v1/copies/{copy}/content", headers=accept).content
        before = resident_bytes(service)
        with ExitStack() as opened:
            readers = [opened.enter_context(asked(service, copy)) for _ in range(READERS)]
            held = []
            for _ in range(20):
                time.sleep(0.5)
                held.append(resident_bytes(service) - before)
            print("held by slow readers, MiB:", [one // MIB for one in held])
            # Each would hold 105 MB of text on its own, were it made as fast as it can be.
            assert max(held) < 4 * BUDGET
            assert service.client.get("/ready").status_code == 200
            answers = [reader.makefile("rb").read(200) for reader in readers[:3]]
            assert all(answer.startswith(b"HTTP/1.1 ") for answer in answers)
        again = service.client.get(f"/v1/copies/{copy}/content", headers=accept).content
        assert hashlib.sha256(again).digest() == hashlib.sha256(whole).digest()
        after = []
        for _ in range(10):
            time.sleep(0.5)
            after.append(resident_bytes(service) - before)
        print("after they went, MiB:", [one // MIB for one in after])
        assert min(after) < 4 * BUDGET
