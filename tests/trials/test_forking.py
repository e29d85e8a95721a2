"""The process that forks the service has none of the threads that a child would wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
THREADS = """
import os
from pathlib import Path
from trials.stage.forking import load

load()
{then}
print(*sorted(task.joinpath("comm").read_text() for task in Path("/proc/self/task").iterdir()), sep="")
"""


def threads(then: str = "") -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", THREADS.format(then=then)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return set(told.split())


def test_polars_pool_is_not_begun_before_the_fork() -> None:
    begun = threads("import polars; polars.DataFrame({'a': [1, 2]}).lazy().sort('a').collect()")
    assert "polars-0" in begun  # so is the pool called that no child would have
    assert "polars-0" not in threads()
