"""Rows that came together and lie elsewhere: which part a row came with tells that much of it.

A part's rows stand together in every copy, and the mean of many noisy rows has hardly any noise. So the noise
of a part hides what its rows have apart from each other, and where the part lies as a whole it cannot hide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.model import Notice
from app.numerics.moments import Moments
from app.service.copies.freezing.frozen import Frozen

FAR = 0.5
"""In spreads of the rows that the first copy was made of."""

SURE = 4.0
"""Standard errors of a mean: what is less may be chance."""


def drift_notices(frozen: Frozen, numbers: Sequence[str], moments: Moments) -> tuple[Notice, ...]:
    """A word on each number whose mean in these rows is far from the one that was frozen.

    `moments` are those of `numbers`.
    """
    places = {name: place for place, name in enumerate(numbers)}
    found = []
    for name, mean, variance in zip(frozen.numeric, frozen.means, frozen.variances, strict=True):
        place = places[name]
        count = int(moments.counts[place])
        if count == 0 or not variance > 0:
            continue
        away = abs(moments.means[place] - mean) / math.sqrt(variance)
        if away > max(FAR, SURE / math.sqrt(count)):
            found.append(Notice("rows-elsewhere", _sentence(name), column=name))
    return tuple(found)


def _sentence(name: str) -> str:
    return (
        f"In column {name!r} these rows lie elsewhere than the rows before them. Rows that came together stand"
        " together in every copy, so that a row's place tells that much of it: the promise is about what it has"
        " apart from the others of its part."
    )
