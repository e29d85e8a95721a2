"""Totals that keep their distribution: parts change places until the sums fall as the original's do.

A total is computed back from its parts (`identities`). Each part has its own distribution exactly, and their sum
has what their dependence makes of it, which a synthesis keeps only nearly. So a part's values change places, hardly
any far: the total that a record should have by its rank is taken, and the part's values are given out in the
order of what the record would need for it. No column but the total changes its values for that. Columns that are
mostly equal to a part go where it goes.

| symbol | name here | meaning |
| --- | --- | --- |
| x_t = c + Σ w_k·x_k | `Identity` | t the total, k its parts |
| T_(1) ≤ … ≤ T_(m) | `wanted` | the original's total, at as many ranks as there are synthetic records |
| x_k + (T − x_t)/w_k | | what a record would need in part k for the total of its rank |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.synthesis.stratified.identities import Identity
from app.numerics.utility.distances import kolmogorov_smirnov

MOST_APART = 0.01
"""Kolmogorov-Smirnov distance that a total may have from the original's."""

MOST_STEPS = 10


def balanced(
    values: FloatArray,
    original: FloatArray,
    found: Sequence[Identity],
    together: Mapping[int, Sequence[int]],
) -> FloatArray:
    """`values` (m, p), parts without a missing cell, with the totals of `found` distributed as in `original` (n, p).

    `together` says of a part which columns move with it, itself among them. Of all steps the one stays whose worst total is closest: where the
    parts cannot make the distribution, or there are too few records for it, that may be the first.
    """
    made, best = values.copy(), values
    least = _worst(values, original, found)
    for _ in range(MOST_STEPS):
        if least <= MOST_APART:
            break
        for identity in found:
            for part, weight in identity.weights:
                given, taken = _moved(made, original, identity, part, weight)
                columns = np.array(together.get(part, (part,)))
                made[np.ix_(taken, columns)] = made[np.ix_(given, columns)]
        apart = _worst(made, original, found)
        if apart < least:
            best, least = made.copy(), apart
    return best


def _worst(values: FloatArray, original: FloatArray, found: Sequence[Identity]) -> float:
    """The largest distance of a total from the original's."""
    return max(kolmogorov_smirnov(_known(original, each), each.computed(values)) for each in found)


def _known(original: FloatArray, identity: Identity) -> FloatArray:
    total = original[:, identity.total]
    return total[~np.isnan(total)]


def _moved(
    values: FloatArray,
    original: FloatArray,
    identity: Identity,
    part: int,
    weight: float,
) -> tuple[Places, Places]:
    """Records, (m,), by what they have in the part and by what they need there for the total of their rank."""
    total, known = identity.computed(values), np.sort(_known(original, identity))
    m = total.size
    wanted = np.empty(m)
    wanted[np.argsort(total, kind="stable")] = known[(np.arange(m) * 2 + 1) * known.size // (2 * m)]
    needed = values[:, part] + (wanted - total) / weight
    return np.argsort(values[:, part], kind="stable"), np.argsort(needed, kind="stable")
