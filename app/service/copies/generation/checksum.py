"""Checksum of a copy's values, independent of the file format.

checksum = SHA-256 of the digests of the columns, in order
digest   = SHA-256 of a column's cells in row order: a byte 1 and a double as its 8 bytes, an
           integer or a date, as days since 1970, as 8 bytes, both little-endian, or a text as its length in 8 bytes and its
           UTF-8; a missing cell is a byte 0 and 8 bytes 0
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from app.service.context import RequestContext
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.resources import Resources

MISSING = bytes(9)


def copy_checksum(resources: Resources, context: RequestContext, copy_id: str) -> str:
    """The checksum of the copy as this principal may download it whole, in hexadecimal."""
    release = open_release(resources, context, copy_id, Selection())
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
            MISSING if text is None else _text(text.encode()) for text in cells.to_pylist()
        )
    if pa.types.is_date(cells.type):
        cells = cells.cast(pa.int32()).cast(pa.int64())
    kind = "<f8" if pa.types.is_floating(cells.type) else "<i8"
    written = np.empty(len(cells), dtype=[("there", "u1"), ("value", kind)])
    written["there"] = cells.is_valid().to_numpy(zero_copy_only=False)
    written["value"] = cells.fill_null(0).to_numpy(zero_copy_only=False)
    return written.tobytes()


def _text(text: bytes) -> bytes:
    return b"\x01" + len(text).to_bytes(8, "little") + text
