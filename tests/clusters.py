"""A cluster of Dask on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.binaries import free_port

ROOT = Path(__file__).resolve().parents[1]
QUIET = {
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60s",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT),
}
"""A loaded machine is no reason for warnings; a worker has one thread, in linear algebra too."""


@dataclass
class RunningCluster:
    """Where the scheduler listens, and its workers."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster(
    folder: Path, workers: int, settings: Mapping[str, str] | None = None
) -> Iterator[RunningCluster]:
    """A scheduler with so many workers of one thread; ended with the block."""
    address = f"tcp://127.0.0.1:{free_port()}"
    # The workers know nothing of the service: no database, no key.
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CORNERWAVE_")}
    environment = kept | QUIET | dict(settings or {})
    with ExitStack() as stack:

        def begun(number: int, module: str, *arguments: str) -> subprocess.Popen[bytes]:
            told = stack.enter_context((folder / f"dask-{number}.log").open("wb"))
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
                cwd=folder,
                env=environment,
                stdout=told,
                stderr=told,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        port = address.rpartition(":")[2]
        scheduler = begun(
            0, "dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"
        )
        started = [
            begun(
                number,
                "dask_worker",
                address,
                "--host=127.0.0.1",
                "--nthreads=1",
                "--nworkers=1",
                "--no-nanny",
                "--no-dashboard",
                "--memory-limit=0",
                f"--local-directory={folder}",
            )
            for number in range(1, workers + 1)
        ]
        if workers:
            _wait_for(address, workers)
        yield RunningCluster(address, scheduler, started)


@contextmanager
def threaded_cluster(folder: Path, workers: int) -> Iterator[str]:
    """The address of a scheduler with workers of one thread, all in this process; tasks travel over TCP."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit=0,
        local_directory=str(folder),
    ) as cluster:
        yield cluster.scheduler_address


def _wait_for(address: str, workers: int) -> None:
    from distributed import Client

    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=120)


# Tasks, in a module that a worker imports in no time.


def doubled(number: int) -> int:
    return 2 * number


def slowly_doubled(task: tuple[Path, int]) -> int:
    folder, number = task
    (folder / f"begun-{number}-{os.getpid()}").touch()
    time.sleep(0.2)
    return 2 * number


def full(_: int) -> int:
    raise OSError(28, "No space left on device")


def forever(_: int) -> None:
    time.sleep(20)
