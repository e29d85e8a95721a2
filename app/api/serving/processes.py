"""Several processes that serve on one socket, and one that looks after them.

The first process takes the socket and prepares the database; the others inherit the socket and serve.
One that ends unasked is started again. A signal to stop goes to all of them, and each drains. Should the
one that looks after them be killed, they notice by the pipe that it held, and stop too.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.1
LEAVING_SECONDS = 10.0
"""Beyond the time to drain, what a process gets to end."""

log = logging.getLogger("cornerwave.processes")


@dataclass
class Processes:
    """Processes that serve.

    where:
        arguments   what each is started with, before the descriptors of the socket and of the pipe
        added       what is added to its environment
        gone        called with the number of a process that ended
    """

    listening: socket.socket
    count: int
    arguments: list[str]
    added: dict[str, str] = field(default_factory=dict)
    gone: Callable[[int], None] = lambda _number: None

    def run(self, drain_seconds: float) -> None:
        """Serve until a signal to stop, then until all have ended."""
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        watched, held = os.pipe()
        running = [self._started(watched) for _ in range(self.count)]
        while not stopped.wait(LOOK_SECONDS):
            for place, process in enumerate(running):
                if process.poll() is not None:
                    said = {"ended": process.pid, "code": process.returncode}
                    log.error("a process ended", extra=said)
                    self.gone(process.pid)
                    if stopped.wait(AGAIN_SECONDS):
                        break
                    running[place] = self._started(watched)
        for process in running:
            process.terminate()
        self._wait(running, time.monotonic() + drain_seconds + LEAVING_SECONDS)
        os.close(held)
        os.close(watched)

    def _started(self, watched: int) -> subprocess.Popen[bytes]:
        descriptors = (self.listening.fileno(), watched)
        return subprocess.Popen(  # noqa: S603 - this program again
            [sys.executable, *self.arguments, *map(str, descriptors)],
            env=os.environ | self.added,
            pass_fds=descriptors,
        )

    def _wait(self, running: list[subprocess.Popen[bytes]], until: float) -> None:
        for process in running:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.gone(process.pid)


def stop_with(watched: int) -> None:
    """Stop this process when the one at the other end of the pipe is gone."""

    def watch() -> None:
        os.read(watched, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def empty_folder(folder: Path) -> None:
    """A folder for what these processes share, without what earlier ones left."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in folder.glob("*.db"):
        left.unlink(missing_ok=True)
