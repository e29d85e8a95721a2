"""Blobs in an object store (S3): visible once closed, orphans found by age."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from pyarrow import fs

from app.store.blobs.folder import ASIDE, MARK, STORED

ABANDONED_AFTER = timedelta(hours=24)
"""No upload takes this long: one that began before and is not committed is over."""


class BlobBucket:
    """A prefix in a bucket, or any other filesystem of Arrow's."""

    def __init__(self, filesystem: fs.FileSystem, root: str) -> None:
        self.filesystem = filesystem
        self._root = root.rstrip("/")

    def below(self, folder: str) -> BlobBucket:
        """A prefix within this one, for objects of another sort."""
        return BlobBucket(self.filesystem, f"{self._root}/{folder}")

    def path(self, name: str) -> str:
        """Return the path of a blob."""
        return f"{self._root}/{name}{STORED}"

    def unfinished(self, name: str) -> str:
        """Return the path during an upload: an object appears when it is closed."""
        return self.path(name)

    def publish(self, name: str) -> None:
        """Closing the object has let it appear."""

    def remove(self, name: str) -> None:
        """Remove the blob, if it is there."""
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(self.path(name))

    @contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Nothing to hold: see `unattended`."""
        yield

    @contextmanager
    def unattended(self, name: str, since: datetime) -> Iterator[bool]:
        """Return whether the upload began so long ago that it is over."""
        yield since < datetime.now(UTC) - ABANDONED_AFTER

    def claimed(self) -> set[str]:
        """Nothing is left of an uploader here."""
        return set()

    def names(self) -> set[str]:
        """The blobs that are there."""
        return self._names_in(self._root)

    def begun(self) -> set[str]:
        """Nothing is seen of an object before it is whole."""
        return set()

    def set_aside(self, name: str) -> bool:
        """Move the blob to quarantine; False when it is nowhere."""
        if self._exists(self.path(name)):
            self.filesystem.create_dir(f"{self._root}/{ASIDE}")
            self.filesystem.move(self.path(name), self._aside(name))
        return self._exists(self._aside(name))

    def bring_back(self, name: str) -> None:
        """Undo `set_aside`."""
        self.filesystem.move(self._aside(name), self.path(name))

    def aside(self) -> set[str]:
        """The blobs in quarantine."""
        return self._names_in(f"{self._root}/{ASIDE}")

    def remove_aside(self, name: str) -> None:
        """Remove the blob from quarantine."""
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(self._aside(name))

    def mark(self) -> bytes | None:
        """Return the mark of the blob store's owner, if there is one."""
        try:
            with self.filesystem.open_input_stream(f"{self._root}/{MARK}") as kept:
                return bytes(kept.read())
        except FileNotFoundError:
            return None

    def leave_mark(self, content: bytes, *, replace: bool = False) -> None:
        """Write the owner's mark; an earlier one stays, unless `replace`.

        An object store cannot be asked to write only where nothing is: of two first starts in the
        same second the later one wins, and each reads afterwards what is there.
        """
        if replace or self.mark() is None:
            with self.filesystem.open_output_stream(f"{self._root}/{MARK}") as kept:
                kept.write(content)

    def check(self) -> None:
        """OSError unless the bucket answers."""
        self.filesystem.get_file_info(self._root)

    def _aside(self, name: str) -> str:
        return f"{self._root}/{ASIDE}/{name}{STORED}"

    def _exists(self, path: str) -> bool:
        return bool(self.filesystem.get_file_info(path).type is fs.FileType.File)

    def _names_in(self, folder: str) -> set[str]:
        selector = fs.FileSelector(folder, allow_not_found=True)
        return {
            PurePosixPath(found.path).name.removesuffix(STORED)
            for found in self.filesystem.get_file_info(selector)
            if found.type is fs.FileType.File and found.path.endswith(STORED)
        }
