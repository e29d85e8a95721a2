"""An installation under trial: its state, processes and commands."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.binaries import free_port
from trials.errors import InvariantViolation

ROOT = Path(__file__).resolve().parents[2]
ADMIN_KEY = "trials-know-this-key-0123456789abcdef"
MASTER_KEY = "5a" * 32
COMPILED = ROOT / ".compiled"
START_SECONDS = 120.0


@dataclass
class Process:
    """A started process, held by a pidfd so that its id cannot be reused."""

    pid: int
    descriptor: int
    url: str
    log: Path
    ready: bool = False

    def alive(self) -> bool:
        return not select.select([self.descriptor], [], [], 0)[0]

    def send(self, number: int) -> None:
        signal.pidfd_send_signal(self.descriptor, number)

    def end(self, number: int = signal.SIGKILL) -> None:
        """Send the signal and wait for the exit."""
        with suppress(ProcessLookupError):
            self.send(number)
        select.select([self.descriptor], [], [], 60)
        os.close(self.descriptor)
        with suppress(ChildProcessError):  # a child of the fork server
            os.waitpid(self.pid, 0)

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


class Forker:
    """Client of the fork server (`trials.environment.fork_server`)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        COMPILED.mkdir(exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trials.environment.fork_server"],
            cwd=ROOT,
            env={**os.environ, "NUMBA_CACHE_DIR": str(COMPILED), "OMP_NUM_THREADS": "1"}
            | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read_line()

    def fork(self, wanted: Mapping[str, Any]) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return int(self._read_line())

    def close(self) -> None:
        self._process.communicate()

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ChildProcessError("the process that forks the service has ended")
        return line


@dataclass
class Installation:
    """State under `home`, a database, and the processes that serve them."""

    home: Path
    forker: Forker
    settings: dict[str, str] = field(default_factory=dict)
    address_space: int | None = None
    processes: list[Process] = field(default_factory=list)
    _numbers: Any = field(default_factory=count)

    def environment(self, **more: str) -> dict[str, str]:
        inherited = {
            name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ
        }
        chosen = {
            "HOME": str(self.home),
            "ADMIN_KEY": ADMIN_KEY,
            "MASTER_KEY": MASTER_KEY,
            "MAX_REQUESTS_PER_MINUTE": "10000000",
            "DRAIN_SECONDS": "1",
            **self.settings,
            **more,
        }
        return {
            **inherited,
            "NUMBA_CACHE_DIR": str(COMPILED),
            "OMP_NUM_THREADS": "1",
            **{f"CORNERWAVE_{name}": value for name, value in chosen.items()},
        }

    def begin(self, *, whole: bool = False) -> Process:
        """Start a process without waiting for it; `whole` executes instead of forking."""
        self.home.mkdir(parents=True, exist_ok=True)
        port = free_port()
        log = self.home.with_name(f"{self.home.name}.{next(self._numbers)}.log")
        environment = self.environment(PORT=str(port))
        pid = self._executed(environment, log) if whole else self._forked(environment, log)
        process = Process(pid, os.pidfd_open(pid), f"http://127.0.0.1:{port}", log)
        self.processes.append(process)
        return process

    def start(self, *, whole: bool = False) -> Process:
        """Start a process and wait until it is ready."""
        process = self.begin(whole=whole)
        self.wait_until_ready(process)
        return process

    def wait_until_ready(self, process: Process) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                with urlopen(f"{process.url}/ready", timeout=30):
                    process.ready = True
                    return
            except OSError:
                if not process.alive():
                    raise InvariantViolation(f"a start failed: {last_lines(process.log)}") from None
            time.sleep(0.01)
        raise InvariantViolation(f"a start did not become ready: {last_lines(process.log)}")

    def kill(self, process: Process) -> None:
        """Kill the process without warning."""
        process.ready = False
        process.end(signal.SIGKILL)
        self.processes.remove(process)

    def urls(self) -> list[str]:
        """Return the URLs of processes that have been ready."""
        return [process.url for process in list(self.processes) if process.ready]

    def stop(self) -> None:
        for process in list(self.processes):
            self.kill(process)

    def command(self, *arguments: str) -> str:
        """Return the output of another command, run beside the service."""
        log = self.home.with_name(f"{self.home.name}.{next(self._numbers)}.out")
        wanted = {"arguments": arguments, "environment": self.environment(), "log": str(log)}
        pid = self.forker.fork(wanted)
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            pass  # already exited
        else:
            select.select([descriptor], [], [], 300)
            os.close(descriptor)
        output = log.read_text(encoding="utf-8")
        log.unlink()
        return output

    def _forked(self, environment: dict[str, str], log: Path) -> int:
        return self.forker.fork(
            {
                "arguments": ["serve"],
                "environment": environment,
                "log": str(log),
                "address_space": self.address_space,
            }
        )

    def _executed(self, environment: dict[str, str], log: Path) -> int:
        opened = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "app", "serve"],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), opened, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )


def last_lines(log: Path) -> str:
    return " / ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
