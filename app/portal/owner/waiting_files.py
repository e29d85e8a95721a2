"""A file that an owner sent to be looked at: it waits sealed, is read as often as it is looked at, and goes when it is registered.

It lies where the bodies of jobs lie, under a name that begins with no job's id: what nobody registers is
removed with what is left over there, after a day. The name holds the owner, so that for everybody else
there is no such file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Query

from app.errors import NotFound
from app.service.asking import Ask, new_id
from app.service.resources import Resources
from app.store.blobs.sealed_bytes import SealedFile
from app.tables.bodies.encoding import Readable

CHUNK_BYTES = 2**20
PREFIX = "upload"

FileId = Annotated[str, Query(alias="file", pattern=rf"^{PREFIX}_[0-9a-f]{{20}}$")]


class Reader:
    """A sealed file from its beginning."""

    def __init__(self, file: SealedFile) -> None:
        self._file = file
        self._at = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end."""
        found = self._file.read(self._at, size)
        self._at += len(found)
        return found


def keep(resources: Resources, ask: Ask, body: Readable) -> str:
    """Seal what comes; its id. A body that does not come whole leaves nothing."""
    file_id = new_id(PREFIX)
    with resources.jobs.files.writer(_name(file_id, ask)) as sink:
        while chunk := body.read(CHUNK_BYTES):
            sink.write(chunk)
    return file_id


@contextmanager
def opened(resources: Resources, ask: Ask, file_id: str) -> Iterator[Reader]:
    """The file of the caller, to be read in the block; NotFound where it is gone."""
    try:
        with resources.jobs.files.opened(_name(file_id, ask)) as file:
            yield Reader(file)
    except FileNotFoundError:
        raise NotFound("The file is not here any more. Choose it once more.") from None


def forget(resources: Resources, ask: Ask, file_id: str) -> None:
    """Remove the file of the caller, if it is there."""
    resources.jobs.files.remove(_name(file_id, ask))


def _name(file_id: str, ask: Ask) -> str:
    return f"{file_id}-{ask.caller.id}"
