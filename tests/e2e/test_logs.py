"""What a service in a process of its own writes to standard error: JSON lines and nothing else.

Downloads that are cut off, by their reader or by the service, are a line each and no failure.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pytest

from tests.api.copies.copy_tables import PARQUET, as_parquet
from tests.binaries import free_port
from tests.e2e.running import Beginning, Service, answering, begun, environment
from tests.e2e.serving import ROOT
from tests.e2e.test_abuse import connection

DOWNLOAD = "/v1/copies/{copy_id}/content"
ROWS, COLUMNS = 600_000, 3
"""About 34 MB of text: more than lies in the sockets between the two ends."""


def test_every_line_on_standard_error_is_json(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "app", "serve"],
        cwd=ROOT,
        env=environment(tmp_path, {"PORT": str(port)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            with (
                httpx2.HTTPTransport(retries=20) as transport,
                httpx2.Client(
                    transport=transport, base_url=f"http://127.0.0.1:{port}", timeout=60
                ) as client,
            ):
                client.get("/v1/datasets")
                client.get("/health")
        finally:
            process.terminate()
            assert process.stderr is not None
            lines = process.stderr.read().splitlines()
    told = [json.loads(line) for line in lines]
    assert [line["route"] for line in told if line["message"] == "answered"] == ["/v1/datasets"]


class Cut:
    """A copy of which a download has begun that its reader has not ended."""

    def __init__(self, beginning: Beginning, service: Service) -> None:
        self.beginning, self.service = beginning, service
        rng = np.random.default_rng(0)
        table = pa.table({f"x{number}": rng.normal(size=ROWS) for number in range(COLUMNS)})
        headers = {"Content-Type": PARQUET}
        client = service.client
        made = client.post("/v1/datasets?name=t", content=as_parquet(table), headers=headers)
        self.dataset = f"/v1/datasets/{made.json()['id']}"
        client.put(f"{self.dataset}/levels/a", json={"noise_variance": 1}).raise_for_status()
        copy = client.post(f"{self.dataset}/copies", json={"level": "a"}).json()["id"]
        reader = client.post("/v1/principals", json={"name": "reader"}).json()
        self.grant = f"{self.dataset}/grants/{reader['id']}"
        client.put(self.grant, json={"level": "a"}).raise_for_status()
        self.reader = connection(service)
        self.reader.sendall(
            f"GET /v1/copies/{copy}/content HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\n"
            f"Authorization: Bearer {reader['key']}\r\n\r\n".encode()
        )
        assert self.reader.recv(1_000).startswith(b"HTTP/1.1 200 ")

    def lines(self) -> list[dict[str, Any]]:
        said = self.beginning.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in said if line.startswith("{")]


def goes_away(cut: Cut) -> None:
    cut.reader.close()


def breaks_off(cut: Cut) -> None:
    cut.reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    cut.reader.close()


def loses_its_right(cut: Cut) -> None:
    cut.service.client.delete(cut.grant).raise_for_status()
    while cut.reader.recv(2**20):
        pass


def sees_the_service_stop(cut: Cut) -> None:
    cut.beginning.process.terminate()
    cut.beginning.process.wait()


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        (goes_away, None),
        (breaks_off, None),
        (loses_its_right, "not-found"),
        (sees_the_service_stop, None),
    ],
)
def test_a_download_that_is_cut_off_is_one_line_and_no_failure(
    tmp_path: Path, ends: Callable[[Cut], None], why: str | None
) -> None:
    with begun(tmp_path, {}) as beginning, answering(beginning) as service:
        cut = Cut(beginning, service)
        with cut.reader:
            ends(cut)
        for _ in range(600):
            told = [line for line in cut.lines() if line.get("route") == DOWNLOAD]
            if told:
                break
            time.sleep(0.1)
        time.sleep(0.5)  # for what would come after it
    (line,) = [line for line in cut.lines() if line.get("route") == DOWNLOAD]
    assert (line["level"], line.get("cut")) == ("info", why)
    assert 0 < line["bytes"] < ROWS * COLUMNS * 18
    assert [line for line in cut.lines() if "failure" in line] == []
