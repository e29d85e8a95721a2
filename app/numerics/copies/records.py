"""Categorical records of a copy: a jump process on s = ln(1+a), with donors drawn from a model.

Every row has Poisson streams of events on the axis s: **record events** at rate 1, each of which replaces all
cells by those of one donor record, and for each column **column events** at rate ¼, which replace one cell. A copy of
applied variance a shows in a cell the value of its latest event at or before s, and its own value where there was
none. With fresh donors at every event the shown record is a Markov process: a copy of less privacy makes every copy of
more privacy superfluous, whoever looks. No record event has occurred with probability q = e⁻ˢ = 1/(1+a), and
no event at all in a cell with q^(5/4).

The streams of a row with c columns are drawn as one Poisson stream of rate λ = (4+c)/4, each of whose events is
independently marked: 4 of 4+c marks are the record's, one is each column's [superposition of Poisson processes]. The
axis is cut into epochs, 2^(i-1) < 1+a ≤ 2^i being epoch i. In an epoch events are drawn from its end backwards, which is a
Poisson stream again [reversal]: the times of the events are 1+a = 2^i·(U_1·…·U_k)^(1/λ). Whoever goes back from s meets the
latest event of each cell first, and is done at the first record event, however large a is. With m = (1+a)/2^i of
the copy's epoch, event k is

    later than s      while  U_1·…·U_k > m^λ      (only in the copy's own epoch)
    in the epoch      while  U_1·…·U_k ≥ 2^-λ.

Only square roots, products and comparisons of doubles: the same on every processor.

Recipe `aes256ctr-records-v3`, on the keystream of `keystream`:

    key      = HKDF-SHA256(input key = data set secret, no salt, info = "aes256ctr-records-v3" ‖ 0 ‖ binding)
    word k   of row r in epoch i, from k = 0: offset 2r + (k mod 2) of column 2¹⁶·i + ⌊k/2⌋
    U        = ((word >> 32) + ½)·2⁻³²
    x        = (word mod 2³²)·(4+c); its mark is x >> 32, below 4 the record's, 4 + j that of column j
    donor    = ((x mod 2³²)·n) >> 32, a place in the pool of n ≤ 65,536 records

A cell that must not be shown though no event occurred has the donor ((word mod 2³²)·n) >> 32 of offset 2r of column
2³² - 1 - j. Shares of time are exact to 2⁻³², those of marks to c·2⁻³².

Under formal protection each column is a record of its own, c = 0, whose donors are the column's k declared values (recipe
`aes256ctr-cells-v1`): a cell is its own with probability q, else drawn evenly, whatever its row and the data set are. The key of column
j is HKDF-SHA256(the records' key, no salt, info = "aes256ctr-cells-v1" ‖ 0 ‖ j in four bytes, the highest first).

| here | meaning |
|---|---|
| code | a value's place in the column's list of values that may be shown, a missing one among them |
| `UNLISTED` | a value that may not be shown. It is always replaced |
| place | a donor's place in the pool, `NO_EVENT` where there is none |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.model import BLOCK_ROWS
from app.numerics.arrays import Codes, IntArray, Places, Words
from app.numerics.copies.noise.definition import EPOCH, NO_EVENT
from app.numerics.copies.noise.keystream import KEY_BYTES, Keystream
from app.numerics.copies.noise.steps import steps

RECIPE = "aes256ctr-records-v3"
CELL_RECIPE = "aes256ctr-cells-v1"
UNLISTED = -1
MOST_DONORS = 65_536
COLUMN_EVENT_RATE = 0.25

MOST_COLUMNS = 4_000
"""With more, 2^-λ would leave the range of doubles."""

TILE_CELLS = 2**18
"""That go through all steps together: what they touch stays next to the core."""

_LAST_COLUMN = 2**32 - 1


def record_key(secret: bytes, *binding: bytes) -> bytes:
    """The key of the records of one part, 32 bytes; it binds to the part, and to the pool of donors."""
    if not all(len(each) == KEY_BYTES for each in (secret, *binding)):
        raise ValueError("a secret and what a key binds to have 32 bytes each")
    return _derived(secret, RECIPE, b"".join(binding))


def _derived(key: bytes, recipe: str, binding: bytes) -> bytes:
    info = recipe.encode() + b"\0" + binding
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(key)


def kept_share(applied_variance: float) -> float:
    """q(a) = 1/(1+a), the share of records that no record event has replaced."""
    if not 0 < applied_variance < math.inf:
        raise ValueError("an applied variance is positive and finite")
    return 1.0 / (1.0 + applied_variance)


def show_records(
    codes: Codes,
    pool: Codes,
    applied_variance: float,
    *,
    key: bytes,
    start: int,
    columns: Sequence[int] | None = None,
    joint: bool = True,
) -> None:
    """Make of the records of a part's rows from `start` on, (c, n) in place, what a copy shows.

    `codes` and `pool` (m, c) number values alike; `columns` are those of the pool that the codes are of, where they are not all. Without `joint` there are no
    column events.
    """
    c = pool.shape[1]
    chosen = np.arange(c) if columns is None else np.array(columns, dtype=np.intp)
    donors = np.ascontiguousarray(pool)
    rows = codes.shape[1]
    tile = max(1, TILE_CELLS // (c + 2))
    done = 0
    while done < rows:
        block, first = divmod(start + done, BLOCK_ROWS)
        n = min(tile, rows - done, BLOCK_ROWS - first)
        own = codes[:, done : done + n]
        streams = c if joint else 0
        places = latest_donors(key, block, first, n, streams, len(pool), applied_variance)
        steps().show_cells(places, chosen, donors, own)
        for j, shown in zip(chosen.tolist(), own, strict=True):
            _hide(shown, donors[:, j], Keystream(key), block, first, _LAST_COLUMN - j)
        done += n


def show_cells(
    codes: Codes,
    sizes: Sequence[int],
    applied_variance: float,
    *,
    key: bytes,
    start: int,
    columns: Sequence[int] | None = None,
) -> None:
    """The same of cells each of which is replaced by itself, evenly by one of the `sizes` values of its column.

    `columns` are the columns' numbers, where they are not all.
    """
    for own, k, j in zip(codes, sizes, columns or range(len(codes)), strict=True):
        values = np.arange(k, dtype=np.int32)[:, None]
        of_column = _derived(key, CELL_RECIPE, j.to_bytes(4, "big"))
        show_records(own[None], values, applied_variance, key=of_column, start=start, joint=False)


def latest_donors(
    key: bytes, block: int, first: int, n: int, c: int, donors: int, applied_variance: float
) -> Codes:
    """Donors' places of the latest events of n rows of a block, (n, 2 + c): of the record, of each column, and no event.

    Events of a column before the latest record event are not looked for.
    """
    if not 0 < donors <= MOST_DONORS:
        raise ValueError(f"a pool has 1 to {MOST_DONORS} donors")
    if c > MOST_COLUMNS:
        raise ValueError(f"a record has at most {MOST_COLUMNS} columns")
    m, epoch = math.frexp(1.0 + applied_variance)
    if m == 0.5:
        m, epoch = 1.0, epoch - 1
    stream, using = Keystream(key), steps()
    places = np.full((n, 2 + c), NO_EVENT, dtype=np.int32)
    products, columns = np.ones(n), np.full(n, epoch * EPOCH, dtype=np.int64)
    rows = np.arange(n if epoch > 0 else 0, dtype=np.intp)
    bounds = (_power(m, 4 + c), _power(0.5, 4 + c))
    while len(rows):
        words = _pairs(stream, block, columns, first, rows)
        rows = rows[
            : using.earlier_events(words, epoch, *bounds, donors, rows, products, columns, places)
        ]
    places[:, -1] = (
        NO_EVENT  # steps may write there; a record without column events has its one column there
    )
    return places


def _power(x: float, quarters: int) -> float:
    """x^(quarters/4) by square roots and products."""
    return math.prod([math.sqrt(math.sqrt(x))] * quarters)


def _pairs(stream: Keystream, block: int, columns: IntArray, first: int, rows: Places) -> Words:
    """The pairs of words of some rows, each in its column, (m, 2); those of all rows are in one column, the first time.

    Of few rows none may have met its record event, and yet some be in an earlier epoch than others.
    """
    if len(rows) < len(columns) or (columns != columns[0]).any():
        return stream.pairs(block, columns[rows], first + rows)
    words = np.empty((len(rows), 2), dtype=np.uint64)
    stream.fill(words.reshape(-1), block, int(columns[0]), first=2 * first)
    return words


def _hide(
    codes: Codes, values: Codes, stream: Keystream, block: int, first: int, column: int
) -> None:
    """Replace in place what must not be shown and no event has replaced."""
    hidden = np.flatnonzero(codes < 0)
    if len(hidden):
        words = stream.pairs(block, column, first + hidden)[:, 0]
        drawn = (words & np.uint64(2**32 - 1)) * np.uint64(len(values))
        codes[hidden] = values[(drawn >> np.uint64(32)).astype(np.intp)]


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
