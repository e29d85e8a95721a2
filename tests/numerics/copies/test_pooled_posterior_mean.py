"""The posterior mean finds no more from two and four pooled copies, numbers and records, than from the best of them.

The prior are the table's own rows, the row itself left out. What the attacker knows of the copies together is not
derived but observed: the joint covariance of their noise, and how often a record is shown as in the best copy and the
same or not in each two of them. Both are taken from copies of other rows under other draws, so that the same attacker
finds whatever a scheme gives away.

The controls: a record kept or replaced by one row of the table, the same in all copies; noise drawn anew for each copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.records import record_key, show_records
from app.numerics.copies.shapes.shape import shape_factor
from tests.numerics.copies.pooled import POOLS, TABLES, Copies, table, with_one_donor
from tests.numerics.copies.released import Codes, Numbers, Part

PRIOR, ATTACKED, OBSERVED = 4_000, 2_000, 400_000
DRAWS = 16
COLUMNS = {"census": [1, 4], "iris": [0, 1], "profiles": [0, 1]}
"""Categorical columns that together have few states, whose joint channel can be observed."""

Records = Callable[[Codes, Part, Sequence[float], int], list[Codes]]
Noise = Callable[[Part, Sequence[float], int], Numbers]


def jump_process(codes: Codes, part: Part, applied: Sequence[float], seed: int) -> list[Codes]:
    """Records as the service shows them."""
    key = record_key(bytes(32), hashlib.sha256(b"pooled %d" % seed).digest())
    found = []
    for a in applied:
        shown = codes.T.copy(order="C")
        show_records(shown, part.pool, a, key=key, start=0)
        found.append(shown.T)
    return found


def one_donor(codes: Codes, part: Part, applied: Sequence[float], seed: int) -> list[Codes]:
    """Records by one uniform and one row of the table for all copies."""
    return with_one_donor(codes, part.codes, applied, seed)


def one_path(part: Part, applied: Sequence[float], seed: int) -> Numbers:
    """Noise of all copies (copies, n, d), of one Brownian path."""
    rng = np.random.default_rng(seed)
    steps = np.sqrt(np.diff(applied, prepend=0.0))[:, None, None]
    steps = steps * rng.normal(size=(len(applied), *part.numbers.shape))
    return np.asarray(np.cumsum(steps, axis=0) @ shape_factor(part.shape).T)


def noise_of_each(part: Part, applied: Sequence[float], seed: int) -> Numbers:
    """The same, drawn anew for each copy."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(len(applied), *part.numbers.shape))
    return np.asarray(np.sqrt(applied)[:, None, None] * drawn @ shape_factor(part.shape).T)


@cache
def few_states(name: str) -> Part:
    whole = table(name)
    return Part(whole.numbers, whole.codes[:, COLUMNS[name]])


def states(codes: Codes, sizes: Sequence[int]) -> NDArray[np.intp]:
    return np.asarray(np.ravel_multi_index(list(codes.T), sizes))


def appearances(records: list[Codes], sizes: Sequence[int]) -> NDArray[np.intp]:
    """What a row shows: its state in the best copy, and which two copies agree; one number."""
    shown = [states(copy, sizes) for copy in records]
    found = shown[0]
    for one, other in combinations(shown, 2):
        found = 2 * found + (one == other)
    return found


@dataclass(frozen=True)
class Attacker:
    """What is known of the copies together.

    where:
        noise    covariance of the noise of all copies, copy by copy, (k·d, k·d)
        channel  log of the chance of each appearance given the own state, (states, appearances)
    """

    noise: Numbers
    channel: Numbers

    @classmethod
    def of(
        cls, part: Part, applied: Sequence[float], draw_records: Records, draw_noise: Noise
    ) -> Attacker:
        drawn = draw_noise(part, applied, 8)
        own = part.codes[np.random.default_rng(9).integers(0, len(part.codes), OBSERVED)]
        shown = appearances(draw_records(own, part, applied, 10), part.sizes)
        width = int(np.prod(part.sizes)) << (len(applied) * (len(applied) - 1) // 2)
        size = int(np.prod(part.sizes))
        counts = np.bincount(states(own, part.sizes) * width + shown, minlength=size * width)
        chances = counts.reshape(size, width) + 1e-3
        return cls(
            np.cov(np.concatenate(list(drawn), axis=1).T),
            np.log(chances / chances.sum(axis=1, keepdims=True)),
        )

    def guesses(self, part: Part, copies: Copies, targets: Numbers) -> Numbers:
        """Posterior mean of the targets (n, t) of the first rows, of the first rows of the table as prior."""
        k = len(copies.numbers)
        inverse = np.linalg.inv(np.linalg.cholesky(self.noise)).T
        own = np.tile(part.numbers[:PRIOR], k) @ inverse
        seen = np.concatenate([copy[:ATTACKED] for copy in copies.numbers], axis=1) @ inverse
        shown = appearances([copy[:ATTACKED] for copy in copies.records], part.sizes)
        logs = seen @ own.T - 0.5 * (own**2).sum(axis=1)
        logs += self.channel[:, shown].T[:, states(part.codes[:PRIOR], part.sizes)]
        np.fill_diagonal(logs, -np.inf)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights @ targets[:PRIOR] / weights.sum(axis=1, keepdims=True))


class Gains(NamedTuple):
    """How much less the pool leaves than the best copy, in standard errors: of numbers, and of the first category."""

    numbers: float
    category: float


def gains_of_pooling(
    part: Part,
    levels: Sequence[float],
    draw_records: Records = jump_process,
    draw_noise: Noise = one_path,
    seed: int = 0,
) -> Gains:
    """What the pool gains by these schemes of records and of noise."""
    applied = [part.applied(v) for v in levels]
    records = draw_records(part.codes, part, applied, 100 * seed + 1)
    copies = Copies(list(part.numbers + draw_noise(part, applied, 100 * seed + 2)), records)
    first = part.codes[:, 0]
    common = first == np.bincount(first).argmax()
    targets = np.column_stack([part.numbers, common.astype(np.float64)])
    left = []
    for levels_seen, seen in ((applied[:1], copies.best), (applied, copies)):
        attacker = Attacker.of(part, levels_seen, draw_records, draw_noise)
        guesses = attacker.guesses(part, seen, targets)
        shares = (guesses - targets[:ATTACKED]) ** 2 / targets.var(axis=0)
        left.append(np.column_stack([shares[:, :-1].mean(axis=1), shares[:, -1]]))
    gains = left[0] - left[1]
    return Gains(*(gains.mean(axis=0) / (gains.std(axis=0) / np.sqrt(len(gains)))))


@pytest.mark.parametrize("levels", POOLS)
@pytest.mark.parametrize("name", TABLES)
def test_a_pool_tells_the_posterior_mean_what_its_best_copy_tells(
    name: str, levels: tuple[float, ...]
) -> None:
    gains = gains_of_pooling(few_states(name), levels)
    assert abs(gains.numbers) < 2
    assert abs(gains.category) < 2


@pytest.mark.slow
@pytest.mark.parametrize("levels", POOLS)
@pytest.mark.parametrize("name", TABLES)
def test_over_many_draws_a_pool_gains_nothing_either(name: str, levels: tuple[float, ...]) -> None:
    """It loses a little: the law of four copies is observed less exactly than that of one."""
    gains = [gains_of_pooling(few_states(name), levels, seed=seed) for seed in range(1, DRAWS + 1)]
    assert np.sum(gains, axis=0).max() < 2 * np.sqrt(DRAWS)
    assert np.abs(np.mean(gains, axis=0)).max() < 2


@pytest.mark.parametrize("levels", POOLS)
@pytest.mark.parametrize("name", TABLES)
def test_the_same_attacker_finds_what_one_donor_for_all_copies_gives_away(
    name: str, levels: tuple[float, ...]
) -> None:
    gains = gains_of_pooling(few_states(name), levels, one_donor)
    assert gains.numbers > 2
    assert gains.category > 2


@pytest.mark.parametrize("levels", POOLS)
@pytest.mark.parametrize("name", TABLES)
def test_the_same_attacker_finds_what_noise_of_each_copy_gives_away(
    name: str, levels: tuple[float, ...]
) -> None:
    assert gains_of_pooling(few_states(name), levels, draw_noise=noise_of_each).numbers > 2
