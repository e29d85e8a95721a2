"""Commands of the service as forks of a process that has loaded it once: a start without the imports.

The process is `multiprocessing`'s fork server, one for each process of the test run, started when it is first needed.
A start from nothing has tests of its own: tests/e2e/test_logs.py, test_first_session.py, test_many_processes.py.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psutil

from tests import durations
from trials.environment.fork_server import run

Through = Callable[[dict[str, Any]], None]
"""What becomes the command in a fork: `run`, or something that prepares the process and calls it."""


class Forked:
    """A running command, with the members of `subprocess.Popen` that tests need."""

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    @property
    def returncode(self) -> int | None:
        return self.poll()


class ForkServer:
    """Fork server whose children run commands of the service."""

    def __init__(self) -> None:
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(["tests.preloaded"])
        self._running: list[Forked] = []
        durations.SHARED.append(self._seconds)

    def fork(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        errors: Path | None = None,
        through: Through = run,
    ) -> Forked:
        """Run `cornerwave-server ARGUMENTS`; what it prints goes to `log`, errors too if they have no other file."""
        wanted = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "log": str(log),
            "errors": str(errors or log),
        }
        return self.call(through, wanted)

    def call(self, function: Callable[..., object], *arguments: object) -> Forked:
        """Call a function of a module in a fork."""
        process = self._context.Process(target=function, args=arguments)
        process.start()
        forked = Forked(process)
        self._running.append(forked)
        return forked

    def _seconds(self) -> float:
        """Return the processor time of the forks, of those that run and of those that ended.

        The server's own time, which is the loading of the service, belongs to no test.
        """
        # Not `poll`: it waits by the clock, which the test that just ran may have stopped.
        self._running = [one for one in self._running if psutil.pid_exists(one.pid)]
        server: int | None = getattr(forkserver._forkserver, "_forkserver_pid", None)
        if server is None:
            return 0.0
        times = psutil.Process(server).cpu_times()
        ended = float(times.children_user + times.children_system)
        return ended + sum(durations.seconds_of(one.pid) for one in self._running)


def run_command(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run `cornerwave-server ARGUMENTS` to its end."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        status = fork_server().fork(arguments, environment, output, errors).wait()
        said = [file.read_text(encoding="utf-8") for file in (output, errors)]
    return subprocess.CompletedProcess(list(arguments), status, *said)


@cache
def fork_server() -> ForkServer:
    # Threads of BLAS would be in no child, and two workers of the suite would wait for each other's.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return ForkServer()
