"""Files of jobs: spooled request bodies and answers, sealed, written atomically.

They lie beside the blobs, under a prefix of their own, so that a worker on another machine finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property

from pyarrow import fs

from app.store.blobs.bucket import BlobBucket
from app.store.blobs.folder import BlobFolder
from app.store.blobs.sealed_bytes import FileKey, SealedFile, SealingWriter
from app.store.vault import Vault

FOLDER = "jobs"


class JobFiles:
    """Files by name; a name begins with the id of its job."""

    def __init__(self, store: BlobFolder | BlobBucket, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    @contextmanager
    def writer(self, name: str) -> Iterator[SealingWriter]:
        """A file to be written in the block; it appears when the block ends well, else never."""
        place = self._place
        try:
            with place.filesystem.open_output_stream(place.unfinished(name)) as sink:
                sealing = SealingWriter(sink, FileKey.new(self._vault, name))
                yield sealing
                sealing.finish()
            place.publish(name)
        except BaseException:
            with suppress(OSError):
                place.remove(name)
            raise

    @contextmanager
    def opened(self, name: str) -> Iterator[SealedFile]:
        """A file to be read; FileNotFoundError where it is gone."""
        place = self._place
        with place.filesystem.open_input_file(place.path(name)) as file:
            yield SealedFile(file, self._vault, name)

    def remove(self, name: str) -> None:
        """Remove a file, whole or begun, if it is there."""
        with suppress(FileNotFoundError):
            self._place.remove(name)

    def left_before(self, moment: datetime) -> set[str]:
        """The names of files that were written, or last written to, before a moment."""
        place = self._place
        paths = {place.path(name): name for name in place.names()}
        paths |= {place.unfinished(name): name for name in place.begun()}
        return {
            name
            for path, name in paths.items()
            if (info := place.filesystem.get_file_info(path)).type is fs.FileType.File
            and info.mtime is not None
            and info.mtime < moment
        }

    @cached_property
    def _place(self) -> BlobFolder | BlobBucket:
        # Not before it is needed: most installations never have a file here.
        return self._store.below(FOLDER)


def read_all(file: SealedFile, chunk_bytes: int) -> Iterator[bytes]:
    """The bytes of a file, in order."""
    for start in range(0, file.size, chunk_bytes):
        yield file.read(start, chunk_bytes)
