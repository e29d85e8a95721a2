"""Donors: a model of the records that shows no person and nothing of fewer than five rows."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.donors import (
    NO_PARENT,
    RECIPE,
    DonorCounts,
    donor_key,
    donor_pool,
)
from app.numerics.copies.records import UNLISTED

Codes = NDArray[np.int32]

KEY = donor_key(bytes(32), hashlib.sha256(b"protection").digest())
ROWS = 20_000
SIZES = (3, 3, 4, 2)


def chain(rows: int = ROWS, seed: int = 1) -> Codes:
    """Each column a noisy function of the one before."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(3, rows, p=[0.5, 0.3, 0.2])]
    for size in SIZES[1:]:
        kept = rng.random(rows) < 0.8
        columns.append(np.where(kept, columns[-1] % size, rng.integers(0, size, rows)))
    return np.column_stack(columns).astype(np.int32)


def joint(codes: Codes, j: int, k: int) -> NDArray[np.float64]:
    table = np.bincount(codes[:, j] * SIZES[k] + codes[:, k], minlength=SIZES[j] * SIZES[k])
    return np.asarray(table / len(codes), dtype=np.float64)


def test_a_pool_has_the_law_of_the_rows_where_the_tree_is_right() -> None:
    own = chain()
    counts = DonorCounts.of(own, SIZES)
    assert counts.parents == (NO_PARENT, 0, 1, 2)
    pool = donor_pool(counts, KEY)
    for j, k in itertools.combinations(range(4), 2):
        expected = joint(own, j, k)
        sd = np.sqrt(expected * (1 - expected) / len(pool))
        assert (np.abs(joint(pool, j, k) - expected) < 5 * sd + 2e-3).all()
    # The same test rejects columns drawn one by one.
    alone = np.column_stack([np.random.default_rng(j).permutation(pool[:, j]) for j in range(4)])
    assert np.abs(joint(alone, 0, 1) - joint(own, 0, 1)).max() > 0.05


def test_columns_that_tell_nothing_of_each_other_have_no_edge() -> None:
    codes = np.column_stack([np.tile(np.arange(3), 400), np.repeat(np.arange(3), 400)])
    assert DonorCounts.of(codes.astype(np.int32), (3, 3)).parents == (NO_PARENT, NO_PARENT)
    codes[::10, 0] = codes[::10, 1]
    assert DonorCounts.of(codes.astype(np.int32), (3, 3)).parents == (NO_PARENT, 0)


def test_values_and_pairs_of_fewer_than_five_rows_are_not_drawn() -> None:
    own = chain()
    own[:4, 2], own[4:24, 2] = 4, 5  # one value of 4 rows, one of 20
    own[100:1_100, 0], own[100:1_100, 1] = 3, 0
    own[100:104, 1] = 2
    counts = DonorCounts.of(own, (4, 3, 6, 2), tree=(NO_PARENT, 0, 1, 2))
    assert counts.listed[2].tolist() == [True] * 4 + [False, True]
    pool = donor_pool(counts, KEY)
    # Columns keep their law, also a value of which each pair has few rows.
    for j, size in enumerate((4, 3, 6, 2)):
        expected = np.bincount(own[:, j], minlength=size) * counts.listed[j]
        expected = expected / expected.sum()
        sd = np.sqrt(expected * (1 - expected) / len(pool))
        drawn = np.bincount(pool[:, j], minlength=size) / len(pool)
        assert (np.abs(drawn - expected) <= 5 * sd + 1e-3 * expected).all()
    # Four rows have values 3 and 2 together: they are drawn together only as the rest falls.
    together = (pool[pool[:, 0] == 3, 1] == 2).mean()
    assert together < 6 / 1_000
    assert (own[own[:, 0] != 3, 1] == 2).mean() > 0.2


def test_a_value_that_is_rare_beside_every_other_one_keeps_its_share() -> None:
    """Three rows of it with each of 40 values: no pair is drawn, and yet 6 % of the pool has it."""
    own = np.column_stack([np.repeat(np.arange(40), 50), np.tile(np.arange(50) < 3, 40)])
    counts = DonorCounts.of(own.astype(np.int32), (40, 2), tree=(NO_PARENT, 0))
    assert donor_pool(counts, KEY)[:, 1].mean() == pytest.approx(0.06, abs=5e-3)


def test_people_alone_with_their_record_are_not_in_the_pool() -> None:
    """21 of 40 retired people stood in copies with job, town and disease when donors were people."""
    people = np.arange(40)[:, None] + np.array([3, 3, 4])
    own = np.vstack([chain()[:, :3], people]).astype(np.int32)
    pool = donor_pool(DonorCounts.of(own, (43, 43, 44)), KEY)
    assert (pool < [3, 3, 4]).all()
    five_times = np.vstack([own] + [people] * 4).astype(np.int32)
    assert (donor_pool(DonorCounts.of(five_times, (43, 43, 44)), KEY) >= 3).any(axis=0).all()


def test_a_column_whose_values_are_all_rare_is_unlisted() -> None:
    own = np.column_stack([np.arange(200), np.arange(200) % 2, np.arange(200) % 4]).astype(np.int32)
    pool = donor_pool(DonorCounts.of(own, (200, 2, 4), tree=(NO_PARENT, 0, 1)), KEY)
    assert (pool[:, 0] == UNLISTED).all()
    assert set(np.unique(pool[:, 1])) == {0, 1}
    assert (pool[:, 2] % 2 == pool[:, 1]).mean() > 0.9
    assert (donor_pool(DonorCounts.of(own[:3], (200, 2, 4)), KEY) == UNLISTED).all()


def test_counts_of_parts_are_those_of_all_rows_at_once() -> None:
    own = chain()
    whole = DonorCounts.of(own, SIZES)
    own[-1, 2] = 4  # a value that only the last part has
    parts = [
        DonorCounts.of(own[:9_000], SIZES, tree=whole.parents),
        DonorCounts.of(own[9_000:9_001], SIZES, tree=whole.parents),
        DonorCounts.of(own[9_001:], (3, 3, 5, 2), tree=whole.parents),
    ]
    merged = parts[0].merged(parts[1]).merged(parts[2])
    expected = DonorCounts.of(own, (3, 3, 5, 2), tree=whole.parents).arrays()
    assert merged.arrays().keys() == expected.keys()
    for name, array in merged.arrays().items():
        np.testing.assert_array_equal(array, expected[name])
    np.testing.assert_array_equal(
        donor_pool(DonorCounts.of_arrays(merged.arrays()), KEY), donor_pool(merged, KEY)
    )
    with pytest.raises(ValueError, match="one tree"):
        whole.merged(DonorCounts.of(own, (3, 3, 5, 2), tree=(NO_PARENT,) * 4))


def test_a_pool_is_the_same_for_ever_and_another_under_another_key() -> None:
    counts = DonorCounts.of(
        (np.arange(120).reshape(40, 3) % [5, 4, 3]).astype(np.int32), (5, 4, 3), tree=(1, -1, 1)
    )
    assert RECIPE == "chow-liu-donors-v1"
    assert KEY.hex() == "af73da98f493fd307b0fbba8562d85a75399b1322988b3af7502110c44e130b9"
    assert donor_pool(counts, KEY, 6).tolist() == [
        [0, 0, 2],
        [0, 0, 2],
        [0, 0, 2],
        [2, 1, 2],
        [2, 3, 2],
        [2, 1, 2],
    ]
    assert (donor_pool(counts, bytes(32), 600) != donor_pool(counts, KEY, 600)).any()
    with pytest.raises(ValueError, match="32 bytes"):
        donor_key(b"short", bytes(32))
