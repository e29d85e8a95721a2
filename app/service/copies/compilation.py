"""Ahead-of-time compilation of kernels for noise, CSV lines and moments.

What was compiled is kept on disk for the next start. Until it is ready, and where it cannot be made,
copies are made by the noise's definition and written by polars: the same bytes, more slowly. So are
moments by numpy, the same but for rounding. Nobody waits and nothing fails.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from app.numerics.copies.noise import steps
from app.numerics.copies.shapes.gaps import runs
from app.tables import csv_writer

VARIABLE = "NUMBA_CACHE_DIR"
SOURCES = (
    ("app.numerics.copies.noise", "kernels.py"),
    ("app.numerics.copies.noise", "record_kernels.py"),
    ("app.numerics.digits", "kernels.py"),
    ("app.numerics.copies.shapes.gaps", "run_kernels.py"),
)

log = logging.getLogger("cornerwave.start")


def compile_ahead(home: Path) -> threading.Thread:
    """Begin to compile, or to load what is kept under `home`, beside everything else.

    The thread is not a daemon: a compiler that is cut off while the process ends would abort it.
    """
    thread = threading.Thread(target=compile_now, args=(home,), name="compiling")
    thread.start()
    return thread


def compile_now(home: Path) -> bool:
    """The same, in the principal's thread; whether all compiled functions are in use."""
    if steps.compiled() and csv_writer.compiled() and runs.compiled():
        return True
    os.environ.setdefault(VARIABLE, str(_folder(home)))
    noise = steps.compiled() or _made(steps.compile_steps, "noise is not compiled")
    lines = csv_writer.compiled() or _made(
        csv_writer.compile_lines, "lines of CSV are not compiled"
    )
    moments = runs.compiled() or _made(runs.compile_runs, "moments are not compiled")
    return noise and lines and moments


def _made(compiling: Callable[[], None], otherwise: str) -> bool:
    try:
        compiling()
    except Exception as error:  # whatever the compiler meets, copies are made without it
        log.warning(otherwise, extra={"failure": type(error).__name__})
        return False
    return True


def _folder(home: Path) -> Path:
    """A folder for code compiled from these very sources; a passing one where `home` is of no use.

    numba tells sources apart by size and time alone, which two versions may share.
    """
    sources = [files(package).joinpath(name).read_bytes() for package, name in SOURCES]
    folder = home / "compiled" / hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        log.warning("compiled code cannot be kept", extra={"folder": str(folder)})
        return Path(tempfile.mkdtemp(prefix="cornerwave-compiled-"))
