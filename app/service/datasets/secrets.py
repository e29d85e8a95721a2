"""Sealed values of a data set: its secret and its statistics.

The secret is 32 random bytes from which all its noise derives. The statistics are moments of its number columns and
counts of its categories. Moments are of all number columns in their order, whatever their kind, so that a column can change
its kind without reading the rows again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.numerics.moments import Moments
from app.service.resources import Resources
from app.store.database.datasets import datasets
from app.store.vault import pack_arrays, unpack_arrays

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


def part_digest(secret: bytes, rows_digest: bytes, *, formal: bool = False) -> str:
    """Return the keyed digest of a part's rows, so that nobody can test a guess against it.

    Under formal protection it is drawn, once for each part: noise is as fresh, and follows from no row.
    """
    content = b"cornerwave part v1\0" + (os.urandom(SECRET_BYTES) if formal else rows_digest)
    return hmac.new(secret, content, hashlib.sha256).hexdigest()


def secret_context(dataset_id: str) -> str:
    """Return the authenticated context of the seal."""
    return f"secret:{dataset_id}"


@dataclass(frozen=True, repr=False)
class Statistics:
    """Moments, and for each text column with few enough values how often each occurs.

    where:
        largest  the largest magnitude in each number column
    """

    moments: Moments
    categories: Mapping[str, Mapping[str, int]]
    largest: Mapping[str, float]


def merged(first: Statistics, second: Statistics) -> Statistics:
    """The statistics of both sets of rows; a column that either has too many values for is left out."""
    categories = {
        name: {
            value: first.categories[name].get(value, 0) + second.categories[name].get(value, 0)
            for value in {**first.categories[name], **second.categories[name]}
        }
        for name in first.categories
        if name in second.categories
    }
    return Statistics(
        first.moments.merged(second.moments), categories, larger(first.largest, second.largest)
    )


def larger(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """The larger magnitude of each column."""
    return {name: max(first.get(name, 0.0), value) for name, value in second.items()}


def seal_statistics(resources: Resources, dataset_id: str, statistics: Statistics) -> bytes:
    """The statistics as bytes that only this service can read."""
    moments = statistics.moments
    content = pack_arrays(
        {
            "count": moments.count,
            "mean": moments.mean,
            "comoment": moments.comoment,
            "categories": _as_bytes(statistics.categories),
            "largest": _as_bytes(statistics.largest),
        }
    )
    return resources.vault.seal(content, _context(dataset_id))


def open_statistics(resources: Resources, connection: Connection, dataset_id: str) -> Statistics:
    """The statistics of a data set."""
    sealed = datasets.sealed_statistics(connection, dataset_id)
    kept = unpack_arrays(resources.vault.open(sealed, _context(dataset_id)))
    return Statistics(
        Moments(kept["count"], kept["mean"], kept["comoment"]),
        json.loads(kept["categories"].tobytes()),
        json.loads(kept["largest"].tobytes()),
    )


def _as_bytes(mapping: Mapping[str, object]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(mapping).encode(), np.uint8)


def _context(dataset_id: str) -> str:
    return f"statistics:{dataset_id}"
