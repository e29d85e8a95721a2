"""A data set's secret: 32 random bytes from which all its noise derives, sealed in the database."""

from __future__ import annotations

import hashlib
import hmac
import os

from sqlalchemy import Connection

from app.service.resources import Resources
from app.store.database.registered import datasets

SECRET_BYTES = 32


def new_secret() -> bytes:
    """A fresh secret for a data set."""
    return os.urandom(SECRET_BYTES)


def sealed_secret(resources: Resources, dataset_id: str, secret: bytes) -> bytes:
    """The secret as it may be kept."""
    return resources.vault.seal(secret, secret_context(dataset_id))


def open_secret(resources: Resources, connection: Connection, dataset_id: str) -> bytes:
    """The data set's secret; SealBroken (a 500) when it does not open, and so no copy."""
    sealed = datasets.sealed_secret(connection, dataset_id)
    return resources.vault.open(sealed, secret_context(dataset_id))


def part_digest(secret: bytes, rows_digest: bytes) -> str:
    """What the rows of a part are, so that nobody can test a guess of them against it."""
    content = b"cornerwave part v1\0" + rows_digest
    return hmac.new(secret, content, hashlib.sha256).hexdigest()


def secret_context(dataset_id: str) -> str:
    """What the seal is bound to."""
    return f"secret:{dataset_id}"
