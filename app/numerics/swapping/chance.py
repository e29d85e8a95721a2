"""The random method of the published experiments: change as many, without a look at the rest [li2004].

Departs from nothing printed: the paper only says that new values are about proportional to the
original marginal. Here each changed record draws its new category k ≠ t with probability
N_k / Σ_{h ≠ t} N_h, independently.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import IntArray
from app.numerics.swapping.phase_one import drawn_members
from app.numerics.swapping.problem import Problem


def random_values(problem: Problem, marginal: IntArray, rng: np.random.Generator) -> IntArray:
    """Values of the n records after a random change that satisfies (C1) and (C2). Shape (n,).

    `marginal` holds N_k of the whole table, shape (C,).
    """
    values = problem.home.copy()
    of_unique = rng.permutation(np.flatnonzero(problem.group == 0))[: problem.quota[0]]
    chosen = np.concatenate([of_unique, drawn_members(problem, rng)])
    for category in range(problem.categories):
        leaving = chosen[problem.home[chosen] == category]
        weight = marginal.astype(np.float64)
        weight[category] = 0
        if len(leaving):
            values[leaving] = rng.choice(len(weight), len(leaving), p=weight / weight.sum())
    return values
