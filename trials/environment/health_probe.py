"""Latency of /health, probed from a separate process.

On a shared machine a slow answer may be the machine's fault. So a slow probe also records the processor time that the service used:
a blocked event loop used it, a service waiting for a processor did not.

    python -m trials.environment.health_probe PORT PID      until its standard input ends; then one line of JSON
"""

from __future__ import annotations

import http.client
import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.service import processor_seconds
from trials.environment.installation import ROOT, Process

EVERY_SECONDS, STALL_SECONDS = 0.1, 0.25


def main(port: str, pid: str) -> None:
    took: list[float] = []
    found = {"asked": 0, "over_250_ms": 0, "over_250_ms_of_its_own": 0, "failed": 0}
    worst_own = 0.0
    while not select.select([sys.stdin], [], [], EVERY_SECONDS)[0]:
        before, began = processor_seconds(pid), time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        try:
            connection.request("GET", "/health")
            found["failed"] += connection.getresponse().status != 200
        except OSError:
            found["failed"] += 1
        finally:
            connection.close()
        took.append(time.monotonic() - began)
        found["asked"] += 1
        if took[-1] > STALL_SECONDS:
            own = processor_seconds(pid) - before
            worst_own = max(worst_own, own)
            found["over_250_ms"] += 1
            found["over_250_ms_of_its_own"] += own > STALL_SECONDS
    took.sort()
    figures = {
        "p50_ms": 1000 * took[len(took) // 2] if took else 0.0,
        "p99_ms": 1000 * took[len(took) * 99 // 100] if took else 0.0,
        "worst_ms": 1000 * took[-1] if took else 0.0,
        "worst_own_ms": 1000 * worst_own,
    }
    print(json.dumps({"counts": found, "figures": figures}))


@contextmanager
def probe_health(process: Process) -> Iterator[dict[str, Any]]:
    """Probe /health during the block; the dictionary has the results afterwards."""
    results: dict[str, Any] = {}
    port = process.url.rpartition(":")[2]
    with subprocess.Popen(
        [sys.executable, "-m", "trials.environment.health_probe", port, str(process.pid)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as watcher:
        try:
            yield results
        finally:
            results.update(json.loads(watcher.communicate()[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
