"""Categorical records of a copy: a jump process on s = ln(1+a), with donors drawn from a model.

Every row has Poisson streams of events on the axis s: **record events** at rate 1, each of which replaces all
cells by those of one donor record, and for each column **column events** at rate ¼, which replace one cell. A copy of
applied variance a shows in a cell the value of its latest event at or before s, and its own value where there was
none. With fresh donors at every event the shown record is a Markov process: a copy of less privacy makes every copy of
more privacy superfluous, whoever looks. No record event has occurred with probability q = e⁻ˢ = 1/(1+a), and
no event at all in a cell with q^(5/4).

Times of a Poisson stream are sums of -ln U: event k of the record stream has occurred iff U_1·…·U_k ≥ q, of
a column's iff (U_1·…·U_k)⁴ ≥ q. Of two events the one with the smaller product, a column's to its fourth
power, is later. Only products and comparisons of doubles: the same on every processor.

Recipe `aes256ctr-records-v2`, on the keystream of `keystream`:

    key       = HKDF-SHA256(input key = data set secret, no salt, info = "aes256ctr-records-v2" ‖ 0 ‖ binding)
    words     of row r and stream j, j = 0 of the record and 1 to c of the columns:
              event 1          offset r of column 2¹⁶·j
              events 2k, 2k+1  offsets 2r, 2r + 1 of column 2¹⁶·j + k
    U_k       = ((word >> 24) + ½)·2⁻⁴⁰
    donor     = ((word mod 2²⁴)·m) >> 24, a place in the pool of m ≤ 65,536 records

A cell that must not be shown though no event occurred has the donor of offset 2r of column 2¹⁶·j + 2¹⁶ - 1.

| here | meaning |
|---|---|
| code | a value's place in the column's list of values that may be shown, a missing one among them |
| `UNLISTED` | a value that may not be shown. It is always replaced |
"""

from __future__ import annotations

import math

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.model import BLOCK_ROWS
from app.numerics.arrays import Codes, FloatArray, Words
from app.numerics.copies.noise.keystream import KEY_BYTES, Keystream
from app.numerics.copies.noise.steps import Steps, steps

RECIPE = "aes256ctr-records-v2"
UNLISTED = -1
MOST_DONORS = 65_536
COLUMN_EVENT_RATE = 0.25

TILE_ROWS = 16_384  # that go through all streams together: what they touch stays next to the core
_STREAM = 2**16  # columns of the keystream


def record_key(secret: bytes, *binding: bytes) -> bytes:
    """The key of the records of one part, 32 bytes; it binds to the part, and to the pool of donors."""
    if not all(len(each) == KEY_BYTES for each in (secret, *binding)):
        raise ValueError("a secret and what a key binds to have 32 bytes each")
    info = RECIPE.encode() + b"\0" + b"".join(binding)
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


def kept_share(applied_variance: float) -> float:
    """q(a) = 1/(1+a), the share of records that no record event has replaced."""
    if not 0 < applied_variance < math.inf:
        raise ValueError("an applied variance is positive and finite")
    return 1.0 / (1.0 + applied_variance)


def cell_kept_share(applied_variance: float) -> float:
    """q^(5/4), the share of cells that no event has replaced."""
    return float(kept_share(applied_variance) ** (1.0 + COLUMN_EVENT_RATE))


def show_records(
    codes: Codes, pool: Codes, applied_variance: float, *, key: bytes, start: int
) -> None:
    """Make of the records of a part's rows from `start` on, (c, n) in place, what a copy shows.

    `codes` and `pool` (m, c) number values alike.
    """
    if not 0 < len(pool) <= MOST_DONORS:
        raise ValueError(f"a pool has 1 to {MOST_DONORS} donors")
    share = kept_share(applied_variance)
    columns = np.ascontiguousarray(pool.T)
    draws = _Draws(Keystream(key), steps(), share, len(pool), min(codes.shape[1], TILE_ROWS))
    first, end = start, start + codes.shape[1]
    while first < end:
        last = min(end, first - first % TILE_ROWS + TILE_ROWS)
        draws.show(codes[:, first - start : last - start], columns, *divmod(first, BLOCK_ROWS))
        first = last


class _Draws:
    """What is drawn for the rows of a copy, tile by tile; its memory serves for all of them."""

    def __init__(
        self, stream: Keystream, using: Steps, share: float, donors: int, rows: int
    ) -> None:
        self._stream, self._using = stream, using
        self._share, self._donors = share, donors
        self._words = np.empty(rows, dtype=np.uint64)
        self._rows = np.empty(rows, dtype=np.intp)
        self._latest = [(np.empty(rows), np.empty(rows, dtype=np.int32)) for _ in range(2)]

    def show(self, codes: Codes, columns: Codes, block: int, offset: int) -> None:
        """Make of codes (c, n) from an offset of a block on, in place, what a copy shows.

        `columns` are the pool's, (c, m).
        """
        record = self._draw(0, block, offset, codes.shape[1])
        for j, (own, values) in enumerate(zip(codes, columns, strict=True), start=1):
            self._using.show_cells(*record, *self._draw(j, block, offset, len(own)), values, own)
            hidden = np.flatnonzero(own < 0)
            if len(hidden):
                words = self._stream.pairs(block, j * _STREAM + _STREAM - 1, offset + hidden)[:, 0]
                places = ((words & np.uint64(2**24 - 1)) * np.uint64(self._donors)) >> np.uint64(24)
                own[hidden] = values[places.astype(np.intp)]

    def _draw(self, stream: int, block: int, offset: int, n: int) -> tuple[FloatArray, Codes]:
        """The product of each row's latest event of a stream, 1 where none occurred, and its donor.

        Few rows have many events: words are drawn for those alone whose last event has occurred.
        """
        products, places = self._latest[stream > 0]
        products, places = products[:n], places[:n]
        products[:], places[:] = 1.0, 0
        self._rows[:n] = np.arange(n)
        self._stream.fill(self._words[:n], block, stream * _STREAM, first=offset)
        words, left, pair = self._words[:n, None], n, 0
        while True:
            left = self._using.next_events(
                words, self._share, stream > 0, self._donors, self._rows[:left], products, places
            )
            if not left:
                return products, places
            pair += 1
            words = self._stream.pairs(block, stream * _STREAM + pair, offset + self._rows[:left])


def uniforms(key: bytes, start: int, count: int) -> FloatArray:
    """U_1 of the record stream of the part's rows [start, start + count): kept by all copies with U_1 < q."""
    words = part_words(key, 0, start, count)
    return np.asarray(((words >> np.uint64(24)) + 0.5) * 2.0**-40, dtype=np.float64)


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
