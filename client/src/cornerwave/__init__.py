"""Client of Cornerwave: perturbed copies of data sets, one per level of trust."""

from __future__ import annotations

from cornerwave.client import AsyncClient, Client, connect, connect_async
from cornerwave.copies import AsyncCopy, Copy, Saved
from cornerwave.datasets import AsyncDataset, Dataset, ReadOptions
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
from cornerwave.table_file import TableFile
from cornerwave.transport.retries import Retries
from cornerwave.values import Estimate
from cornerwave.verification.signatures import NotVerified, verify_record
from cornerwave.version import VERSION

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
    "Estimate",
    "Forbidden",
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
    "ReadOptions",
    "Retries",
    "Saved",
    "TableFile",
    "Unauthenticated",
    "Unavailable",
    "__version__",
    "connect",
    "connect_async",
    "verify_record",
]
