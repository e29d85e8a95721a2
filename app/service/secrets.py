"""A data set's secret: 32 random bytes from which all its noise derives, sealed in the database."""

from __future__ import annotations

import os

from sqlalchemy import Connection

from app.service.resources import Resources
from app.store import datasets

SECRET_BYTES = 32


def new_sealed_secret(resources: Resources, dataset_id: str) -> bytes:
    """A fresh secret for a data set, sealed."""
    return resources.vault.seal(os.urandom(SECRET_BYTES), secret_context(dataset_id))


def open_secret(resources: Resources, connection: Connection, dataset_id: str) -> bytes:
    """The data set's secret; SealBroken (a 500) when it does not open, and so no copy."""
    sealed = datasets.sealed_secret(connection, dataset_id)
    return resources.vault.open(sealed, secret_context(dataset_id))


def secret_context(dataset_id: str) -> str:
    """What the seal is bound to."""
    return f"secret:{dataset_id}"
