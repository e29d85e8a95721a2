"""Which thread computes a result does not show in it. The mechanism is tested in tests/numerics/test_threads.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOUR_THREADS = {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}


@pytest.mark.slow
def test_every_thread_computes_the_same_bytes(sqlite_database: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.service.computed_twice", sqlite_database, str(tmp_path)]
    done = subprocess.run(
        command, env=os.environ | FOUR_THREADS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"synthesis", "audit", "preview", "freezing"}
    for name, (first, second) in found.items():
        assert first == second, f"{name} depends on the thread"
