"""A preloaded library that makes writes fail with ENOSPC and shifts the clock.

It is compiled on demand, preloaded into the fork server, and controlled through a memory-mapped file.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
LAYOUT = struct.Struct("=qqq")


class NoCompiler(Exception):
    """This machine has no C compiler."""


class FaultInjector:
    """Controls of the preloaded library."""

    def __init__(self, folder: Path) -> None:
        self.file, self.library = folder / "faults", folder / "fault_injection.so"
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise NoCompiler("no C compiler is here, so disks do not fill and clocks stay right")
        options = ["-O2", "-shared", "-fPIC", "-o", str(self.library), str(SOURCE), "-ldl"]
        subprocess.run([compiler, *options], check=True)
        self.file.write_bytes(bytes(LAYOUT.size))
        self._opened = self.file.open("r+b")
        self._seen = mmap.mmap(self._opened.fileno(), LAYOUT.size)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for an affected process."""
        return {"LD_PRELOAD": str(self.library), "TRIALS_FAULTS": str(self.file)}

    @property
    def failed(self) -> int:
        """Number of failed writes."""
        return int(LAYOUT.unpack(self._seen[:])[2])

    def fail_writes(self, per_million: int) -> None:
        self._seen[0:8] = struct.pack("=q", per_million)

    def move_clock(self, seconds: int) -> None:
        self._seen[8:16] = struct.pack("=q", seconds)

    def close(self) -> None:
        self._seen.close()
        self._opened.close()
