"""Blob store: original rows as encrypted Parquet in row groups of exactly 65,536, with a digest.

The digest of rows is 32 bytes, equal for every cut into batches:

    column = SHA-256(numbers, little-endian doubles, missing ones as one NaN), or
             SHA-256(lengths of the texts in bytes, 4 bytes each, little-endian, -1 where missing)
             followed by SHA-256(the texts, one after the other)
    digest = SHA-256("cornerwave rows v1" ‖ 0 ‖ rows ‖ for each column: length of its name ‖ name ‖
             "n" or "t" ‖ column), numbers as 8 bytes, big-endian

Whoever keeps it must key it: with the rows of a guess, anybody computes it.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from app.errors import DomainError, TooLarge
from app.model import BLOCK_ROWS
from app.store.blobs.bucket import BlobBucket
from app.store.blobs.folder import BlobFolder
from app.store.vault import Vault, decryption, decryption_by, encryption, key_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")
Place = BlobFolder | BlobBucket

BLOCK_BYTES = 2**30
"""What a block may take in memory: 2,000 columns of numbers, or texts of 16 KiB a row."""


class Upload:
    """A blob being written: `write` its rows, then `finish`, after which it can be read."""

    def __init__(
        self, writer: pq.ParquetWriter, schema: pa.Schema, publish: Callable[[], None]
    ) -> None:
        self._writer = writer
        self._digest = RowDigest(schema)
        self._publish = publish
        self._blocks = RowBlocks()
        self.rows = 0
        self.finished = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of `batch`, of any number."""
        self.rows += batch.num_rows
        self._digest.add(batch)
        for block in self._blocks.add(batch):
            self._writer.write_table(block, row_group_size=BLOCK_ROWS)

    def finish(self) -> None:
        """Write what is left and let the blob appear."""
        for block in self._blocks.rest():
            self._writer.write_table(block, row_group_size=BLOCK_ROWS)
        self._writer.close()
        self._publish()
        self.finished = True

    @property
    def digest(self) -> bytes:
        """Return the digest of the rows written so far, as defined above."""
        return self._digest.digest()

    def abandon(self) -> None:
        """Stop writing; the upload's files are removed elsewhere."""
        with suppress(OSError, pa.ArrowException):
            self._writer.close()


class BlobStore:
    """Blobs by name, in a directory or a bucket, encrypted by keys that the vault seals."""

    def __init__(self, place: Place, vault: Vault) -> None:
        self.place = place
        self._vault = vault

    @classmethod
    def at(cls, url: str, vault: Vault) -> BlobStore:
        """The store at a place that `place_at` finds."""
        return cls(place_at(url), vault)

    @contextmanager
    def writer(
        self, name: str, schema: pa.Schema, announce: Callable[[], None] = lambda: None
    ) -> Iterator[Upload]:
        """An upload of the blob `name`.

        `announce` is called before anything of the blob is in the store: it keeps that the blob is
        ours. The body of the `with` writes, calls `finish` and then commits the row that
        refers to the blob: until the body ends no sweep touches the blob. When it fails, nothing
        stays behind, except where a finished blob may be referred to after all, because the commit
        failed in a way that leaves its outcome open: a sweep looks at the database and decides.
        """
        _checked(name)
        announce()
        with self.place.claim(name):
            upload: Upload | None = None
            with ExitStack() as opened:
                try:
                    sink = self.place.filesystem.open_output_stream(self.place.unfinished(name))
                    # On a full disk closing fails too, and must not keep the file from going.
                    opened.callback(_closed, sink)
                    parquet = self._parquet(sink, name, schema)
                    upload = Upload(parquet, schema, lambda: self._appear(sink, name))
                    yield upload
                    if not upload.finished:
                        raise ValueError("an upload must be finished before its block ends")
                except BaseException as error:
                    if upload is None or not upload.finished or isinstance(error, DomainError):
                        if upload is not None:
                            upload.abandon()
                        opened.close()
                        self.place.remove(name)
                    raise

    def read_rows(
        self,
        name: str,
        first: int,
        last: int,
        columns: Sequence[str] | None = None,
        coded: Sequence[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Rows first ≤ i < last of the blob, reading only the row groups that they touch.

        `coded` columns of text come as places in the list of their values, as they are stored: where
        values repeat, that saves most of the time.
        """
        opening = decryption(self._vault, _checked(name))
        return _rows(self.place, name, first, last, columns, coded, opening)

    def key_of(self, name: str) -> bytes:
        """The key of one blob, for `BlobRows`."""
        path = self.place.path(_checked(name))
        with self.place.filesystem.open_input_file(path) as source:
            return key_of(self._vault, name, source)

    def rows_of(self, names: Iterable[str]) -> BlobRows:
        """These blobs for reading where the vault is not."""
        return BlobRows(self.place, {name: self.key_of(name) for name in names})

    def row_count(self, name: str) -> int:
        """Return how many rows the blob says it has: what its end tells, which opens by its key alone."""
        _checked(name)
        with (
            self.place.filesystem.open_input_file(self.place.path(name)) as source,
            decryption(self._vault, name) as properties,
            pq.ParquetFile(source, decryption_properties=properties) as file,
        ):
            return int(file.metadata.num_rows)

    def delete(self, name: str) -> None:
        """Remove the blob, if it is there."""
        self.place.remove(_checked(name))

    def has(self, name: str) -> bool:
        """Return whether the blob can be read."""
        path = self.place.path(_checked(name))
        return bool(self.place.filesystem.get_file_info(path).type is fs.FileType.File)

    def unattended(self, name: str, since: datetime) -> AbstractContextManager[bool]:
        """Return whether nobody is uploading this blob, begun at `since`, and nobody can meanwhile."""
        return self.place.unattended(_checked(name), since)

    def set_aside(self, name: str) -> bool:
        """Move what is there of the blob to quarantine; False when nothing of it is anywhere."""
        return self.place.set_aside(_checked(name))

    def bring_back(self, name: str) -> None:
        """Undo `set_aside` for a finished blob."""
        self.place.bring_back(_checked(name))

    def remove_aside(self, name: str) -> None:
        """Remove the blob from quarantine."""
        self.place.remove_aside(_checked(name))

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
        self.place.publish(name)


@dataclass(frozen=True, repr=False)
class BlobRows:
    """Some blobs and the keys of them alone: plain values, for another process or machine."""

    place: Place
    keys: Mapping[str, bytes]

    def read_rows(
        self,
        name: str,
        first: int,
        last: int,
        columns: Sequence[str] | None = None,
        coded: Sequence[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """As of `BlobStore`."""
        return _rows(self.place, name, first, last, columns, coded, decryption_by(self.keys[name]))


def _rows(
    place: Place,
    name: str,
    first: int,
    last: int,
    columns: Sequence[str] | None,
    coded: Sequence[str],
    opening: AbstractContextManager[Any],
) -> Iterator[pa.RecordBatch]:
    with (
        place.filesystem.open_input_file(place.path(name)) as source,
        opening as properties,
        pq.ParquetFile(
            source, decryption_properties=properties, read_dictionary=list(coded)
        ) as file,
    ):
        last = min(last, file.metadata.num_rows)
        for group in range(first // BLOCK_ROWS, -(-last // BLOCK_ROWS)):
            rows = file.read_row_group(group, columns=columns)
            start = max(0, first - group * BLOCK_ROWS)
            stop = min(BLOCK_ROWS, last - group * BLOCK_ROWS)
            yield from rows.slice(start, stop - start).combine_chunks().to_batches()


def place_at(url: str) -> Place:
    """A path, a `file:` URL, or a URL that Arrow knows, such as s3://bucket/prefix."""
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return BlobFolder(Path(unquote(parts.path) if parts.scheme else url))
    filesystem, root = fs.FileSystem.from_uri(url)
    return BlobBucket(filesystem, root)


def _closed(sink: pa.NativeFile) -> None:
    with suppress(OSError, pa.ArrowException):
        sink.close()


def _checked(name: str) -> str:
    """The name, if it is one: it becomes part of a path."""
    if NAME.fullmatch(name) is None:
        raise ValueError("a blob's name has letters, digits, - and _ only")
    return name


class RowBlocks:
    """Holds back rows until a block is full."""

    def __init__(self, rows: int = BLOCK_ROWS) -> None:
        self._rows = rows
        self._held: list[pa.RecordBatch] = []
        self._count = 0
        self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """The blocks that are full now that `batch` came; TooLarge when one takes too much."""
        while self._count + batch.num_rows >= self._rows:
            taken = self._rows - self._count
            self._held.append(batch.slice(0, taken))
            yield from self.rest()
            batch = batch.slice(taken)
        if batch.num_rows:
            self._held.append(batch)
            self._count += batch.num_rows
            self._bytes += batch.nbytes
            if self._bytes > BLOCK_BYTES:
                raise TooLarge(
                    f"{self._rows} rows of the table take more than {BLOCK_BYTES} bytes; leave out "
                    "long texts",
                    limit_bytes=BLOCK_BYTES,
                )

    def rest(self) -> Iterator[pa.Table]:
        """Return the held-back rows as a last, shorter block, if there are any."""
        held, self._held, self._count, self._bytes = self._held, [], 0, 0
        if held:
            yield pa.Table.from_batches(held)


def row_blocks(batches: Iterator[pa.RecordBatch], rows: int = BLOCK_ROWS) -> Iterator[pa.Table]:
    """The same rows in blocks of `rows`, the last one perhaps shorter."""
    blocks = RowBlocks(rows)
    for batch in batches:
        yield from blocks.add(batch)
    yield from blocks.rest()


class RowDigest:
    """Takes note of rows as they come."""

    def __init__(self, schema: pa.Schema) -> None:
        self._rows = 0
        self._columns = [
            (field.name, DigestOfNumbers() if pa.types.is_floating(field.type) else DigestOfTexts())
            for field in schema
        ]

    def add(self, batch: pa.RecordBatch) -> None:
        """Take note of the rows of `batch`, of any number."""
        self._rows += batch.num_rows
        for name, column in self._columns:
            column.add(batch.column(name))

    def digest(self) -> bytes:
        """The digest of all rows so far."""
        whole = hashlib.sha256(b"cornerwave rows v1\0" + struct.pack(">Q", self._rows))
        for name, column in self._columns:
            said = name.encode()
            whole.update(struct.pack(">Q", len(said)) + said + column.tag + column.digest())
        return whole.digest()


class DigestOfNumbers:
    """A column of doubles."""

    tag = b"n"

    def __init__(self) -> None:
        self._values = hashlib.sha256()

    def add(self, values: pa.Array) -> None:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        missing = np.isnan(numbers)
        if missing.any():  # a NaN has many spellings
            numbers = np.where(missing, np.nan, numbers)
        self._values.update(np.ascontiguousarray(numbers, dtype="<f8").data)

    def digest(self) -> bytes:
        return self._values.digest()


class DigestOfTexts:
    """A column of texts."""

    tag = b"t"

    def __init__(self) -> None:
        self._lengths, self._bytes = hashlib.sha256(), hashlib.sha256()

    def add(self, values: pa.Array) -> None:
        texts = values.cast(pa.large_binary())
        lengths = pc.fill_null(pc.binary_length(texts), -1).to_numpy()
        self._lengths.update(np.ascontiguousarray(lengths, dtype="<i4").data)
        there = texts.drop_null()
        if len(there):
            _, offsets, content = there.buffers()
            places = np.frombuffer(offsets, dtype=np.int64)[there.offset :][: len(there) + 1]
            self._bytes.update(memoryview(content)[places[0] : places[-1]] if content else b"")

    def digest(self) -> bytes:
        return self._lengths.digest() + self._bytes.digest()
