"""Equivalence classes of records that the optimum treats alike.

Members of a group of V share their pattern, and a key-like attribute gives whole categories one
posterior. Records that agree in group, true category and posterior are one class with a size, which
removes exact ties from the search and leaves integers instead of zeros and ones.

| symbol | name | meaning |
|---|---|---|
| w_j | `size[j]` | records of class j |
| d_j(t, k) | `cost[k, j]` | cost (11) of a change to category k; infinite for k = t |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray, IntArray, Words
from app.numerics.swapping.problem import SwapProblem


@dataclass(frozen=True)
class Classes:
    """m classes of the n records. `cost` is (C, m): a category's costs lie side by side in memory.

    `order` lists the records class by class; class j is `order[start[j] : start[j] + size[j]]`.
    Classes stand in three parts, by how their group finds its cheapest changes: `unique` (U, unless
    it is a single class), `alone` (the only class of a group), `contested` (the others, ordered by
    group).
    """

    home: IntArray
    group: IntArray
    size: IntArray
    cost: FloatArray
    quota: IntArray
    order: IntArray
    start: IntArray
    unique: slice
    alone: slice
    contested: slice

    @property
    def categories(self) -> int:
        """C."""
        return int(self.cost.shape[0])


def classes_of(problem: SwapProblem) -> Classes:
    """The classes of a problem, by one sort of n hashed keys.

    Two records that are neighbours in the order of the hash are split unless they agree in full, so
    that a collision can only leave a class in two parts, which is harmless.
    """
    order = np.argsort(_hashed(problem), kind="stable")
    home, group = problem.home[order], problem.group[order]
    posterior = problem.posterior[order]
    differs = np.ones(len(order), dtype=bool)
    differs[1:] = (
        (home[1:] != home[:-1])
        | (group[1:] != group[:-1])
        | (posterior[1:] != posterior[:-1]).any(axis=1)
    )
    start = np.flatnonzero(differs)
    size = np.diff(start, append=len(order))
    group = group[start]

    crowd = np.bincount(group, minlength=len(problem.quota))
    part = np.where(crowd[group] == 1, 1, np.where(group == 0, 0, 2))
    rank = np.lexsort((group, part))
    first, second = np.searchsorted(part[rank], [1, 2])
    probability = np.ascontiguousarray(posterior[start[rank]].T)
    at_home = (home[start[rank]], np.arange(len(rank)))
    cost = probability[at_home] - probability
    cost[at_home] = np.inf
    return Classes(
        home=at_home[0],
        group=group[rank],
        size=size[rank],
        cost=cost,
        quota=problem.quota,
        order=order,
        start=start[rank],
        unique=slice(0, int(first)),
        alone=slice(int(first), int(second)),
        contested=slice(int(second), len(rank)),
    )


def _hashed(problem: SwapProblem) -> Words:
    """A 64-bit key per record of its group, true category and posterior (any odd factors serve)."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    key = (problem.group * problem.categories + problem.home).astype(np.uint64)
    for category in range(problem.categories):
        key *= factor
        key ^= key >> np.uint64(29)
        key += np.ascontiguousarray(problem.posterior[:, category]).view(np.uint64)
    return key * factor


def spread_over_records(classes: Classes, amounts: IntArray, rng: np.random.Generator) -> IntArray:
    """New values of the n records, given `amounts[k, j]`, how many of class j change to k.

    Which records of a class change is drawn: they are alike to the objective, and an order of the
    table that told them apart would undo the swap.
    """
    position = np.argsort(classes.start)
    index = np.repeat(position, classes.size[position])
    shuffled = classes.order[np.lexsort((rng.random(len(index)), classes.start[index]))]
    values = np.empty(len(index), dtype=np.int64)
    values[classes.order] = classes.home[index]
    begin = classes.start.copy()
    for category in range(classes.categories):
        amount = amounts[category]
        which = np.repeat(np.arange(len(amount)), amount)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(amount) - amount, amount)
        values[shuffled[begin[which] + rank]] = category
        begin += amount
    return values
