"""Each fault of `make trials` once."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from trials import faults
from trials.environment.fault_injection import FaultInjector
from trials.environment.installation import Forker
from trials.environment.tcp_proxy import tcp_proxy
from trials.faults import FAULTS

COMPILED = {"disk full at random writes", "clock moved"}
"""Faults that need a C compiler."""

HERE = [name for name in FAULTS if name not in COMPILED or shutil.which("cc")]


@pytest.mark.parametrize("name", HERE)
def test_invariants_hold_after_a_fault(
    name: str, forker: Forker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "LONGEST", 0.4)
    done = FAULTS[name](tmp_path / "one", forker, 1, 5, lambda _: None)
    assert done["times"] == 1
    assert done["copies compared"] > 0


def run_script(injector: FaultInjector, script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, env=injector.environment, check=False, capture_output=True, text=True
    )


# A fault that does nothing would violate nothing either.


@pytest.mark.parametrize("injector", [FaultInjector] if shutil.which("cc") else [])
def test_a_clock_is_moved_and_moved_back(injector: type[FaultInjector], tmp_path: Path) -> None:
    script = "import datetime; print(datetime.datetime.now(datetime.UTC).year)"
    with closing(injector(tmp_path)) as here:
        now = int(run_script(here, script).stdout)
        here.move_clock(-3 * 366 * faults.DAY)
        assert int(run_script(here, script).stdout) < now - 1
        here.move_clock(0)
        assert int(run_script(here, script).stdout) >= now


@pytest.mark.parametrize("injector", [FaultInjector] if shutil.which("cc") else [])
def test_a_disk_is_full_and_has_room_again(injector: type[FaultInjector], tmp_path: Path) -> None:
    script = (
        f"import os; os.write(os.open({str(tmp_path / 'kept')!r}, os.O_CREAT | os.O_RDWR), b'x')"
    )
    with closing(injector(tmp_path)) as here:
        here.fail_writes(1_000_000)
        assert "No space left on device" in run_script(here, script).stderr
        assert here.failed > 0
        here.fail_writes(0)
        assert run_script(here, script).returncode == 0


def test_a_cut_proxy_lets_nothing_through_until_restored() -> None:
    with socket.create_server(("127.0.0.1", 0)) as far, ExitStack() as opened:
        proxy = opened.enter_context(tcp_proxy(f"http://127.0.0.1:{far.getsockname()[1]}"))
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", proxy.port)) as near:
                other = far.accept()[0]
                near.sendall(b"hello")
                assert other.recv(5) == b"hello"
                proxy.cut()
                with suppress(ConnectionResetError):
                    assert near.recv(1) == b""
                other.close()
            with socket.create_connection(("127.0.0.1", proxy.port)) as near:
                with suppress(ConnectionResetError):
                    assert near.recv(1) == b""
                far.accept()[0].close()
            proxy.restore()
