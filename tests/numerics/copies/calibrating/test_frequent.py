"""Which categories few rows can judge."""

from __future__ import annotations

import numpy as np

from app.numerics.copies.calibrating.calibration import calibrated, recalibrated
from app.numerics.copies.calibrating.joining import frequent_categories, judged_categories


def test_all_categories_remain_where_there_are_twice_as_many_rows() -> None:
    codes = np.column_stack([np.arange(21) % 6, np.arange(21) % 6]).astype(np.int32)
    found, sizes = judged_categories(codes, [6, 9])
    np.testing.assert_array_equal(found, codes)
    assert sizes == [6, 9]
    assert judged_categories(codes[:20], [6, 9])[1] != [6, 9]


def test_frequent_categories_remain_and_the_others_are_one() -> None:
    many = np.arange(100)
    many[:16] = 27
    many[16:30] = 95
    codes = np.column_stack([np.arange(100) % 3, many]).astype(np.int32)
    found, sizes = frequent_categories(codes, [3, 100])
    assert judged_categories(codes, [3, 100])[1] == sizes == [4, 2]
    np.testing.assert_array_equal(found[:, 0], codes[:, 0])
    # Sixteen rows have the value 27 and fifteen the value 95, which is joined to those that come once.
    np.testing.assert_array_equal(found[:, 1], np.where(many == 27, 0, 1))


def test_no_more_categories_remain_than_a_quarter_of_the_rows() -> None:
    codes = np.repeat(np.arange(4), 16)[:, None].repeat(9, axis=1).astype(np.int32)
    found, sizes = frequent_categories(codes, [4] * 9)
    assert sum(size - 1 for size in sizes) == 16
    assert (found < sizes).all()


def test_what_a_group_tells_is_seen_beside_a_column_of_very_many_values() -> None:
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, 4, 500), rng.integers(0, 600, 500)]).astype(np.int32)
    numbers = rng.normal(size=(500, 1))
    frozen = calibrated(numbers, codes, [4, 600])
    S = np.array([[2.0]])
    plain = recalibrated(frozen, numbers, codes, [4, 600], S)
    told = recalibrated(frozen, codes[:, :1] + 0.1 * numbers, codes, [4, 600], S)
    assert plain is not None
    assert told is not None
    assert plain.given_k[0] > 0.7 * plain.k[0]
    assert told.given_k[0] < 0.05 * told.k[0]
