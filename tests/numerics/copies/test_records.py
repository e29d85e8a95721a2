"""Records kept or replaced whole: nested over levels, deniable, and joint as before."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, kstest

from app.model import BLOCK_ROWS
from app.numerics.copies.noise import definition, steps
from app.numerics.copies.noise.keystream import keystream_words
from app.numerics.copies.records import (
    DONOR_COLUMN,
    KEPT_COLUMN,
    MOST_DONORS,
    RECIPE,
    UNLISTED,
    donors,
    kept_share,
    record_key,
    replace_records,
    uniforms,
)

Codes = NDArray[np.int32]

KEY = record_key(bytes(32), hashlib.sha256(b"frozen").digest(), hashlib.sha256(b"part").digest())
LEVELS = (0.1, 0.25, 1.0, 4.0, 30.0)
ROWS = 100_000


def records(rows: int, seed: int = 1) -> Codes:
    """Two related columns and one that only counts, so that every row differs."""
    rng = np.random.default_rng(seed)
    first = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    second = np.where(rng.random(rows) < 0.7, first, rng.integers(0, 3, rows))
    return np.column_stack([first, second, np.arange(rows)]).astype(np.int32)


def shown_records(
    own: Codes, pool: Codes, applied_variance: float, *, key: bytes, start: int
) -> Codes:
    """The records (n, c) as a copy shows them."""
    codes = np.ascontiguousarray(own.T)
    replace_records(codes, pool, applied_variance, key=key, start=start)
    return codes.T


def test_the_recipe_is_as_written() -> None:
    """A second way from the words to the values, row by row."""
    word = int(keystream_words(KEY, 1, KEPT_COLUMN, 1, first=7)[0])
    assert uniforms(KEY, BLOCK_ROWS + 7, 1)[0] == (word >> 11) / 2**53
    word = int(keystream_words(KEY, 0, DONOR_COLUMN, 1, first=9)[0])
    assert donors(KEY, 9, 1, 1_000)[0] == ((word >> 16) * 1_000) >> 48
    assert RECIPE == "aes256ctr-records-v1"
    assert KEY.hex() == "b5b7ef2c714cd5e8ba21232c7031b0a6e84629c224a31077b1816b085c5b910e"


def test_kept_sets_are_nested_and_donors_are_equal_at_all_levels() -> None:
    own, pool = records(ROWS), records(5_000, seed=2)
    pool[:, 2] += ROWS  # a donor's record is told from every own one
    shown = [shown_records(own, pool, a, key=KEY, start=0) for a in LEVELS]
    kept = [(one == own).all(axis=1) for one in shown]
    donor = donors(KEY, 0, ROWS, len(pool))
    for a, one, rows in zip(LEVELS, shown, kept, strict=True):
        assert rows.mean() == pytest.approx(1 / (1 + a), abs=4 * np.sqrt(0.25 / ROWS))
        np.testing.assert_array_equal(one[~rows], pool[donor[~rows]])
    for less, more in itertools.pairwise(kept):
        assert not (more & ~less).any()
        assert (less & ~more).any()


def test_kept_or_replaced_says_nothing_of_the_donor() -> None:
    kept = uniforms(KEY, 0, ROWS) < 0.5
    donor = donors(KEY, 0, ROWS, 10)
    counts = np.array([np.bincount(donor[rows], minlength=10) for rows in (kept, ~kept)])
    expected = counts.sum(axis=1)[:, None] / 10
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(1 - 1e-6, 18)
    assert kstest(uniforms(KEY, 0, ROWS), "uniform").pvalue > 1e-6


@pytest.mark.parametrize("m", [1, 3, 1_000, MOST_DONORS])
def test_every_donor_is_as_likely(m: int) -> None:
    found = donors(KEY, 3, 400_000, m)
    assert found.min() == 0 if m < 1_000 else found.min() >= 0
    assert found.max() < m
    bins = min(m, 1_000)
    counts = np.bincount(found * bins // m, minlength=bins)
    sizes = np.bincount(np.arange(m) * bins // m, minlength=bins)
    expected = 400_000 * sizes / m
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, max(bins - 1, 1))


@pytest.mark.parametrize("a", LEVELS)
def test_a_contingency_table_mixes_the_donors_joint_with_the_original(a: float) -> None:
    own, pool = records(ROWS), records(5_000, seed=2)
    shown = shown_records(own, pool, a, key=KEY, start=0)
    q = kept_share(a)
    mixture = q * joint(own) + (1 - q) * joint(pool)
    sd = np.sqrt(mixture * (1 - mixture) / ROWS)
    assert (np.abs(joint(shown) - mixture) < 5 * sd).all()
    # Columns redrawn one by one would lose the link between them.
    alone = np.outer(joint(own).sum(axis=1), joint(own).sum(axis=0))
    if a > 1:
        assert (np.abs(joint(shown) - (q * joint(own) + (1 - q) * alone)) > 5 * sd).any()


def joint(codes: Codes) -> NDArray[np.float64]:
    table = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=9).reshape(3, 3)
    return np.asarray(table / table.sum(), dtype=np.float64)


def test_compiled_records_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    own, pool = records(BLOCK_ROWS + 900), records(777, seed=2)
    own[::7, 1] = UNLISTED
    made = []
    for using in (steps.Compiled(), definition):
        monkeypatch.setattr(steps, "_in_use", [using])
        made += [shown_records(own, pool, a, key=KEY, start=5) for a in LEVELS]
    for compiled, defined in zip(made[: len(LEVELS)], made[len(LEVELS) :], strict=True):
        np.testing.assert_array_equal(compiled, defined)


def test_compiled_records_that_differ_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("replace_records", "looked_up", "text_offsets", "text_bytes"):
        wrong = steps.Compiled()
        monkeypatch.setattr(wrong, name, off_by_one(getattr(wrong, name)))
        assert not steps.agree(wrong, definition)


def off_by_one(exact: Callable[..., None]) -> Callable[..., None]:
    def changed(*arguments: Any) -> None:
        exact(*arguments)
        arguments[-1].reshape(-1)[5] ^= 1

    return changed


def test_an_unlisted_value_is_never_shown() -> None:
    own, pool = records(2_000), records(50, seed=2)
    own[::2, 1] = UNLISTED
    shown = shown_records(own, pool, 1e-6, key=KEY, start=0)
    assert (shown != UNLISTED).all()
    np.testing.assert_array_equal(shown[::2], pool[donors(KEY, 0, 2_000, 50)[::2]])
    assert (shown[1::2] == own[1::2]).all(axis=1).mean() > 0.99


def test_rows_do_not_depend_on_what_is_made_beside_them() -> None:
    own, pool = records(BLOCK_ROWS + 500), records(100, seed=2)
    whole = shown_records(own, pool, 1.0, key=KEY, start=0)
    for start, stop in ((0, 1), (1, 4), (BLOCK_ROWS - 3, BLOCK_ROWS + 3), (BLOCK_ROWS + 7, 66_000)):
        piece = shown_records(own[start:stop], pool, 1.0, key=KEY, start=start)
        np.testing.assert_array_equal(piece, whole[start:stop])


def test_keys_bind_to_secret_pool_and_part() -> None:
    parts = [bytes([i]) * 32 for i in range(3)]
    keys = {record_key(a, b, c) for a in parts for b in parts for c in parts}
    assert len(keys) == 27
    with pytest.raises(ValueError, match="32 bytes"):
        record_key(b"short", parts[0], parts[1])


def test_what_cannot_be_is_refused() -> None:
    own = records(5)
    for pool in (own[:0], np.zeros((MOST_DONORS + 1, 3), np.int32)):
        with pytest.raises(ValueError, match="donors"):
            shown_records(own, pool, 1.0, key=KEY, start=0)
    for a in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="positive and finite"):
            kept_share(a)
