"""How long /health takes, asked again and again from a process of its own.

On a machine with other work, a slow answer may be the machine's. So for each slow one it is also told
how much processor time the service itself had used in between: an event loop that was held up has used
it; a service that only waited for a processor has not.

    python -m trials.stage.watching PORT PID      until its standard input ends; then one line of JSON
"""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trials.stage.installation import ROOT, Process

EVERY_SECONDS, STALL_SECONDS = 0.1, 0.25


def main(port: str, pid: str) -> None:
    took: list[float] = []
    found = {"asked": 0, "over_250_ms": 0, "over_250_ms_of_its_own": 0, "failed": 0}
    worst_own = 0.0
    while not select.select([sys.stdin], [], [], EVERY_SECONDS)[0]:
        before, began = used_seconds(pid), time.monotonic()
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
            own = used_seconds(pid) - before
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


def used_seconds(pid: str) -> float:
    """Processor time of the process so far; nothing, once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def watched(process: Process) -> Iterator[dict[str, Any]]:
    """While the block runs, /health is watched; afterwards the dictionary says how it went."""
    told: dict[str, Any] = {}
    port = process.url.rpartition(":")[2]
    with subprocess.Popen(
        [sys.executable, "-m", "trials.stage.watching", port, str(process.pid)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as watcher:
        try:
            yield told
        finally:
            told.update(json.loads(watcher.communicate()[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
