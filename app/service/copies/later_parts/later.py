"""What is known of the rows since the first copy, for the parts to come: it lies beside the newest shape.

Noise is not bound to it. It decides what is accepted, and which shape a part to come gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, count, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.model import Part
from app.numerics.arrays import FloatArray
from app.numerics.copies.shapes.covering.small_parts import SmallParts
from app.numerics.copies.shapes.covering.windows import Windows

FRESH = 8
"""Parts are judged again when an eighth of their rows is new: every row is read so often, not with each append."""


@dataclass(frozen=True, repr=False)
class Later:
    """Small parts, and parts that are still to be judged together with others.

    where:
        small  all small parts since the first copy, in the measure of the newest shape
        last   the newest of their rows, by windows, in the same measure
        since  number of the first part that is still to be judged together with others
        asked  number after the newest of them that was judged with those before it
    """

    small: SmallParts
    last: Windows
    since: int
    asked: int

    @classmethod
    def read(cls, kept: Mapping[str, NDArray[Any]], d: int, part: int) -> Later:
        """Of what lies beside the shape of this part; nothing is known with the first copy."""
        small = SmallParts.none(d)
        if "squares" in kept:
            counted = kept.get("counted", kept["expected"])  # what was kept before has none
            small = SmallParts(kept["squares"], kept["expected"], counted, float(kept["largest"]))
        last = Windows.empty(d)
        if "last_squares" in kept:  # nor windows
            last = Windows(kept["last_squares"], kept["last_counted"])
        if "since" not in kept:
            return cls(small, last, part + 1, part + 1)
        return cls(small, last, int(kept["since"]), int(kept["asked"]))

    def arrays(self) -> dict[str, Any]:
        """What `read` reads."""
        last = {f"last_{name}": value for name, value in asdict(self.last).items()}
        numbers = {"since": np.int64(self.since), "asked": np.int64(self.asked)}
        return {**asdict(self.small), **last, **numbers}

    def under(self, before: FloatArray, after: FloatArray) -> Later:
        """The same in the measure of another shape; L of both."""
        small, last = self.small.under(before, after), self.last.under(before, after)
        return replace(self, small=small, last=last)

    def judging(
        self, before: Sequence[Part], new: Sequence[Part], least: int, enough: int
    ) -> tuple[list[list[Part]], Later]:
        """The parts to be judged together now that these come, in perhaps several sets, and what is known then.

        Parts of `enough` rows are judged alone, and others no more once so many were judged together. Fewer
        than `least` tell nothing yet. Among many that tell nothing more the newest that do would hardly be seen, so these are
        judged by themselves too: the newest 1, 2, 4, … times `least` rows, each time that half as many have come.
        """
        old = [one for one in before if one.number >= self.since and _awaits(one, enough)]
        old = [one for one in old if one not in new]
        fresh = [one for one in new if one.rows < enough]
        judged = _rows(one for one in old if one.number < self.asked)
        together = [*old, *fresh]
        rows = _rows(together)
        if not fresh or rows < least:
            return [], self
        lengths = takewhile(lambda length: length < rows, (least * 2**k for k in count()))
        newest = [
            _newest(together, length)
            for length in lengths
            if 2 * rows // length > 2 * _rows(old) // length
        ]
        if FRESH * (rows - judged) < judged:
            return _different(newest), self
        asked = max(one.number for one in new) + 1
        since = asked if rows >= enough else self.since
        return _different([*newest, together]), replace(self, since=since, asked=asked)


def _newest(parts: Sequence[Part], rows: int) -> list[Part]:
    """As many of the last parts as have so many rows."""
    together = accumulate(part.rows for part in reversed(parts))
    return list(parts[-1 - sum(1 for so_far in together if so_far < rows) :])


def _different(sets: Sequence[list[Part]]) -> list[list[Part]]:
    """Each once: all are the last parts of one list."""
    return list({len(one): one for one in sets}.values())


def _awaits(part: Part, enough: int) -> bool:
    return not part.waiting and part.rows < enough


def _rows(parts: Iterable[Part]) -> int:
    return sum(part.rows for part in parts)
