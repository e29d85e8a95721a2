"""A copy as a Parquet file at a place that the operator allowed: there whole, or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pyarrow import fs

from app.service.context import RequestContext
from app.service.copies.generation.release import Selection, open_release, record_release
from app.service.resources import Resources
from app.tables.media import MediaType
from app.tables.writer import write_batches

CHECKED_BYTES = 8 * 2**20
"""How much is written until the right to it is asked for again."""


def push_copy(
    resources: Resources,
    context: RequestContext,
    copy_id: str,
    target: str,
    name: str,
    go_on: Callable[[], None],
) -> str:
    """Write the copy, as this principal may have it, to a target; SHA-256 of the file.

    The bytes are those of a download as Parquet. A second try writes the same file again.
    """
    place = resources.outside.targets[target]
    release = open_release(resources, context, copy_id, Selection())
    record_release(resources, context, release, MediaType.PARQUET.value)
    digest = hashlib.sha256()
    left = CHECKED_BYTES
    _clear(place, name)
    with _written(place, name) as file:
        for chunk in write_batches(release.each_block, release.schema, MediaType.PARQUET):
            if left >= CHECKED_BYTES:
                go_on()
                left = 0
            left += len(chunk)
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def take_back(resources: Resources, target: str, name: str) -> None:
    """Remove a file that was pushed while the right to it ended, and what was begun of it."""
    place = resources.outside.targets[target]
    with suppress(OSError):
        _clear(place, name)
        if place.startswith("s3://"):
            store, root = fs.FileSystem.from_uri(place)
            store.delete_file(f"{root}/{name}")
        else:
            (Path(place) / name).unlink(missing_ok=True)


def _clear(place: str, name: str) -> None:
    """Remove what workers that were killed had begun of a file.

    One that was given up for dead and still writes fails: the delivery is another's by now.
    """
    folder, _, file = name.rpartition("/")
    if place.startswith("s3://"):
        store, root = fs.FileSystem.from_uri(place)
        there = store.get_file_info(fs.FileSelector(f"{root}/{folder}", allow_not_found=True))
        for found in there:
            if found.base_name.startswith(f".{file}."):
                store.delete_file(found.path)
        return
    for begun in (Path(place) / folder).glob(f".{glob.escape(file)}.*"):
        begun.unlink(missing_ok=True)


@contextmanager
def _written(place: str, name: str) -> Iterator[IO[bytes] | Any]:
    """A file that appears under its name when the block ends well."""
    if place.startswith("s3://"):
        with _object(place, name) as object_:
            yield object_
        return
    path = Path(place) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _object(place: str, name: str) -> Iterator[Any]:
    """The same in a bucket: closing an object makes it appear, so that it is moved once it is whole."""
    store, root = fs.FileSystem.from_uri(place)
    folder, _, file = name.rpartition("/")
    draft = f"{root}/{folder}/.{file}.{secrets.token_hex(6)}"
    try:
        with store.open_output_stream(draft) as object_:
            yield object_
        store.move(draft, f"{root}/{name}")
    except BaseException:
        with suppress(OSError):
            store.delete_file(draft)
        raise
