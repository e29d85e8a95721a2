"""Blobs in an object store, where an object appears whole when it is closed and age tells orphans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from pyarrow import fs

STORED = ".parquet"
ABANDONED_AFTER = timedelta(hours=24)
"""No upload takes this long: a blob that is older and unknown to the database is nobody's."""


class BlobBucket:
    """A prefix in a bucket, or any other filesystem of Arrow's."""

    def __init__(self, filesystem: fs.FileSystem, root: str) -> None:
        self.filesystem = filesystem
        self._root = root.rstrip("/")

    def path(self, name: str) -> str:
        """Where the blob of that name is."""
        return f"{self._root}/{name}{STORED}"

    def unfinished(self, name: str) -> str:
        """Where it is while it is written: an object is not there before it is closed."""
        return self.path(name)

    def publish(self, name: str) -> None:
        """Closing the object has let it appear."""

    def remove(self, name: str) -> None:
        """Remove the blob, if it is there."""
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(self.path(name))

    @contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Nothing to hold: see `ownerless`."""
        yield

    def names(self) -> set[str]:
        """The blobs that are there."""
        return {self._name(found) for found in self._found()}

    @contextmanager
    def ownerless(self) -> Iterator[set[str]]:
        """Names of blobs so old that their upload is over."""
        before = datetime.now(UTC) - ABANDONED_AFTER
        yield {
            self._name(found)
            for found in self._found()
            if found.mtime is not None and found.mtime < before
        }

    def check(self) -> None:
        """OSError unless the bucket answers."""
        self.filesystem.get_file_info(self._root)

    def _found(self) -> Iterator[fs.FileInfo]:
        selector = fs.FileSelector(self._root, allow_not_found=True)
        for found in self.filesystem.get_file_info(selector):
            if found.type is fs.FileType.File and found.path.endswith(STORED):
                yield found

    @staticmethod
    def _name(found: fs.FileInfo) -> str:
        return PurePosixPath(found.path).name.removesuffix(STORED)
