"""Removal of a data set with its secret, rows and released files."""

from __future__ import annotations

from app.service.context import RequestContext, owned_and_locked
from app.service.copies.files.copy_files import remove_objects
from app.service.datasets.overlap.comparison import forget_sketches
from app.service.datasets.registration.register import discard_blobs
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import datasets, orphaned_blobs


def remove_dataset(resources: Resources, context: RequestContext, dataset_id: str) -> None:
    """Remove a data set: its rows, its secret and so every copy; its history remains."""
    with unit_of_work(resources, context) as uow:
        owned_and_locked(uow.connection, context, dataset_id)
        blobs = datasets.blobs_of(uow.connection, dataset_id)
        datasets.remove(uow.connection, dataset_id)
        forget_sketches(uow.connection, dataset_id)
        reason = orphaned_blobs.Reason.REMOVAL
        orphaned_blobs.add(uow.connection, blobs, reason, uow.now)
        uow.record("dataset.remove", dataset_id)
    discard_blobs(resources, blobs)
    remove_objects(resources, dataset_id)
