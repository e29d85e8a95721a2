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
    word      = that of column 2¹⁶·j + k, for event k of stream j: j = 0 of the record, 1 to c of the columns
    U_k       = ((word >> 24) + ½)·2⁻⁴⁰
    donor     = ((word mod 2²⁴)·m) >> 24, a place in the pool of m ≤ 65,536 records

The word k = 0 of a column's stream draws the donor of a cell that must not be shown though no event occurred.

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
from app.numerics.arrays import Codes, FloatArray, Places, Words
from app.numerics.copies.noise.keystream import KEY_BYTES, Keystream
from app.numerics.copies.noise.steps import Steps, steps

RECIPE = "aes256ctr-records-v2"
UNLISTED = -1
MOST_DONORS = 65_536
COLUMN_EVENT_RATE = 0.25

_EVENTS = 2**16  # of a stream, in the keystream's numbering of columns


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
    stream, using = Keystream(key), steps()
    first, n = start, codes.shape[1]
    while first < start + n:
        block, offset = divmod(first, BLOCK_ROWS)
        rows = min(start + n - first, BLOCK_ROWS - offset)
        own = codes[:, first - start : first - start + rows]
        _show_block(own, columns, share, _Draws(stream, using, block, offset, rows))
        first += rows


class _Draws:
    """What is drawn for some rows of a block, from `offset` on."""

    def __init__(self, stream: Keystream, using: Steps, block: int, offset: int, rows: int) -> None:
        self.using = using
        self.offset = offset
        self.rows = rows
        self._stream = stream
        self._block = block

    def words(self, stream: int, event: int, rows: Places | None = None) -> Words:
        """The words of an event of a stream, of all rows or of some, ascending."""
        column = stream * _EVENTS + event
        if rows is None:
            words = np.empty(self.rows, dtype=np.uint64)
            self._stream.fill(words, self._block, column, first=self.offset)
            return words
        return self._stream.at(self._block, column, self.offset + rows)

    def latest(self, stream: int, share: float, donors: int) -> tuple[FloatArray, Codes]:
        """The product of the latest event of each row, 1 where none occurred, and its donor.

        Most rows have few events: words are drawn for those alone whose last event has occurred.
        """
        products, places = np.ones(self.rows), np.zeros(self.rows, dtype=np.int32)
        rows = np.arange(self.rows, dtype=np.intp)
        event, left = 1, self.rows
        while left:
            words = self.words(stream, event, None if event == 1 else rows[:left])
            left = self.using.next_events(
                words, share, stream > 0, donors, rows[:left], products, places
            )
            event += 1
        return products, places


def _show_block(codes: Codes, columns: Codes, share: float, draws: _Draws) -> None:
    """Make of the codes (c, n), in place, what a copy shows, from the pool's columns (c, m)."""
    donors = columns.shape[1]
    record = draws.latest(0, share, donors)
    for j, (own, values) in enumerate(zip(codes, columns, strict=True), start=1):
        draws.using.show_cells(*record, *draws.latest(j, share, donors), values, own)
        hidden = np.flatnonzero(own < 0)
        if len(hidden):
            places = (draws.words(j, 0, hidden) & np.uint64(2**24 - 1)) * np.uint64(donors)
            own[hidden] = values[(places >> np.uint64(24)).astype(np.intp)]


def uniforms(key: bytes, start: int, count: int) -> FloatArray:
    """U_1 of the record stream of the part's rows [start, start + count): kept by all copies with U_1 < q."""
    words = part_words(key, 1, start, count)
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
