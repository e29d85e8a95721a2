"""BLAS has one thread in every thread of the process, whatever the machine would give it."""

from __future__ import annotations

import os
import subprocess
import sys

FOUR_THREADS = {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}
LIMITS_IN_TWO_THREADS = """
from concurrent.futures import ThreadPoolExecutor
from threadpoolctl import threadpool_info, threadpool_limits
import app.numerics

def limits():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

with ThreadPoolExecutor(1) as other:
    print(limits(), other.submit(limits).result())
    with threadpool_limits(limits=1, user_api="blas"):
        pass
    print(limits(), other.submit(limits).result())
"""


def test_every_thread_has_one_blas_thread_from_the_import_on() -> None:
    """In a process of its own: how many threads BLAS may have is fixed when it is loaded."""
    command = [sys.executable, "-c", LIMITS_IN_TWO_THREADS]
    done = subprocess.run(
        command, env=os.environ | FOUR_THREADS, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["{1} {1}"] * 2
