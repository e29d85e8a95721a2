"""The blob store: original rows as encrypted Parquet, in row groups of exactly 65,536."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from app.errors import DomainError
from app.model import BLOCK_ROWS
from app.store.blob_bucket import BlobBucket
from app.store.blob_folder import BlobFolder
from app.store.blob_keys import decryption, encryption
from app.store.row_blocks import RowBlocks
from app.store.vault import Vault

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")
Place = BlobFolder | BlobBucket


class Upload:
    """A blob being written: `write` its rows, then `finish`, after which it can be read."""

    def __init__(self, writer: pq.ParquetWriter, publish: Callable[[], None]) -> None:
        self._writer = writer
        self._publish = publish
        self._blocks = RowBlocks()
        self.rows = 0
        self.finished = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of `batch`, of any number."""
        self.rows += batch.num_rows
        for block in self._blocks.add(batch):
            self._writer.write_table(block, row_group_size=BLOCK_ROWS)

    def finish(self) -> None:
        """Write what is left and let the blob appear."""
        for block in self._blocks.rest():
            self._writer.write_table(block, row_group_size=BLOCK_ROWS)
        self._writer.close()
        self._publish()
        self.finished = True

    def abandon(self) -> None:
        """Write no more; what was written is somebody else's to remove."""
        with suppress(OSError, pa.ArrowException):
            self._writer.close()


class BlobStore:
    """Blobs by name, in a directory or a bucket, encrypted by keys that the vault seals."""

    def __init__(self, place: Place, vault: Vault) -> None:
        self._place = place
        self._vault = vault

    @classmethod
    def at(cls, url: str, vault: Vault) -> BlobStore:
        """The store at a path, a `file:` URL, or a URL that Arrow knows, such as s3://bucket/prefix."""
        parts = urlsplit(url)
        if parts.scheme in ("", "file"):
            return cls(BlobFolder(Path(unquote(parts.path) if parts.scheme else url)), vault)
        filesystem, root = fs.FileSystem.from_uri(url)
        return cls(BlobBucket(filesystem, root), vault)

    @contextmanager
    def writer(self, name: str, schema: pa.Schema) -> Iterator[Upload]:
        """An upload of the blob `name`.

        The body of the `with` writes, calls `finish` and then commits the row that refers to the
        blob: until the body ends no sweep touches the blob. When it fails, nothing stays behind,
        except where a finished blob may be referred to after all, because the commit failed in a
        way that leaves its outcome open: a sweep looks at the database and decides.
        """
        _checked(name)
        with self._place.claim(name):
            sink = self._place.filesystem.open_output_stream(self._place.unfinished(name))
            upload = Upload(self._parquet(sink, name, schema), lambda: self._appear(sink, name))
            try:
                yield upload
                if not upload.finished:
                    raise ValueError("an upload must be finished before its block ends")
            except BaseException as error:
                if not upload.finished or isinstance(error, DomainError):
                    upload.abandon()
                    sink.close()
                    self._place.remove(name)
                raise

    def read_rows(
        self, name: str, first: int, last: int, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows first ≤ i < last of the blob, reading only the row groups that they touch."""
        _checked(name)
        with (
            self._place.filesystem.open_input_file(self._place.path(name)) as source,
            pq.ParquetFile(source, decryption_properties=decryption(self._vault, name)) as file,
        ):
            last = min(last, file.metadata.num_rows)
            for group in range(first // BLOCK_ROWS, -(-last // BLOCK_ROWS)):
                rows = file.read_row_group(group, columns=columns)
                start = max(0, first - group * BLOCK_ROWS)
                stop = min(BLOCK_ROWS, last - group * BLOCK_ROWS)
                yield from rows.slice(start, stop - start).combine_chunks().to_batches()

    def delete(self, name: str) -> None:
        """Remove the blob, if it is there."""
        self._place.remove(_checked(name))

    def names(self) -> set[str]:
        """The blobs that can be read."""
        return self._place.names()

    def sweep(self, referenced: Callable[[], Collection[str]]) -> set[str]:
        """Remove what crashed uploads left behind and say what it was.

        `referenced` asks the database which blobs it knows. It is asked after the blobs without a
        living uploader were listed: a blob that was committed meanwhile is then known.
        """
        with self._place.ownerless() as candidates:
            orphans = candidates - set(referenced()) if candidates else set()
            for name in orphans:
                self._place.remove(name)
        return orphans

    def check(self) -> None:
        """OSError when blobs cannot be kept at present."""
        self._place.check()

    def _parquet(self, sink: pa.NativeFile, name: str, schema: pa.Schema) -> pq.ParquetWriter:
        return pq.ParquetWriter(
            sink,
            schema,
            # Doubles hardly repeat: a dictionary of them costs time and saves nothing.
            use_dictionary=[f.name for f in schema if not pa.types.is_floating(f.type)],
            write_statistics=False,
            encryption_properties=encryption(self._vault, name),
        )

    def _appear(self, sink: pa.NativeFile, name: str) -> None:
        sink.close()
        self._place.publish(name)


def _checked(name: str) -> str:
    """The name, if it is one: it becomes part of a path."""
    if NAME.fullmatch(name) is None:
        raise ValueError("a blob's name has letters, digits, - and _ only")
    return name
