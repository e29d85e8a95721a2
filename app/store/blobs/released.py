"""Store of released files: a prefix beside the blobs, written atomically, with presigned URLs.

They are copies, not originals. Where the service hands them out itself they are sealed all the same,
so that the store holds nothing that can be read without the master key. Where a bucket hands them out
by its own signed URLs they must lie there as they are: what the bucket encrypts at rest is its
owner's to settle.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from app.store.blobs.bucket import BlobBucket
from app.store.blobs.folder import BlobFolder
from app.store.blobs.sealed_bytes import FileKey, PlainFile, SealedFile, SealingWriter
from app.store.vault import Vault


class PresigningNotInstalled(Exception):
    """The library for it is missing."""


class S3Presigner:
    """Signs with the credentials that the bucket is read and written with.

    `url` is what Arrow opens, with its parameters: endpoint_override, scheme, region.
    """

    def __init__(self, url: str) -> None:
        try:
            import botocore.session
            from botocore.config import Config
        except ImportError:
            raise PresigningNotInstalled from None
        parts = urlsplit(url)
        said = {name: values[0] for name, values in parse_qs(parts.query).items()}
        options: dict[str, Any] = {"config": Config(signature_version="s3v4")}
        if "region" in said:
            options["region_name"] = said["region"]
        if "endpoint_override" in said:
            endpoint = said["endpoint_override"]
            scheme = said.get("scheme", "https")
            options["endpoint_url"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        if parts.username and parts.password:
            options["aws_access_key_id"] = unquote(parts.username)
            options["aws_secret_access_key"] = unquote(parts.password)
        self._client = botocore.session.get_session().create_client("s3", **options)

    def url(self, path: str, seconds: int) -> str:
        """Return the presigned URL of an object at bucket/key."""
        bucket, _, key = path.partition("/")
        signed: str = self._client.generate_presigned_url(
            "get_object", Params={"Bucket": bucket, "Key": key}, ExpiresIn=seconds
        )
        return signed


FOLDER = "released"


class Presigner(Protocol):
    """Makes URLs by which a bucket hands out its objects."""

    def url(self, path: str, seconds: int) -> str:
        """Return the presigned URL of the object at `path`."""


@dataclass
class HashingWriter:
    """Writer that counts and hashes (SHA-256) the bytes of a file."""

    size: int
    sha256: str


@dataclass(frozen=True, repr=False)
class PendingFile:
    """A file about to be written, by any process that reaches the place: plain values.

    where:
        object  its name in the store, never used before
        key     by which it is sealed; None where it lies as it is
    """

    place: BlobFolder | BlobBucket
    object: str
    key: FileKey | None

    @contextmanager
    def opened(self) -> Iterator[tuple[io.RawIOBase, HashingWriter]]:
        """A sink for its bytes. It appears when the block ends well, and not otherwise."""
        written = HashingWriter(0, "")
        path = self.place.unfinished(self.object)
        with self.place.claim(self.object):
            raw = self.place.filesystem.open_output_stream(path)
            try:
                sealing = None if self.key is None else SealingWriter(raw, self.key)
                sink = _Counted(raw if sealing is None else sealing)
                yield sink, written
                if sealing is not None:
                    sealing.finish()
                raw.close()
                self.place.publish(self.object)
            except BaseException:
                _closed(raw)
                self.place.remove(self.object)
                raise
            written.size, written.sha256 = sink.size, sink.digest.hexdigest()


class _Counted(io.RawIOBase):
    """Passes bytes on, counting and hashing them."""

    def __init__(self, sink: object) -> None:
        super().__init__()
        self._sink = sink
        self.size = 0
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        taken = bytes(memoryview(data))  # type: ignore[arg-type]
        self._sink.write(taken)  # type: ignore[attr-defined]
        self.digest.update(taken)
        self.size += len(taken)
        return len(taken)


class ReleasedStore:
    """Files that were written, by the name of their object.

    where:
        presigner  of a bucket that hands files out itself; None where the service does
    """

    def __init__(
        self, place: BlobFolder | BlobBucket, vault: Vault, presigner: Presigner | None = None
    ) -> None:
        self._blobs = place
        self._vault = vault
        self.presigner = presigner

    @cached_property
    def _place(self) -> BlobFolder | BlobBucket:
        """Made when the first file is: a store without files has no folder for them."""
        return self._blobs.below(FOLDER)

    def new(self, object_name: str) -> PendingFile:
        """A file to write under a name that was never used."""
        key = None if self.presigner else FileKey.new(self._vault, object_name)
        return PendingFile(self._place, object_name, key)

    def open(self, object_name: str) -> SealedFile | PlainFile:
        """The bytes of a file; FileNotFoundError when it is not there."""
        file = self._place.filesystem.open_input_file(self._place.path(object_name))
        if self.presigner:
            return PlainFile(file)
        return SealedFile(file, self._vault, object_name)

    def presigned(self, object_name: str, seconds: int) -> str:
        """The bucket's own URL for a file."""
        if self.presigner is None:
            raise ValueError("only a bucket signs URLs")
        return self.presigner.url(self._place.path(object_name), seconds)

    def remove(self, object_name: str) -> None:
        """Remove a file, finished or not, if it is there."""
        self._place.remove(object_name)

    def unattended(self, object_name: str, since: datetime) -> AbstractContextManager[bool]:
        """Return whether nobody is writing this file, begun at `since`, and nobody can meanwhile."""
        return self._place.unattended(object_name, since)


def _closed(raw: object) -> None:
    try:
        raw.close()  # type: ignore[attr-defined]
    except OSError:
        # On a full disk closing fails too, and must not keep the file from going.
        return
