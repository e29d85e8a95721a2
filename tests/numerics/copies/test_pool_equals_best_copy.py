"""Boosted trees find no more from two and four pooled copies, numbers and records, than from the best of them.

The share left is the squared error over the variance of the target; trees learn in one half of the rows and are judged
in the other. With more columns they overfit more: the pool may seem worse than the best copy alone. So the second
reference has as many columns: further copies that the attacker makes of the best. Of a Markov chain they follow the law
of the true ones, and trees find the same.

The control keeps a record or replaces it by one row of the table, the same in all copies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from app.numerics.copies.records import record_key, show_records
from app.numerics.copies.shapes.shape import shape_factor
from tests.numerics.copies.pooled import POOLS, TABLES, Copies, table, with_one_donor
from tests.numerics.copies.released import Numbers, Part

ATTEMPTS = 4
"""How often the attacker makes copies of the best: enough to see what trees differ by what they were trained on."""


def made_of_the_best(part: Part, applied: Sequence[float], best: Copies, attempt: int) -> Copies:
    """The best copy and further ones: noise of variance a - a_1, and records from s_1 = ln(1+a_1) on to s."""
    rng = np.random.default_rng([attempt, 4])
    key = record_key(bytes(32), hashlib.sha256(b"attacker %d" % attempt).digest())
    factor, path, before = shape_factor(part.shape), np.zeros_like(part.numbers), applied[0]
    made = Copies(list(best.numbers), list(best.records))
    for a in applied[1:]:
        path = path + np.sqrt(a - before) * rng.normal(size=path.shape)
        before = a
        codes = best.records[0].T.copy(order="C")
        further = (1 + a) / (1 + applied[0]) - 1
        show_records(codes, part.pool, further, key=key, start=0)
        made.numbers.append(best.numbers[0] + path @ factor.T)
        made.records.append(codes.T)
    return made


def shares_left(copies: Copies, target: Numbers) -> Numbers:
    """Of each row that trees have not learnt from."""
    records = copies.records
    agreeing = [(records[0] == other).sum(axis=1) for other in records[1:]]
    seen = np.column_stack([*records, *copies.numbers, *agreeing])
    half = len(target) // 2
    trees = HistGradientBoostingRegressor(
        max_iter=40,
        max_leaf_nodes=8,
        min_samples_leaf=100,
        categorical_features=np.arange(len(records) * records[0].shape[1]),
        early_stopping=False,
        random_state=0,
    )
    errors = target[half:] - trees.fit(seen[:half], target[:half]).predict(seen[half:])
    return np.asarray(errors**2 / target.var())


def in_standard_errors(left: Numbers, references: list[Numbers]) -> float:
    """How much less is left than of references, paired by rows; over the errors by rows and by training."""
    gains = np.mean(references, axis=0) - left
    by_rows = gains.std() / np.sqrt(len(gains))
    by_training = np.std(np.mean(references, axis=1), ddof=1) if len(references) > 1 else 0.0
    return float(gains.mean() / np.hypot(by_rows, by_training))


@dataclass(frozen=True)
class Gains:
    """What the pool leaves less than the best copy alone, and than copies made of it, in standard errors."""

    over_best: float
    over_made: float


def gains_of_pooling(
    part: Part, levels: Sequence[float], target: str, *, one_donor: bool = False
) -> Gains:
    applied = [part.applied(v) for v in levels]
    records = (
        with_one_donor(part.codes, part.codes, applied)
        if one_donor
        else [part.records(a) for a in applied]
    )
    pool = Copies(part.noisy(applied), records)
    first = part.codes[:, 0]
    hidden = part.numbers[:, 0] if target == "number" else first == np.bincount(first).argmax()
    truth = hidden.astype(np.float64)
    made = [made_of_the_best(part, applied, pool.best, attempt) for attempt in range(ATTEMPTS)]
    left = shares_left(pool, truth)
    return Gains(
        in_standard_errors(left, [shares_left(pool.best, truth)]),
        in_standard_errors(left, [shares_left(copies, truth) for copies in made]),
    )


@pytest.mark.parametrize("target", ["number", "category"])
@pytest.mark.parametrize("levels", POOLS)
@pytest.mark.parametrize("name", TABLES)
def test_a_pool_tells_trees_what_its_best_copy_tells(
    name: str, levels: tuple[float, ...], target: str
) -> None:
    gains = gains_of_pooling(table(name), levels, target)
    assert gains.over_best < 2
    assert abs(gains.over_made) < 2


@pytest.mark.parametrize("target", ["number", "category"])
@pytest.mark.parametrize("levels", POOLS)
@pytest.mark.parametrize("name", TABLES)
def test_the_same_trees_find_what_one_donor_for_all_copies_gives_away(
    name: str, levels: tuple[float, ...], target: str
) -> None:
    gains = gains_of_pooling(table(name), levels, target, one_donor=True)
    assert gains.over_best > 2
    assert gains.over_made > 2
