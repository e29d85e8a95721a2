"""Programs that small trials need: those of this machine, else Debian's, unpacked beside the run.

A package is unpacked, not temporary_installation: installing a proxy would start it, on ports of the machine's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.servers import locked


class NoProgram(Exception):
    """It is not there and cannot be fetched; the message says what was tried."""


def folder_of(program: str, run: Path) -> Path:
    """The folder that holds the program; the first of the run's processes to miss it fetches it."""
    with locked(run / f"{program}.asked"):
        if path := shutil.which(program):
            return Path(path).parent
        unpacked = run / f"{program}.unpacked"
        if not unpacked.exists():
            _unpack(program, unpacked)
    for place in ("usr/sbin", "usr/bin"):
        if (unpacked / place / program).exists():
            return unpacked / place
    raise NoProgram(f"Debian's package {program} holds no program of that name.")


def _unpack(package: str, target: Path) -> None:
    partial = target.with_suffix(".partial")
    partial.mkdir(exist_ok=True)
    fetched = [["apt-get", "download", "-qq", package]]
    if os.geteuid() == 0:  # a machine that never asked knows no package
        fetched.insert(0, ["apt-get", "update", "-qq"])
    try:
        for command in fetched:
            subprocess.run(command, cwd=partial, check=True, capture_output=True, text=True)
        archive = next(partial.glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", archive, partial], check=True, capture_output=True)
    except (OSError, StopIteration, subprocess.CalledProcessError) as failed:
        words = getattr(failed, "stderr", None) or str(failed)
        raise NoProgram(
            f"The trial of the proxies needs {package}, which is neither installed nor available"
            f" from Debian here. Install it (on Debian: apt-get install {package}). Tried: {words}"
        ) from failed
    partial.rename(target)
