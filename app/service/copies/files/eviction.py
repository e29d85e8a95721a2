"""Eviction of released files, least recently used first; they can be remade.

Removing is in two steps, and a crash between them loses nothing: the file's reference to its object is deleted, in a
commit; then the object is removed, and its name forgotten. What lies between is removed by the next start.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageFull
from app.service.resources import Resources
from app.store.database.copies import released_files
from app.store.database.copies.released_files import ReleasedFile
from app.store.database.engine import reading, writing

LOOKED_AT = 100
FORGOTTEN_AFTER = timedelta(days=30)
"""How long it is known of a file that is not there what its size and hash were."""


def make_room(resources: Resources, *, keep: str) -> None:
    """Remove files until the rest is within the budget; `keep` was just written and stays.

    StorageFull, with the reference removed again, where objects behind valid presigned URLs fill the budget.
    """
    budget = resources.limits.release_cache_bytes
    while True:
        with reading(resources.engine) as connection:
            over = released_files.held_bytes(connection) - budget
            oldest = released_files.longest_unused(connection, LOOKED_AT) if over > 0 else []
        if over <= 0:
            return
        removable = [file for file in oldest if file.id != keep and not _promised(resources, file)]
        if not removable:
            if resources.released.presigner is None:
                return  # one file is larger than all the room: it is served, and goes next
            _release_new(resources, keep)
            raise StorageFull(
                "The files asked for, and those whose URLs still hold, take more than"
                " CORNERWAVE_RELEASE_CACHE_BYTES. Ask for fewer rows or columns, or later.",
                seconds=resources.limits.signed_url_seconds,
            )
        for file in removable:
            if over <= 0:
                break
            over -= file.size or 0
            _remove(resources, file)


def sweep_released(resources: Resources, now: datetime) -> int:
    """Remove what no file names as its own and nobody is writing; how many objects that were."""
    with writing(resources.engine) as connection:
        released_files.forget_unused(connection, now - FORGOTTEN_AFTER)
    with reading(resources.engine) as connection:
        strays = released_files.stray_objects(connection)
    removed = 0
    for stray in strays:
        with resources.released.unattended(stray.object, stray.since) as free:
            if not free:
                continue
            with reading(resources.engine) as connection:
                # Looked at again: it may have become a file's meanwhile.
                still = {one.object for one in released_files.stray_objects(connection)}
            if stray.object in still:
                _remove_object(resources, stray.object)
                removed += 1
    return removed


def remove_objects(resources: Resources, dataset_id: str) -> None:
    """Remove the files of a data set that is gone; what cannot be removed now is removed by the next start."""
    with suppress(SQLAlchemyError, OSError):
        with reading(resources.engine) as connection:
            gone = [
                stray
                for stray in released_files.stray_objects(connection)
                if stray.dataset == dataset_id
            ]
        for stray in gone:
            _remove_object(resources, stray.object)


def _promised(resources: Resources, file: ReleasedFile) -> bool:
    """Return whether a URL of the bucket's own may be in use: what the service serves it can remake."""
    if resources.released.presigner is None or file.promised_until is None:
        return False
    return file.promised_until > datetime.now(UTC)


def _remove(resources: Resources, file: ReleasedFile) -> None:
    assert file.object is not None
    with writing(resources.engine) as connection:
        let_go = released_files.let_go(connection, file.id, file.object)
    if let_go:
        _remove_object(resources, file.object)


def _remove_object(resources: Resources, object_name: str) -> None:
    resources.released.remove(object_name)
    with writing(resources.engine) as connection:
        released_files.forget_object(connection, object_name)


def _release_new(resources: Resources, file_id: str) -> None:
    with reading(resources.engine) as connection:
        file = released_files.find(connection, [file_id]).get(file_id)
    if file is not None and file.object is not None:
        _remove(resources, file)
