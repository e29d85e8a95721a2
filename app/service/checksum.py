"""One checksum for the values of a copy, whatever format they are written in.

checksum = SHA-256 of the digests of the columns, in order
digest   = SHA-256 of a column's cells in row order: a double as its 8 bytes, an integer as 8
           bytes, both little-endian; a text as its length in 8 bytes and its UTF-8; a missing
           cell as 8 bytes of ones
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from app.service.asking import Ask
from app.service.release import Release, Selection, open_release
from app.service.resources import Resources

MISSING = b"\xff" * 8


def copy_checksum(resources: Resources, ask: Ask, copy_id: str) -> str:
    """The checksum of the copy as this caller may download it whole, in hexadecimal."""
    release = open_release(resources, ask, copy_id, Selection())
    known = resources.checksums.get(release.fingerprint)
    if known is None:
        known = checksum_of(release)
        resources.checksums.put(release.fingerprint, known)
    return known


def checksum_of(release: Release) -> str:
    """The checksum of a release; it is made for this, block by block."""
    digests = [hashlib.sha256() for _ in release.columns]
    for batch in release.batches():
        for digest, cells in zip(digests, batch.columns, strict=True):
            digest.update(_bytes(cells))
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()


def _bytes(cells: pa.Array) -> bytes:
    if pa.types.is_large_string(cells.type):
        return b"".join(
            MISSING if text is None else len(text.encode()).to_bytes(8, "little") + text.encode()
            for text in cells.to_pylist()
        )
    kind = "<f8" if pa.types.is_floating(cells.type) else "<i8"
    words = cells.fill_null(0).to_numpy(zero_copy_only=False).astype(kind).view("<u8")
    missing = cells.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, np.uint64(2**64 - 1), words).astype("<u8").tobytes()
