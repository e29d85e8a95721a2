"""Orphaned blobs after a crash: quarantine, log entry, removal after days.

Only what the database proves to be its own and unfinished (store/database/datasets/orphaned_blobs.py) is
touched. A file that it does not know may be another's, or belong to a newer state of this database
that somebody is about to restore. For the same reason a blob in quarantine that the database refers
to comes back.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from app.service.copies.files.copy_files import sweep_released
from app.service.logs import record_upkeep
from app.service.resources import Resources
from app.store.database.datasets import datasets, orphaned_blobs
from app.store.database.datasets.orphaned_blobs import OrphanedBlob, Reason
from app.store.database.engine import reading, writing

QUARANTINE = timedelta(days=7)
"""How long an unfinished upload waits before it is removed."""

BEGINNING = timedelta(hours=1)
"""An announced upload of which nothing is there may be about to begin: it is not forgotten so soon."""

log = logging.getLogger("cornerwave.orphaned_blobs")


def quarantine_orphaned_blobs(resources: Resources, now: datetime) -> dict[str, str]:
    """Look after every orphaned blob; what was done, by the blob's name."""
    with reading(resources.engine) as connection:
        orphan = orphaned_blobs.all_of_them(connection)
    done = {blob.name: _look_after(resources, blob, now) for blob in orphan}
    _remove_locks(resources, now)
    done |= {name: _bring_back(resources, name) for name in _missed(resources)}
    done = {name: action for name, action in done.items() if action}
    sweep_released(resources, now)
    for name, action in done.items():
        log.warning("swept", extra={"blob": name, "action": action})
    return done


def _look_after(resources: Resources, blob: OrphanedBlob, now: datetime) -> str:
    """Remove the blob or set it aside, if nobody is at it; what was done, or nothing."""
    with (
        resources.blobs.unattended(blob.name, blob.since) as free,
        writing(resources.engine) as connection,
    ):
        # Looked at again, under a lock: the upload may have been committed meanwhile.
        orphan = orphaned_blobs.locked(connection, blob.name) if free else None
        if orphan is None or datasets.refers_to(connection, blob.name):
            return ""
        over = orphan.set_aside_at is not None and orphan.set_aside_at + QUARANTINE <= now
        if orphan.reason is Reason.REMOVAL or over:
            (resources.blobs.remove_aside if over else resources.blobs.delete)(blob.name)
            orphaned_blobs.forget(connection, blob.name)
            action = "blob.remove"
        elif orphan.set_aside_at is not None:
            return ""
        elif resources.blobs.set_aside(blob.name):
            orphaned_blobs.set_aside(connection, blob.name, now)
            action = "blob.quarantine"
        else:
            if orphan.since + BEGINNING <= now:
                orphaned_blobs.forget(connection, blob.name)
            return ""
        record_upkeep(connection, action, blob.name, reason=orphan.reason.value)
        return action


def _remove_locks(resources: Resources, now: datetime) -> None:
    """Remove the locks that killed uploaders left beside blobs which a data set refers to."""
    with reading(resources.engine) as connection:
        known = [n for n in resources.blobs.place.claimed() if datasets.refers_to(connection, n)]
    for name in known:
        with resources.blobs.unattended(name, now):
            pass  # where nobody held it, it is gone


def _missed(resources: Resources) -> set[str]:
    """Blobs in quarantine that a data set refers to."""
    aside = resources.blobs.place.aside()
    if not aside:
        return aside
    with reading(resources.engine) as connection:
        return {name for name in aside if datasets.refers_to(connection, name)}


def _bring_back(resources: Resources, name: str) -> str:
    with writing(resources.engine) as connection:
        resources.blobs.bring_back(name)
        orphaned_blobs.forget(connection, name)
        record_upkeep(connection, "blob.bring-back", name)
    return "blob.bring-back"
