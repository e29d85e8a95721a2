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
from trials.faults import FAULTS
from trials.stage.installation import Forker
from trials.stage.network import wire_to
from trials.stage.preload import Wishes

COMPILED = {"disk full at random writes", "clock moved"}
"""Faults by a library that is compiled when it is needed; a machine may have no compiler."""

HERE = [name for name in FAULTS if name not in COMPILED or shutil.which("cc")]


@pytest.mark.parametrize("name", HERE)
def test_a_fault_breaks_no_promise(
    name: str, forker: Forker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "LONGEST", 0.4)
    done = FAULTS[name](tmp_path / "one", forker, 1, 5, lambda _: None)
    assert done["times"] == 1
    assert done["copies compared"] > 0


def told(wishes: Wishes, script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, env=wishes.environment, check=False, capture_output=True, text=True
    )


# A fault that does nothing would break no promise either.


@pytest.mark.parametrize("wishes", [Wishes] if shutil.which("cc") else [])
def test_a_clock_is_moved_and_moved_back(wishes: type[Wishes], tmp_path: Path) -> None:
    script = "import datetime; print(datetime.datetime.now(datetime.UTC).year)"
    with closing(wishes(tmp_path)) as here:
        now = int(told(here, script).stdout)
        here.move_clock(-3 * 366 * faults.DAY)
        assert int(told(here, script).stdout) < now - 1
        here.move_clock(0)
        assert int(told(here, script).stdout) >= now


@pytest.mark.parametrize("wishes", [Wishes] if shutil.which("cc") else [])
def test_a_disk_is_full_and_has_room_again(wishes: type[Wishes], tmp_path: Path) -> None:
    script = (
        f"import os; os.write(os.open({str(tmp_path / 'kept')!r}, os.O_CREAT | os.O_RDWR), b'x')"
    )
    with closing(wishes(tmp_path)) as here:
        here.fail_writes(1_000_000)
        assert "No space left on device" in told(here, script).stderr
        assert here.failed > 0
        here.fail_writes(0)
        assert told(here, script).returncode == 0


def test_a_wire_that_is_cut_lets_nothing_through_until_it_is_mended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as far, ExitStack() as opened:
        wire = opened.enter_context(wire_to(f"http://127.0.0.1:{far.getsockname()[1]}"))
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", wire.port)) as near:
                other = far.accept()[0]
                near.sendall(b"hello")
                assert other.recv(5) == b"hello"
                wire.cut()
                with suppress(ConnectionResetError):
                    assert near.recv(1) == b""
                other.close()
            with socket.create_connection(("127.0.0.1", wire.port)) as near:
                with suppress(ConnectionResetError):
                    assert near.recv(1) == b""
                far.accept()[0].close()
            wire.mend()
