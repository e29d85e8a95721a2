"""Records of two and four pooled copies tell no more than those of the best, of all columns together.

The attacker knows the joint law of original and copies, learnt from half of the rows: with few values the
posterior mean is a table, and no learner could do better.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.numerics.copies.released import Numbers, Part

Codes = NDArray[np.int32]

ROWS = 400_000
LEVELS = (0.5, 1.0, 2.0, 4.0)


def related(rows: int = ROWS) -> Part:
    """Two columns of which one follows from the other three times out of four."""
    rng = np.random.default_rng(1)
    first = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    second = np.where(rng.random(rows) < 0.75, first == 0, rng.integers(0, 2, rows))
    return Part(np.zeros((rows, 0)), np.column_stack([first, second]).astype(np.int32))


def states(codes: Codes) -> NDArray[np.intp]:
    return np.asarray(np.ravel_multi_index(list(codes.T), (3, 2)))


def log_chances(own: NDArray[np.intp], seen: list[NDArray[np.intp]]) -> Numbers:
    """Logarithm of the posterior of what is true, in the second half of rows; learnt in the first."""
    place = np.ravel_multi_index(seen, (6,) * len(seen))
    half = len(own) // 2
    prior = np.bincount(own[:half], minlength=6) / half
    table = np.zeros((6 ** len(seen), 6)) + prior
    np.add.at(table, (place[:half], own[:half]), 1)
    table /= table.sum(axis=1, keepdims=True)
    return np.asarray(np.log(table[place[half:], own[half:]]))


def gain_of_pooling(own: Codes, copies: list[Codes]) -> tuple[float, float]:
    """How much better the pool guesses than the best copy, in nats a row, and its standard error."""
    true, seen = states(own), [states(copy) for copy in copies]
    gains = log_chances(true, seen) - log_chances(true, seen[:1])
    return float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))


@pytest.mark.parametrize("levels", [LEVELS[:2], (1.0, 1.05), LEVELS])
def test_pooled_copies_tell_no_more_than_the_best(levels: tuple[float, ...]) -> None:
    part = related()
    gain, error = gain_of_pooling(part.codes, [part.records(a) for a in levels])
    assert gain < 2 * error


@pytest.mark.parametrize("levels", [LEVELS[:2], LEVELS])
def test_the_same_attacker_finds_what_donors_kept_for_all_levels_give_away(
    levels: tuple[float, ...],
) -> None:
    """The scheme of before: a record kept or replaced by that of a donor, the same at every level."""
    part = related()
    rng = np.random.default_rng(2)
    u, donors = rng.random(ROWS), part.codes[rng.integers(0, ROWS, ROWS)]
    copies = [np.where((u < 1 / (1 + a))[:, None], part.codes, donors) for a in levels]
    gain, error = gain_of_pooling(part.codes, copies)
    assert gain > 20 * error


@pytest.mark.parametrize("levels", [LEVELS[:2], LEVELS])
def test_the_same_attacker_finds_what_independent_draws_give_away(
    levels: tuple[float, ...],
) -> None:
    part = related()
    rng = np.random.default_rng(3)
    copies = []
    for a in levels:
        kept = rng.random(ROWS) < 1 / (1 + a)
        copies.append(np.where(kept[:, None], part.codes, part.pool[rng.integers(0, 65_536, ROWS)]))
    gain, error = gain_of_pooling(part.codes, copies)
    assert gain > 20 * error
