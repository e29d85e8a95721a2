"""R² of numbers and records against values known from how the rows were made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.applied import applied_variance
from app.numerics.copies.association import squared_canonical_correlation

Numbers = NDArray[np.float64]
Codes = NDArray[np.int32]

ROWS = 4_000


def categories(rng: np.random.Generator, sizes: tuple[int, ...], rows: int = ROWS) -> Codes:
    return np.column_stack([rng.integers(0, size, rows) for size in sizes]).astype(np.int32)


def additive(rng: np.random.Generator, codes: Codes) -> Numbers:
    """Half of the first number's variance follows from the sum of two codes' effects."""
    signal = codes[:, 0] - 1.0 + (codes[:, 1] - 0.5)
    signal /= np.sqrt(2 / 3 + 1 / 4)
    return np.column_stack([signal + rng.normal(size=len(codes)), rng.normal(size=len(codes))])


def joint(rng: np.random.Generator, codes: Codes) -> Numbers:
    """Half of it follows from two codes together, and nothing from one."""
    signal = 2.0 * ((codes[:, 0] == 1) ^ (codes[:, 1] == 1)) - 1
    signal = signal - signal.mean()
    rest = rng.normal(size=(len(codes), 2)) * signal.std()
    rest[:, 0] += signal
    return np.asarray(rest)


def nothing(rng: np.random.Generator, codes: Codes) -> Numbers:
    return np.asarray(rng.normal(size=(len(codes), 2)))


Made = Callable[[np.random.Generator, Codes], Numbers]


@pytest.mark.parametrize("gaps", [0.0, 0.05, 0.4])
@pytest.mark.parametrize(
    ("made", "sizes", "expected"),
    [(additive, (3, 2, 5), 0.5), (joint, (2, 2, 5), 0.5), (nothing, (3, 2, 5), 0.0)],
)
def test_what_the_record_tells_is_found(
    made: Made, sizes: tuple[int, ...], expected: float, gaps: float
) -> None:
    rng = np.random.default_rng(1)
    codes = categories(rng, sizes)
    numbers = made(rng, codes)
    numbers[rng.random(numbers.shape) < gaps] = np.nan
    found = squared_canonical_correlation(numbers, codes, sizes)
    assert found == pytest.approx(expected, abs=0.04)


def test_three_columns_that_tell_only_together_are_found_among_others() -> None:
    rng = np.random.default_rng(2)
    codes = categories(rng, (2, 2, 2, 4, 6))
    signal = 2.0 * ((codes[:, 0] + codes[:, 1] + codes[:, 2]) % 2) - 1
    numbers = (signal + 0.2 * codes[:, 0] * codes[:, 1] + rng.normal(size=ROWS))[:, None]
    assert squared_canonical_correlation(numbers, codes, (2, 2, 2, 4, 6)) == pytest.approx(
        0.5, abs=0.05
    )
    assert squared_canonical_correlation(numbers, codes[:, 1:], (2, 2, 4, 6)) < 0.1


def test_a_combination_counts_that_no_number_shows() -> None:
    """A category that tells little of each of two numbers, and all of their difference."""
    rng = np.random.default_rng(3)
    codes = categories(rng, (2,))
    both = 10 * rng.normal(size=ROWS)
    numbers = np.column_stack([both, both + codes[:, 0]])
    assert squared_canonical_correlation(numbers, codes, (2,)) == pytest.approx(1, abs=1e-6)
    for j in (0, 1):
        assert squared_canonical_correlation(numbers[:, [j]], codes, (2,)) < 0.01


def test_the_order_of_rows_and_the_scale_of_numbers_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    codes = categories(rng, (3, 2, 5))
    numbers = additive(rng, codes)
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    found = squared_canonical_correlation(numbers, codes, (3, 2, 5))
    order = rng.permutation(ROWS)
    again = squared_canonical_correlation(numbers[order] * [1e-150, 1e150], codes[order], (3, 2, 5))
    assert again == pytest.approx(found, rel=1e-9)


def test_samples_of_one_table_lead_to_the_same_applied_variance() -> None:
    """16 samples of 65,536 rows: within 2 %, in an independent draw of every row."""
    found = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        codes = categories(rng, (3, 2, 5), 65_536)
        r_squared = squared_canonical_correlation(additive(rng, codes), codes, (3, 2, 5))
        found.append(applied_variance(0.25, r_squared))
    assert max(found) / min(found) < 1.02


def test_chance_alone_leaves_little_even_where_columns_are_nearly_equal_and_rows_few() -> None:
    """Gaps make covariances of nearly equal columns uncertain: 0.7 and more was found of nothing."""
    rng = np.random.default_rng(5)
    codes = categories(rng, (3, 8), 1_000)
    numbers = rng.normal(size=(1_000, 10)) @ rng.normal(size=(10, 10))
    for gaps in (0.0, 0.05, 0.5):
        numbers[rng.random(numbers.shape) < gaps] = np.nan
        assert squared_canonical_correlation(numbers, codes, (3, 8)) < 0.12


def test_effects_and_cells_of_many_categories_find_nothing_in_noise() -> None:
    """About 37 effects and 323 further cells of two columns, 4,000 rows: by chance they fit 9 % of a number."""
    rng = np.random.default_rng(8)
    codes = categories(rng, (20, 18))
    assert squared_canonical_correlation(rng.normal(size=(ROWS, 2)), codes, (20, 18)) < 0.05
    # Effects of nearly equal columns with other gaps differ: by chance, and not because of the record.
    numbers = rng.normal(size=(ROWS, 10)) @ rng.normal(size=(10, 10))
    codes = categories(rng, (60, 60, 60, 60))
    numbers[rng.random(numbers.shape) < 0.2] = np.nan
    assert squared_canonical_correlation(numbers, codes, (60,) * 4) < 0.2


def test_one_row_alike_rows_and_categories_of_one_row_each_have_an_answer() -> None:
    rng = np.random.default_rng(6)
    own = np.arange(50, dtype=np.int32)[:, None]
    numbers = rng.normal(size=(50, 2))
    assert squared_canonical_correlation(numbers, own, (50,)) == pytest.approx(1)
    assert squared_canonical_correlation(numbers, own * 0 - 1, (50,)) == pytest.approx(0, abs=1e-9)
    assert squared_canonical_correlation(numbers[:1], own[:1], (50,)) == 0
    assert squared_canonical_correlation(np.ones((50, 2)), own, (50,)) == 0
    assert squared_canonical_correlation(np.full((50, 2), np.nan), own, (50,)) == 0
    assert squared_canonical_correlation(numbers[:, :0], own, (50,)) == 0
    assert squared_canonical_correlation(numbers, own[:, :0], ()) == 0
    alternately = np.where(np.arange(50)[:, None] % 2 == [0, 1], numbers, np.nan)
    assert 0 <= squared_canonical_correlation(alternately, own % 3, (3,)) <= 1


def test_as_many_categories_as_rows_of_two_columns_are_solved_as_they_are() -> None:
    """The sparse equations of many categories give the R² of the full ones."""
    rng = np.random.default_rng(7)
    codes = categories(rng, (400, 300))
    numbers = rng.normal(size=(ROWS, 2)) + codes[:, :1] % 2
    found = squared_canonical_correlation(numbers, codes, (400, 300))
    Z = np.hstack([codes[:, [0]] == np.arange(400), codes[:, [1]] == np.arange(300)]).astype(float)
    X = numbers - numbers.mean(axis=0)
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    expected = np.linalg.eigvals(np.linalg.solve(X.T @ X, fitted.T @ fitted)).real.max()
    assert found == pytest.approx(expected, abs=1e-6)
