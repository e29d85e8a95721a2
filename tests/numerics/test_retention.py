"""Nested retention of categories: literal cells, shares, nesting, and pooled copies."""

from __future__ import annotations

import hashlib
import math
from itertools import pairwise

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from scipy import stats

from app.numerics.noise import BLOCK_ROWS
from app.numerics.retention import (
    MISSING,
    RECIPE,
    UNLISTED,
    kept_share,
    retained,
    retention_key,
)

SECRET = bytes(range(32))
FROZEN = hashlib.sha256(b"frozen").digest()
KEY = retention_key(SECRET, FROZEN)
MARGINAL = np.array([500, 0, 300, 200])
UNSEEN = 1
"""A category of count 0: redraws never yield it, so it shows which cells were kept."""

Codes = NDArray[np.int32]


def sampled_codes(count: int, seed: int = 0) -> Codes:
    rng = np.random.default_rng(seed)
    return rng.choice(4, size=count, p=MARGINAL / 1000).astype(np.int32)


def literal_cell(code: int, column: int, row: int, variance: float) -> int:
    """One cell by following its Poisson process in τ, gap by gap."""
    single = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()
    block, offset = divmod(row, 65_536)
    edges = np.cumsum(MARGINAL) / 1000
    tau, time, k = 0.5 * math.log1p(variance), 0.0, 0
    while True:
        counter = block * 2**64 + column * 2**48 + k * 2**32 + offset
        keystream = single.update(counter.to_bytes(16, "big"))
        gap, place = (
            ((int.from_bytes(keystream[half : half + 8], "little") >> 11) + 0.5) * 2.0**-53
            for half in (0, 8)
        )
        time -= math.log(gap)
        if time > tau:
            return code
        code = next(category for category, edge in enumerate(edges) if place < edge)
        k += 1


def test_cells_follow_the_literal_process() -> None:
    start = BLOCK_ROWS - 60
    codes = sampled_codes(120)
    for variance in (0.1, 1.0, 50.0):
        literal = [
            literal_cell(int(code), 3, start + row, variance) for row, code in enumerate(codes)
        ]
        assert (
            retained(codes, MARGINAL, variance, key=KEY, column=3, start=start).tolist() == literal
        )


KNOWN_ANSWERS = {
    0.25: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1],
    4.0: [1, 1, 3, 0, 1, 3, 1, 0, 0, 0, 0, 1, 1, 1, 2, 1, 1, 0, 0, 1, 2, 1, 0, 0],
}
"""Variance → what 24 cells of category 1 in rows 65,530 on of column 2 show. For ever."""


@pytest.mark.parametrize(("variance", "answer"), KNOWN_ANSWERS.items())
def test_known_answers(variance: float, answer: list[int]) -> None:
    assert RECIPE == "aes256ctr-retention-v1"
    codes = np.full(24, UNSEEN, dtype=np.int32)
    assert retained(codes, MARGINAL, variance, key=KEY, column=2, start=65_530).tolist() == answer


@pytest.mark.parametrize("variance", [0.25, 1.0, 9.0])
def test_the_kept_share_is_accepted_as_designed_and_rejected_beside_it(variance: float) -> None:
    cells = 60_000
    shown = retained(
        np.full(cells, UNSEEN, dtype=np.int32), MARGINAL, variance, key=KEY, column=0, start=0
    )
    kept = int((shown == UNSEEN).sum())
    share = (1 + variance) ** -0.5
    assert kept_share(variance) == pytest.approx(share, rel=1e-15)
    assert stats.binomtest(kept, cells, share).pvalue > 1e-3
    for beside in (0.9 * share, min(1.1 * share, 0.999)):
        assert stats.binomtest(kept, cells, beside).pvalue < 1e-6


@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0])
def test_the_indicator_loses_as_much_as_a_number_does(variance: float) -> None:
    """R² of each category's indicator is 1/(1+v); its standard error is taken by halves."""
    codes = sampled_codes(200_000)
    shown = retained(codes, MARGINAL, variance, key=KEY, column=1, start=0)
    expected = 1 / (1 + variance)
    for category in (0, 2, 3):
        parts = [
            np.corrcoef(original == category, copy == category)[0, 1] ** 2
            for original, copy in zip(np.split(codes, 20), np.split(shown, 20), strict=True)
        ]
        error = np.std(parts, ddof=1) / math.sqrt(20)
        assert abs(np.mean(parts) - expected) < 4 * error
        assert abs(np.mean(parts) - 1.1 * expected) > 4 * error
        assert abs(np.mean(parts) - 0.9 * expected) > 4 * error


def test_the_marginal_is_preserved() -> None:
    codes = sampled_codes(100_000)
    for variance in (0.25, 1.0, 100.0):
        shown = retained(codes, MARGINAL, variance, key=KEY, column=0, start=0)
        counts = np.bincount(shown, minlength=4)[[0, 2, 3]]
        assert stats.chisquare(counts, 100_000 * MARGINAL[[0, 2, 3]] / 1000).pvalue > 1e-4


def test_copies_are_nested_a_cell_once_redrawn_stays_redrawn() -> None:
    codes = np.full(20_000, UNSEEN, dtype=np.int32)
    kept = [
        retained(codes, MARGINAL, variance, key=KEY, column=0, start=0) == UNSEEN
        for variance in (0.1, 0.5, 0.50001, 2.0, 40.0)
    ]
    for less_perturbed, more_perturbed in pairwise(kept):
        assert not (more_perturbed & ~less_perturbed).any()


def test_given_the_better_copy_the_worse_one_says_nothing_about_the_original() -> None:
    codes = sampled_codes(100_000)
    better = retained(codes, MARGINAL, 0.5, key=KEY, column=0, start=0)
    nested = retained(codes, MARGINAL, 1.0, key=KEY, column=0, start=0)
    independent = retained(
        codes, MARGINAL, 1.0, key=retention_key(bytes(32), FROZEN), column=0, start=0
    )

    def dependence(worse: Codes) -> float:
        """The smallest p-value of independence of original and worse copy, given the better."""
        p_values: list[float] = []
        for category in (0, 2, 3):
            given = better == category
            table = np.zeros((4, 4))
            np.add.at(table, (codes[given], worse[given]), 1)
            seen = table[np.ix_([0, 2, 3], [0, 2, 3])]
            p_values.append(stats.chi2_contingency(seen).pvalue)
        return min(p_values)

    assert dependence(nested) > 1e-3
    assert dependence(independent) < 1e-9


def test_a_classifier_gains_nothing_from_five_copies() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows, half = 24_000, 12_000
    codes = sampled_codes(rows)
    variances = (0.5, 0.7, 1.0, 1.5, 2.0)

    def accuracy(keys: list[bytes], levels: tuple[float, ...]) -> float:
        copies = np.column_stack(
            [
                retained(codes, MARGINAL, variance, key=key, column=0, start=0)
                for key, variance in zip(keys, levels, strict=True)
            ]
        )
        model = HistGradientBoostingClassifier(
            max_iter=40, categorical_features=range(len(levels)), random_state=0
        ).fit(copies[:half], codes[:half])
        return int((model.predict(copies[half:]) == codes[half:]).sum()) / half

    best = accuracy([KEY], variances[:1])
    pooled = accuracy([KEY] * 5, variances)
    independent = accuracy(
        [retention_key(bytes([number] * 32), FROZEN) for number in range(5)], variances
    )
    standard_error = math.sqrt(best * (1 - best) / half)
    assert pooled < best + 3 * standard_error
    assert independent > best + 10 * standard_error


def test_missing_cells_stay_missing_and_disturb_nothing_else() -> None:
    codes = sampled_codes(1000)
    holed = codes.copy()
    holed[::7] = MISSING
    shown, shown_holed = (
        retained(c, MARGINAL, 2.0, key=KEY, column=0, start=5) for c in (codes, holed)
    )
    assert (shown_holed[::7] == MISSING).all()
    there = holed != MISSING
    np.testing.assert_array_equal(shown_holed[there], shown[there])


def test_any_range_of_rows_is_a_slice_of_the_column() -> None:
    codes = sampled_codes(BLOCK_ROWS + 500)
    whole = retained(codes, MARGINAL, 1.0, key=KEY, column=0, start=0)
    for start, stop in [(0, 1), (999, 5_000), (BLOCK_ROWS - 3, BLOCK_ROWS + 3)]:
        part = retained(codes[start:stop], MARGINAL, 1.0, key=KEY, column=0, start=start)
        np.testing.assert_array_equal(part, whole[start:stop])


def test_a_category_outside_the_frozen_list_is_never_shown_and_never_told_apart() -> None:
    codes = sampled_codes(50_000)
    codes[::2] = UNLISTED
    for variance in (0.01, 1.0, 100.0):
        shown = retained(codes, MARGINAL, variance, key=KEY, column=0, start=0)
        counts = np.bincount(shown[::2], minlength=4)
        assert len(counts) == 4
        expected = 25_000 * MARGINAL / 1000
        present = expected > 0
        assert counts[~present].sum() == 0
        assert stats.chisquare(counts[present], expected[present]).pvalue > 1e-4


def test_cells_outside_the_list_are_nested_like_all_others() -> None:
    codes = np.full(20_000, UNLISTED, dtype=np.int32)
    first, second = (
        retained(codes, MARGINAL, v, key=KEY, column=0, start=0) for v in (0.5, 0.500001)
    )
    assert np.mean(first == second) > 0.999, "two levels side by side show the same redraw"


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf])
def test_an_unusable_variance_releases_nothing(variance: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        retained(sampled_codes(5), MARGINAL, variance, key=KEY, column=0, start=0)


def test_an_empty_marginal_an_unknown_column_and_a_short_key_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        retained(sampled_codes(5), np.zeros(4, dtype=np.int64), 1.0, key=KEY, column=0, start=0)
    with pytest.raises(ValueError, match="65,536 columns"):
        retained(sampled_codes(5), MARGINAL, 1.0, key=KEY, column=65_536, start=0)
    with pytest.raises(ValueError, match="32 bytes"):
        retention_key(b"short", FROZEN)
