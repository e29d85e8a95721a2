"""Delivery targets: folders and buckets that the operator allowed, with atomic writes."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pyarrow import fs


def remove_file(place: str, name: str) -> None:
    """Remove a file and its drafts, if they exist."""
    with suppress(OSError):
        _remove_drafts(place, name)
        if place.startswith("s3://"):
            store, root = fs.FileSystem.from_uri(place)
            store.delete_file(f"{root}/{name}")
        else:
            (Path(place) / name).unlink(missing_ok=True)


def _remove_drafts(place: str, name: str) -> None:
    """Remove drafts of killed workers.

    A worker that lost its lease and still writes one fails: the delivery is another's.
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
def new_file(place: str, name: str) -> Iterator[IO[bytes] | Any]:
    """Open a file that appears under its name when the block ends without an error."""
    _remove_drafts(place, name)
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
    """Open an object of a bucket; closing one makes it appear, so a draft is moved when it is complete."""
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
