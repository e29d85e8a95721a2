"""Blobs in a directory: they appear whole or not at all, and a crash is told from a live upload.

A blob is written before the database knows of it; a process killed in between leaves an orphan. The
uploader therefore holds a lock on `<name>.uploading`, which the kernel lets go of together with the
process, whatever its end.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyarrow import fs

STORED, PARTIAL, LOCK = ".parquet", ".partial", ".uploading"


class BlobFolder:
    """A directory of this machine, or one that its processes share."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder.resolve()
        self.filesystem = fs.LocalFileSystem()

    def path(self, name: str) -> str:
        """Where the blob of that name is."""
        return str(self._folder / (name + STORED))

    def unfinished(self, name: str) -> str:
        """Where it is while it is written."""
        return str(self._folder / (name + PARTIAL))

    def publish(self, name: str) -> None:
        """Let the written blob appear, on disk before its name is."""
        with open(self.unfinished(name), "rb") as written:
            os.fsync(written.fileno())
        os.rename(self.unfinished(name), self.path(name))
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self, name: str) -> None:
        """Remove the blob, finished or not."""
        for path in (self.path(name), self.unfinished(name)):
            Path(path).unlink(missing_ok=True)

    @contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Held from before the first byte until the database knows of the blob."""
        path = self._folder / (name + LOCK)
        lock = _locked(path, os.O_RDWR | os.O_CREAT)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(lock)

    def names(self) -> set[str]:
        """The blobs that have appeared."""
        return {path.stem for path in self._folder.glob("*" + STORED)}

    @contextmanager
    def ownerless(self) -> Iterator[set[str]]:
        """Names nobody is uploading, of blobs finished or not; nobody can begin to meanwhile."""
        # Names first, locks second: a blob whose lock is gone by then is known to the database.
        present = {path.stem for path in self._folder.iterdir()}
        free: set[str] = set()
        locks: dict[str, int] = {}
        try:
            for name in present:
                try:
                    locks[name] = _locked(self._folder / (name + LOCK), os.O_RDWR, fcntl.LOCK_NB)
                except FileNotFoundError:
                    pass
                except BlockingIOError:
                    continue
                free.add(name)
            yield free
        finally:
            for name, lock in locks.items():
                (self._folder / (name + LOCK)).unlink(missing_ok=True)
                os.close(lock)

    def check(self) -> None:
        """OSError unless blobs can be written here."""
        if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError("the blob directory cannot be written to")


def _locked(path: Path, opening: int, locking: int = 0) -> int:
    """A descriptor of the file at `path` that holds its lock."""
    while True:
        descriptor = os.open(path, opening, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | locking)
            # Whoever had it before may have removed the file: then this lock is on nothing.
            with suppress(FileNotFoundError):
                if os.fstat(descriptor).st_ino == path.stat().st_ino:
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
