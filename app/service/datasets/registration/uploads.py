"""Uploads that wait for their registration: sent once, sealed, read as often as they are looked at.

They lie where the bodies of jobs lie, under a name that begins with no job's id: what nobody registers is removed with
what is left over there, after a day. The name holds the owner, so that for everybody else there is no such file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import NotFound
from app.service.context import RequestContext, new_id
from app.service.resources import Resources
from app.store.blobs.sealed_bytes import SealedReader
from app.tables.bodies.streams import ByteStream

CHUNK_BYTES = 2**20
UPLOAD = "upload"


def keep_upload(resources: Resources, context: RequestContext, body: ByteStream) -> str:
    """Seal what comes; its id. A body that does not come whole leaves nothing."""
    upload_id = new_id(UPLOAD)
    with resources.jobs.files.writer(_name(upload_id, context)) as sink:
        while chunk := body.read(CHUNK_BYTES):
            sink.write(chunk)
    return upload_id


@contextmanager
def opened_upload(
    resources: Resources, context: RequestContext, upload_id: str
) -> Iterator[ByteStream]:
    """The file of the principal, to be read in the block; NotFound where it is gone."""
    try:
        with resources.jobs.files.opened(_name(upload_id, context)) as file:
            yield SealedReader(file)
    except FileNotFoundError:
        raise NotFound("The file is not here any more. Choose it once more.") from None


def forget_upload(resources: Resources, context: RequestContext, upload_id: str) -> None:
    """Remove the file of the principal, if it is there."""
    resources.jobs.files.remove(_name(upload_id, context))


def _name(upload_id: str, context: RequestContext) -> str:
    return f"{upload_id}-{context.principal.id}"
