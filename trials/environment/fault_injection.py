"""A library, compiled here, that makes a disk full at random writes and a clock wrong.

It is preloaded into the forker, and so into the services it forks; what it does is said in a small
file that both sides have in memory.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("faults.c")
FORM = struct.Struct("=qqq")


class NoCompiler(Exception):
    """There is no C compiler on this machine."""


class Wishes:
    """What the preloaded library does, from now on."""

    def __init__(self, folder: Path) -> None:
        self.file, self.library = folder / "wishes", folder / "faults.so"
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise NoCompiler("no C compiler is here, so disks do not fill and clocks stay right")
        options = ["-O2", "-shared", "-fPIC", "-o", str(self.library), str(SOURCE), "-ldl"]
        subprocess.run([compiler, *options], check=True)
        self.file.write_bytes(bytes(FORM.size))
        self._opened = self.file.open("r+b")
        self._seen = mmap.mmap(self._opened.fileno(), FORM.size)

    @property
    def environment(self) -> dict[str, str]:
        """With what a process must be started."""
        return {"LD_PRELOAD": str(self.library), "TRIALS_WISHES": str(self.file)}

    @property
    def failed(self) -> int:
        """Writes that failed so far."""
        return int(FORM.unpack(self._seen[:])[2])

    def fail_writes(self, per_million: int) -> None:
        self._seen[0:8] = struct.pack("=q", per_million)

    def move_clock(self, seconds: int) -> None:
        self._seen[8:16] = struct.pack("=q", seconds)

    def close(self) -> None:
        self._seen.close()
        self._opened.close()
