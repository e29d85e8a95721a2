"""Writing a blob so that the database can prove, at any later moment, that it is its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import pyarrow as pa
from sqlalchemy.exc import SQLAlchemyError

from app.service.resources import Resources
from app.store.blobs.store import Upload
from app.store.database.engine import writing
from app.store.database.registered import loose_blobs


@contextmanager
def uploading(resources: Resources, blob: str, schema: pa.Schema) -> Iterator[Upload]:
    """An upload whose name the database knows before its first byte is written.

    The body commits the part that refers to the blob, which then is loose no more. Without that the
    blob goes, and its name after it; what a crash or a lost connection leaves is the sweep's.
    """

    def announce() -> None:
        with writing(resources.engine) as connection:
            loose_blobs.add(connection, [blob], loose_blobs.Reason.UPLOAD, datetime.now(UTC))

    try:
        with resources.blobs.writer(blob, schema, announce) as upload:
            yield upload
    except BaseException:
        with suppress(SQLAlchemyError, OSError):
            if not resources.blobs.has(blob):
                with writing(resources.engine) as connection:
                    loose_blobs.forget(connection, blob)
        raise
