"""The suite's own PostgreSQL and Valkey: started when a test first asks, gone when the run is over.

A run is one pytest command with its workers. Its controller, the process that was typed, holds a
lock on the file `alive` in the run's folder. A server is started by a keeper, a process of its own
that tells where the server listens and then waits for that lock. The kernel lets go of a lock
however its holder ends, so the servers stop after a crash or a SIGKILL of the controller as they do
after the last test, and no process is ever looked for by name or by a number that may be reused.

    python -m tests.servers postgres|redis FOLDER    starts the keeper and prints its answer
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.binaries import CannotStart, last_words, running

ROOT = Path(__file__).resolve().parents[1]

# What a run does


@dataclass(frozen=True)
class Run:
    """One pytest command: the folder its processes share, and the lock that says it lives."""

    folder: Path
    alive: IO[str]


def begin_run() -> Run:
    folder = Path(tempfile.mkdtemp(prefix="cornerwave-run-"))
    alive = (folder / "alive").open("w")
    fcntl.flock(alive, fcntl.LOCK_EX)
    return Run(folder, alive)


def end_run(run: Run) -> None:
    """Let the servers stop, and return when they have."""
    with ExitStack() as waiting:
        kept = [waiting.enter_context(path.open("a")) for path in run.folder.glob("*.kept")]
        fcntl.flock(run.alive, fcntl.LOCK_UN)
        run.alive.close()
        for keeper in kept:
            fcntl.flock(keeper, fcntl.LOCK_EX)
    shutil.rmtree(run.folder, ignore_errors=True)


def server_url(name: str, folder: Path) -> str:
    """Where the run's server listens; the first of the run's processes to ask starts it."""
    answer = folder / f"{name}.answer"
    with locked(folder / f"{name}.asked"):
        if not answer.exists():
            command = [sys.executable, "-m", "tests.servers", name, str(folder)]
            asked = subprocess.run(
                command,
                check=False,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            failure = {"failure": last_words(asked.stderr) or "its keeper ended without a word"}
            answer.write_text(asked.stdout or json.dumps(failure))
    said: dict[str, str] = json.loads(answer.read_text())
    if "failure" in said:
        raise CannotStart(said["failure"])
    return said["url"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the path's lock, which goes with the process at the latest."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# What a keeper does


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        with open(reader, encoding="utf-8") as answer:
            sys.stdout.write(answer.read())
        return
    os.close(reader)
    os.setsid()  # a Ctrl-C is for the controller, which then has the server stopped
    # Whoever reads the output of the run must not wait for the keeper to close it.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    keep(name, folder, writer)


def keep(name: str, folder: Path, answer: int) -> None:
    """Run the server for as long as the controller lives, once the pipe was told where it is."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    with (
        (folder / "alive").open("a") as alive,
        locked(folder / f"{name}.kept"),
        ExitStack() as stop,
    ):
        with open(answer, "w", encoding="utf-8") as told:
            try:
                json.dump({"url": stop.enter_context(running(name))}, told)
            except (CannotStart, OSError, LookupError, ImportError) as failure:
                json.dump({"failure": " ".join(str(failure).split())}, told)
                return
        fcntl.flock(alive, fcntl.LOCK_EX)
        shutil.rmtree(folder, ignore_errors=True)  # after a crash nobody else would


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
