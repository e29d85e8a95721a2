"""Categorical records, kept whole or replaced whole: an erasure channel on the axis of a.

Redrawing every column by itself lets related columns vote on the truth, and [li2012, section 7]
leaves categories open. Here a row shows its own record at applied variance a exactly when
U_r < 1/(1+a), and otherwise that of a donor. U_r and the donor are drawn once for a row, whatever the
level: kept sets are nested, and a more perturbed copy is a function of a less perturbed one. Even who
is told which rows were kept recovers 1/(1+a) of the variance of a function of the record, at most.

Recipe `aes256ctr-records-v1`, on the keystream of `keystream`:

    key    = HKDF-SHA256(input key = data set secret, no salt,
                         info = "aes256ctr-records-v1" ‖ 0 ‖ hash of what is frozen ‖ digest of the part)
    U_r    = (word of column 0 >> 11)·2⁻⁵³
    donor  = ((word of column 1 >> 16)·m) >> 48, a place in the pool of m ≤ 65,536 records

| here | meaning |
|---|---|
| code | a value's place in the column's list of values that the pool has, a missing one among them |
| `UNLISTED` | a value that the pool does not have. No donor could make it deniable: it is never shown |
"""

from __future__ import annotations

import math

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.model import BLOCK_ROWS
from app.numerics.arrays import Codes, FloatArray, Places, Words
from app.numerics.copies.noise.keystream import KEY_BYTES, Keystream
from app.numerics.copies.noise.steps import steps

RECIPE = "aes256ctr-records-v1"
UNLISTED = -1
MOST_DONORS = 65_536
KEPT_COLUMN, DONOR_COLUMN = 0, 1


def record_key(secret: bytes, frozen_hash: bytes, part_digest: bytes) -> bytes:
    """The key of the records of one part, 32 bytes.

    It binds to the frozen pool: the same draws under another pool would mark the rows replaced.
    """
    if not len(secret) == len(frozen_hash) == len(part_digest) == KEY_BYTES:
        raise ValueError("a secret, a hash and a digest have 32 bytes each")
    info = RECIPE.encode() + b"\0" + frozen_hash + part_digest
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


def kept_share(applied_variance: float) -> float:
    """q(a) = 1/(1+a), the share of records that are kept."""
    if not 0 < applied_variance < math.inf:
        raise ValueError("an applied variance is positive and finite")
    return 1.0 / (1.0 + applied_variance)


def replace_records(
    codes: Codes, pool: Codes, applied_variance: float, *, key: bytes, start: int
) -> None:
    """Make of the records of a part's rows from `start` on, (c, n) in place, what a copy shows.

    `codes` and `pool` (m, c) number values alike. A record with an unlisted value is always
    replaced.
    """
    if not 0 < len(pool) <= MOST_DONORS:
        raise ValueError(f"a pool has 1 to {MOST_DONORS} donors")
    n = codes.shape[1]
    kept, donor = (part_words(key, column, start, n) for column in (KEPT_COLUMN, DONOR_COLUMN))
    steps().replace_records(kept, donor, kept_share(applied_variance), pool, codes)


def uniforms(key: bytes, start: int, count: int) -> FloatArray:
    """U_r of the part's rows [start, start + count), in [0, 1)."""
    words = part_words(key, KEPT_COLUMN, start, count)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def donors(key: bytes, start: int, count: int, pool: int) -> Places:
    """The donors of the part's rows [start, start + count): places in a pool of that size."""
    words = part_words(key, DONOR_COLUMN, start, count)
    return (((words >> np.uint64(16)) * np.uint64(pool)) >> np.uint64(48)).astype(np.intp)


def part_words(key: bytes, column: int, start: int, count: int) -> Words:
    """One column of the keystream for the part's rows [start, start + count)."""
    words = np.empty(count, dtype=np.uint64)
    stream = Keystream(key)
    filled = 0
    while filled < count:
        block, first = divmod(start + filled, BLOCK_ROWS)
        rows = min(count - filled, BLOCK_ROWS - first)
        stream.fill(words[filled : filled + rows], block, column, first=first)
        filled += rows
    return words
