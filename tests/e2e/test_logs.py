"""What a service in a process of its own writes to standard error: JSON lines and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx2

from tests.binaries import free_port
from tests.e2e.running import ROOT, SERVE, environment


def test_every_line_on_standard_error_is_json(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [sys.executable, *SERVE],
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
