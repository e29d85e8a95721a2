"""The client of Cornerwave: perturbed copies of data sets, one per level of trust, in two lines."""

from __future__ import annotations

from cornerwave.client import AsyncClient, Client, connect, connect_async
from cornerwave.copies import AsyncCopy, Copy, Saved
from cornerwave.datasets import AsyncDataset, Dataset, Reading
from cornerwave.held import HeldTable
from cornerwave.previews import Preview
from cornerwave.problems import (
    ChecksumMismatch,
    Conflict,
    ConnectionFailed,
    CornerwaveError,
    Forbidden,
    InvalidAddress,
    InvalidRequest,
    InvalidTable,
    JobFailed,
    NoKey,
    NotCornerwave,
    NotFound,
    NotInstalled,
    Problem,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from cornerwave.verification.signatures import NotVerified, verify_record
from cornerwave.version import VERSION
from cornerwave.wire.retrying import Retries

__version__ = VERSION

__all__ = [
    "AsyncClient",
    "AsyncCopy",
    "AsyncDataset",
    "ChecksumMismatch",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Copy",
    "CornerwaveError",
    "Dataset",
    "Forbidden",
    "HeldTable",
    "InvalidAddress",
    "InvalidRequest",
    "InvalidTable",
    "JobFailed",
    "NoKey",
    "NotCornerwave",
    "NotFound",
    "NotInstalled",
    "NotVerified",
    "Preview",
    "Problem",
    "RateLimited",
    "Reading",
    "Retries",
    "Saved",
    "Unauthenticated",
    "Unavailable",
    "__version__",
    "connect",
    "connect_async",
    "verify_record",
]
