"""The process that forks the service has none of the threads that a child would wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
from pathlib import Path
from trials.stage.forking import load

def threads():
    tasks = Path("/proc/self/task").iterdir()
    print(*{task.joinpath("comm").read_text().strip() for task in tasks}, sep=",")

load()
threads()
import polars
polars.DataFrame({"a": [1, 2]}).lazy().sort("a").collect()
threads()
"""


def test_polars_pool_is_not_begun_before_the_fork() -> None:
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded, begun = (set(line.split(",")) for line in told.stdout.splitlines())
    assert "polars-0" in begun  # so is the pool called that no child would have
    assert "polars-0" not in loaded
