"""Blobs in a directory: atomic writes, and locks that tell a crash from a live upload.

A blob is written before a data set refers to it; a process killed in between leaves an orphan. The
uploader therefore holds a lock on `<name>.uploading`, which the kernel releases together with the
process, whatever its end. What is set aside moves to a folder beside the blobs and can come back.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from pyarrow import fs

STORED, PARTIAL, LOCK = ".parquet", ".partial", ".uploading"
TRIED_BYTES = 64 * 1024
MARK, ASIDE = "cornerwave-store.json", "quarantine"


class BlobFolder:
    """A directory of this machine, or one that its processes share."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder.resolve()
        self._aside = self._folder / ASIDE
        self.filesystem = fs.LocalFileSystem()

    def below(self, folder: str) -> BlobFolder:
        """A folder within this one, for files of another sort."""
        return BlobFolder(self._folder / folder)

    def path(self, name: str) -> str:
        """Return the path of a blob."""
        return str(self._folder / (name + STORED))

    def unfinished(self, name: str) -> str:
        """Return the path during an upload."""
        return str(self._folder / (name + PARTIAL))

    def publish(self, name: str) -> None:
        """Let the written blob appear, on disk before its name is."""
        with open(self.unfinished(name), "rb") as written:
            os.fsync(written.fileno())
        os.rename(self.unfinished(name), self.path(name))
        _keep_names(self._folder)

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

    @contextmanager
    def unattended(self, name: str, since: datetime) -> Iterator[bool]:
        """Return whether nobody is uploading this blob; if so, nobody can begin to before the block ends."""
        path = self._folder / (name + LOCK)
        try:
            lock = _locked(path, os.O_RDWR | os.O_CREAT, fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
            os.close(lock)

    def claimed(self) -> set[str]:
        """Blobs with an uploader, or with the lock that a killed one left."""
        return {path.stem for path in self._folder.glob("*" + LOCK)}

    def names(self) -> set[str]:
        """The blobs that have appeared."""
        return {path.stem for path in self._folder.glob("*" + STORED)}

    def begun(self) -> set[str]:
        """The blobs that are being written, or were left so by who was killed."""
        return {path.stem for path in self._folder.glob("*" + PARTIAL)}

    def set_aside(self, name: str) -> bool:
        """Move the blob, finished or not, to quarantine; False when nothing of it is anywhere."""
        for path in map(Path, (self.path(name), self.unfinished(name))):
            if path.exists():
                self._aside.mkdir(mode=0o700, exist_ok=True)
                os.rename(path, self._aside / path.name)
                _keep_names(self._aside)
                _keep_names(self._folder)
        return any((self._aside / (name + ending)).exists() for ending in (STORED, PARTIAL))

    def bring_back(self, name: str) -> None:
        """Undo `set_aside` for a finished blob."""
        os.rename(self._aside / (name + STORED), self.path(name))
        _keep_names(self._folder)

    def aside(self) -> set[str]:
        """The finished blobs in quarantine."""
        return {path.stem for path in self._aside.glob("*" + STORED)}

    def remove_aside(self, name: str) -> None:
        """Remove the blob from quarantine, finished or not."""
        for ending in (STORED, PARTIAL):
            (self._aside / (name + ending)).unlink(missing_ok=True)

    def mark(self) -> bytes | None:
        """Return the mark of the blob store's owner, if there is one."""
        try:
            return (self._folder / MARK).read_bytes()
        except FileNotFoundError:
            return None

    def leave_mark(self, content: bytes, *, replace: bool = False) -> None:
        """Write the owner's mark; one that another process wrote first stays, unless `replace`."""
        descriptor, draft = tempfile.mkstemp(dir=self._folder, prefix=".mark.")
        try:
            with os.fdopen(descriptor, "wb") as new:
                new.write(content)
                new.flush()
                os.fsync(new.fileno())
            if replace:
                os.rename(draft, self._folder / MARK)
            else:
                # A link appears whole or not at all, and never replaces what is there.
                with suppress(FileExistsError):
                    os.link(draft, self._folder / MARK)
        finally:
            Path(draft).unlink(missing_ok=True)
        _keep_names(self._folder)

    def check(self) -> None:
        """OSError unless blobs can be written here; the disk may be full, or read-only."""
        with tempfile.TemporaryFile(dir=self._folder) as tried:
            tried.write(bytes(TRIED_BYTES))
            tried.flush()
            os.fsync(tried.fileno())


def _keep_names(folder: Path) -> None:
    """Flush a directory to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
