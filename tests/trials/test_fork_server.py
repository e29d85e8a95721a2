"""The fork server has no thread that a child would wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
from pathlib import Path
from trials.environment.fork_server import load

def threads():
    tasks = Path("/proc/self/task").iterdir()
    print(*{task.joinpath("comm").read_text().strip() for task in tasks}, sep=",")

load()
threads()
import polars
polars.DataFrame({"a": [1, 2]}).lazy().sort("a").collect()
threads()
"""


def test_polars_starts_no_thread_before_the_fork() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded, begun = (set(line.split(",")) for line in done.stdout.splitlines())
    assert "polars-0" in begun  # the pool's name
    assert "polars-0" not in loaded
