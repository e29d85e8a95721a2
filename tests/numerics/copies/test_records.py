"""The jump process of records: its recipe, its law at each level, and that copies hang together."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray
from scipy.stats import chi2

from app.model import BLOCK_ROWS
from app.numerics.copies.noise import definition, steps
from app.numerics.copies.noise.definition import NO_EVENT
from app.numerics.copies.noise.keystream import keystream_words
from app.numerics.copies.records import (
    CELL_RECIPE,
    MOST_DONORS,
    RECIPE,
    UNLISTED,
    kept_share,
    latest_donors,
    record_key,
    show_cells,
    show_records,
)

Codes = NDArray[np.int32]

KEY = record_key(bytes(32), hashlib.sha256(b"binding").digest())
LEVELS = (0.1, 0.25, 1.0, 4.4, 30.0)
ROWS = 60_000


def marked(rows: int = ROWS, columns: int = 3) -> Codes:
    """Records (n, c) of which every cell is another, so that each shown cell tells where it is from."""
    return (np.arange(rows, dtype=np.int32)[:, None] + np.zeros(columns, np.int32)).copy()


def marked_pool(donors: int = 5_000, columns: int = 3) -> Codes:
    return marked(donors, columns) + np.int32(1_000_000)


def shown_records(own: Codes, pool: Codes, a: float, *, key: bytes = KEY, start: int = 0) -> Codes:
    """The records (n, c) as a copy shows them."""
    codes = own.T.copy(order="C")
    show_records(codes, pool, a, key=key, start=start)
    return codes.T


def literal_words(row: int, epoch: int, key: bytes = KEY) -> Iterator[int]:
    """The words of a row of a part in an epoch."""
    for k in itertools.count():
        offset = 2 * (row % BLOCK_ROWS) + k % 2
        column = 2**16 * epoch + k // 2
        yield int(keystream_words(key, row // BLOCK_ROWS, column, 1, first=offset)[0])


def literal_cell(own: int, pool: Codes, a: float, row: int, column: int) -> int:
    """A second way from the words to a cell: the times of all events of all epochs, and the latest of them."""
    c = pool.shape[1]
    rate = (4 + c) / 4
    events = [(0.0, own)] if own != UNLISTED else []
    for epoch in range(1, math.ceil(math.log2(1 + a)) + 1):
        product = 1.0
        for word in literal_words(row, epoch):
            product *= ((word >> 32) + 0.5) / 2**32
            time = epoch * math.log(2) + math.log(product) / rate
            if time < (epoch - 1) * math.log(2):
                break
            mark, rest = divmod((word % 2**32) * (4 + c), 2**32)
            if time <= math.log(1 + a) and (mark < 4 or mark == 4 + column):
                events.append((time, int(pool[rest * len(pool) // 2**32, column])))
    if not events:
        words = keystream_words(
            KEY, row // BLOCK_ROWS, 2**32 - 1 - column, 1, first=2 * (row % BLOCK_ROWS)
        )
        return int(pool[int(words[0]) % 2**32 * len(pool) // 2**32, column])
    return max(events)[1]


def untouched(a: float, columns: int = 3) -> NDArray[np.bool_]:
    """Which records no record event has replaced."""
    return np.asarray(latest_donors(KEY, 0, 0, ROWS, columns, 5_000, a)[:, 0] == NO_EVENT)


def test_the_recipe_is_as_written() -> None:
    pool = marked_pool(700, 2)
    start = BLOCK_ROWS - 60
    own = marked(120, 2)
    own[::9, 1] = UNLISTED
    for a in (0.3, 1.0, 6.9, 20.0):
        expected = [
            [literal_cell(int(own[i, j]), pool, a, start + i, j) for j in range(2)]
            for i in range(len(own))
        ]
        assert shown_records(own, pool, a, start=start).tolist() == expected


def test_known_answers() -> None:
    """They must hold for ever."""
    assert RECIPE == "aes256ctr-records-v3"
    assert KEY.hex() == "e332df655766531244d3a89626ce34803f818fe8b7b19191a2b4252578685f18"
    own, pool = marked(6, 2), marked_pool(5_000, 2)
    assert shown_records(own, pool, 1.0).tolist() == [
        [1001066, 0],
        [1, 1],
        [1001180, 2],
        [1001277, 1001277],
        [1002159, 1002159],
        [5, 5],
    ]
    assert shown_records(own, pool, 9.0, start=BLOCK_ROWS - 3).tolist() == [
        [1001281, 1001281],
        [1003978, 1003978],
        [1003378, 1003378],
        [1002320, 1004672],
        [1000070, 1000070],
        [1001555, 1001999],
    ]


@pytest.mark.parametrize("a", LEVELS)
def test_records_and_cells_are_untouched_as_often_as_promised(a: float) -> None:
    shown = shown_records(marked(), marked_pool(), a)
    kept = shown == marked()
    q = kept_share(a)
    assert q == 1 / (1 + a)
    # Cells are untouched with q^(5/4); c cells of a record together with q^(1 + c/4).
    for rows, share in (
        (kept[:, 0], q**1.25),
        (kept[:, :2].all(axis=1), q**1.5),
        (kept.all(axis=1), q**1.75),
        (untouched(a), q),
    ):
        sd = np.sqrt(share * (1 - share) / ROWS)
        assert rows.mean() == pytest.approx(share, abs=4.5 * sd)
        assert abs(rows.mean() - q**0.9) > 4.5 * sd  # a rate that is a tenth less would be seen
    # Where the record was replaced last, all cells are of one donor.
    donors = shown[(shown >= 1_000_000).all(axis=1)]
    alike = (donors[:, 0] == donors[:, 1]) & (donors[:, 1] == donors[:, 2])
    assert alike.mean() > 0.3


def test_donors_are_as_likely_as_each_other_and_fresh_at_every_event() -> None:
    bins = 50
    pool = marked_pool(bins, 1) - np.int32(1_000_000)
    own = np.full((ROWS, 1), -7, dtype=np.int32)
    first, second = (shown_records(own, pool, a)[:, 0] for a in (1e3, 1e9))
    counts = np.bincount(first * bins + second, minlength=bins**2)
    assert ((counts - ROWS / bins**2) ** 2 / (ROWS / bins**2)).sum() < chi2.ppf(1 - 1e-6, bins**2)
    # Of levels near each other nearly all rows have the same last event.
    near = shown_records(own, pool, 1.01e3)[:, 0]
    counts = np.bincount(first * bins + near, minlength=bins**2)
    assert ((counts - ROWS / bins**2) ** 2 / (ROWS / bins**2)).sum() > chi2.ppf(1 - 1e-6, bins**2)


def transitions(levels: tuple[float, ...], rows: int = 400_000) -> NDArray[np.float64]:
    """How often one cell of three values goes from value to value to value over the levels."""
    rng = np.random.default_rng(3)
    own = rng.choice(3, (rows, 1), p=[0.6, 0.3, 0.1]).astype(np.int32)
    pool = rng.choice(3, (5_000, 1), p=[0.2, 0.3, 0.5]).astype(np.int32)
    columns = [own[:, 0], *(shown_records(own, pool, a)[:, 0] for a in levels)]
    return np.asarray(
        np.bincount(
            np.ravel_multi_index(columns, (3,) * len(columns)), minlength=3 ** len(columns)
        ).reshape((3,) * len(columns)),
        dtype=np.float64,
    )


def excess_of_dependence(counts: NDArray[np.float64]) -> float:
    """χ² of the first and last axis given the middle one, in standard deviations."""
    statistic = 0.0
    for table in np.moveaxis(counts, 1, 0):
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        statistic += float(((table - expected) ** 2 / expected).sum())
    free = counts.shape[1] * 4
    return float((statistic - free) / np.sqrt(2 * free))


def test_the_better_copy_makes_the_worse_one_superfluous() -> None:
    """X → Y(1) → Y(4) is a Markov chain: given Y(1) the original and Y(4) are independent."""
    counts = transitions((1.0, 4.0))
    assert excess_of_dependence(counts) < 4
    # The other way round they are not, and neither are two copies with donors that are kept for all levels.
    assert excess_of_dependence(np.moveaxis(counts, 2, 1)) > 100
    assert excess_of_dependence(nested_transitions()) > 100


def nested_transitions() -> NDArray[np.float64]:
    """The scheme that fails: records kept or replaced whole, by one donor whatever the level."""
    rng = np.random.default_rng(4)
    rows = 400_000
    own, donor = (rng.choice(3, rows, p=p) for p in ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]))
    u = rng.random(rows)
    columns = [own, *(np.where(u < 1 / (1 + a), own, donor) for a in (1.0, 4.0))]
    return np.asarray(
        np.bincount(np.ravel_multi_index(columns, (3, 3, 3)), minlength=27).reshape(3, 3, 3),
        dtype=np.float64,
    )


def test_compiled_records_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    own, pool = marked(BLOCK_ROWS + 900), marked_pool(777)
    own[::7, 1] = UNLISTED
    made = []
    for using in (steps.CompiledSteps(), definition):
        monkeypatch.setattr(steps, "_in_use", [using])
        made += [shown_records(own, pool, a, start=5) for a in LEVELS]
    for compiled, defined in zip(made[: len(LEVELS)], made[len(LEVELS) :], strict=True):
        np.testing.assert_array_equal(compiled, defined)


def literal_lone_cell(own: int, k: int, a: float, row: int, column: int) -> int:
    """The value of the latest event at or before the copy, of a cell that is replaced by itself."""
    info = CELL_RECIPE.encode() + b"\0" + column.to_bytes(4, "big")
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(KEY)
    events = [(0.0, own)]
    for epoch in range(1, math.ceil(math.log2(1 + a)) + 1):
        product = 1.0
        for word in literal_words(row, epoch, key):
            product *= ((word >> 32) + 0.5) / 2**32
            if product < 0.5:
                break
            time = epoch * math.log(2) + math.log(product)
            if time <= math.log(1 + a):
                events.append((time, word * 4 % 2**32 * k // 2**32))
    return max(events)[1]


@pytest.mark.parametrize("compiled", [True, False])
def test_the_recipe_of_lone_cells_is_as_written(
    monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    monkeypatch.setattr(steps, "_in_use", [steps.CompiledSteps() if compiled else definition])
    sizes, start = (2, 11), BLOCK_ROWS - 60
    own = np.array([np.arange(120) % k for k in sizes], dtype=np.int32)
    for a in (0.3, 1.0, 2.1, 20.0):
        shown = own.copy()
        show_cells(shown, sizes, a, key=KEY, start=start)
        assert shown.tolist() == [
            [literal_lone_cell(int(cell), k, a, start + i, j) for i, cell in enumerate(cells)]
            for j, (k, cells) in enumerate(zip(sizes, own, strict=True))
        ]


@pytest.mark.parametrize(
    "name", ["earlier_events", "show_cells", "looked_up", "text_offsets", "text_bytes"]
)
def test_compiled_records_that_differ_are_not_used(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    wrong = steps.CompiledSteps()
    monkeypatch.setattr(wrong, name, off_by_one(getattr(wrong, name)))
    assert not steps.agree(wrong, definition)


def off_by_one(exact: Callable[..., Any]) -> Callable[..., Any]:
    def changed(*arguments: Any) -> Any:
        found = exact(*arguments)
        arguments[-1].reshape(-1)[5] += 1
        return found

    return changed


@pytest.mark.parametrize("a", [1e-6, 1.0, 1e6])
def test_an_unlisted_value_is_never_shown(a: float) -> None:
    own, pool = marked(2_000), marked_pool(50)
    own[::2, 1] = UNLISTED
    shown = shown_records(own, pool, a)
    assert (shown != UNLISTED).all()
    assert (shown[::2, 1] >= 1_000_000).all()
    if a < 1:
        # What stands beside it is the row's own.
        assert (shown[:, [0, 2]] == own[:, [0, 2]]).mean() > 0.99
        counts = np.bincount(shown[::2, 1] - 1_000_000, minlength=50)
        assert ((counts - 20) ** 2 / 20).sum() < chi2.ppf(1 - 1e-6, 49)


def test_rows_do_not_depend_on_what_is_made_beside_them() -> None:
    own, pool = marked(BLOCK_ROWS + 500), marked_pool(100)
    whole = shown_records(own, pool, 1.0)
    for start, stop in ((0, 1), (1, 4), (BLOCK_ROWS - 3, BLOCK_ROWS + 3), (BLOCK_ROWS + 7, 66_000)):
        piece = shown_records(own[start:stop], pool, 1.0, start=start)
        np.testing.assert_array_equal(piece, whole[start:stop])
    # Of few rows none may have met its record event while their epochs are no longer the same.
    for a, few in itertools.product((1.0, 4.4, 30.0), (2, 3, 5, 9)):
        whole = shown_records(own[:450], pool, a)
        pieces = [shown_records(own[i : i + few], pool, a, start=i) for i in range(0, 450, few)]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_keys_bind_to_secret_and_binding() -> None:
    parts = [bytes([i]) * 32 for i in range(3)]
    assert len({record_key(a, b) for a in parts for b in parts}) == 9
    with pytest.raises(ValueError, match="32 bytes"):
        record_key(b"short", parts[0])


def test_what_cannot_be_is_refused() -> None:
    for pool in (marked_pool()[:0], np.zeros((MOST_DONORS + 1, 3), np.int32)):
        with pytest.raises(ValueError, match="donors"):
            shown_records(marked(5), pool, 1.0)
    for a in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="positive and finite"):
            kept_share(a)
