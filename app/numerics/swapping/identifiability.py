"""Identifiability: records that their non-confidential attributes single out [li2004, definitions 1 and 2].

| symbol | name | meaning |
|---|---|---|
| x | `attributes` | J arrays of N integer codes, the non-confidential attributes |
| y | `confidential` | N integer codes, the confidential attribute |
| U | `status == UNIQUE` | records whose pattern x occurs once |
| V | `status == COLLECTIVE` | records whose pattern x occurs more than once, always with one y |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.numerics.arrays import IntArray

StatusArray = npt.NDArray[np.int8]

UNIDENTIFIABLE, UNIQUE, COLLECTIVE = 0, 1, 2
LARGEST_KEY = 2**62


@dataclass(frozen=True)
class Identifiability:
    """The status of each of N records, and the group of those in V.

    `group` numbers the groups of V from 0 in the order in which they first occur; -1 elsewhere.
    """

    status: StatusArray
    group: IntArray

    @property
    def unique(self) -> int:
        """|U|."""
        return int(np.count_nonzero(self.status == UNIQUE))

    @property
    def collective(self) -> int:
        """|V|."""
        return int(np.count_nonzero(self.status == COLLECTIVE))

    @property
    def groups(self) -> int:
        """G."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def identifiable(self) -> int:
        """|U| + |V|."""
        return self.unique + self.collective


def patterns(attributes: Sequence[IntArray], n: int) -> IntArray:
    """One integer key per record, equal exactly where all codes are equal. Shape (n,).

    The codes are digits of a number in mixed radix; when the number would outgrow 62 bits, the keys
    so far are numbered anew, of which there are at most n. With no attribute all records are alike.
    """
    key = np.zeros(n, dtype=np.int64)
    keys = 1
    for codes in attributes:
        lowest = int(codes.min(initial=0))
        radix = int(codes.max(initial=0)) - lowest + 1
        digit = codes - lowest
        if keys * radix >= LARGEST_KEY:
            key, keys = _numbered_anew(key)
        if keys * radix >= LARGEST_KEY:
            digit, radix = _numbered_anew(digit)
        key = key * radix + digit
        keys *= radix
    return key


def _numbered_anew(key: IntArray) -> tuple[IntArray, int]:
    values, dense = np.unique(key, return_inverse=True)
    return dense.astype(np.int64), len(values)


def identifiability(confidential: IntArray, attributes: Sequence[IntArray]) -> Identifiability:
    """The status of every record by [li2004, definition 2], in one sort of N keys.

    A record is identifiable when all records of its pattern x share one y; uniquely so when it is
    the only one, collectively otherwise. Raises ValueError when the arrays differ in length.
    """
    n = len(confidential)
    if any(codes.shape != (n,) for codes in attributes):
        raise ValueError("all attributes must have one code per record")
    if n == 0:
        return Identifiability(np.empty(0, dtype=np.int8), np.empty(0, dtype=np.int64))
    key = patterns(attributes, n)
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[order], prepend=key[order[0]] - 1))
    size = np.diff(start, append=n)
    value = confidential[order]
    alike = np.minimum.reduceat(value, start) == np.maximum.reduceat(value, start)

    kind = np.where(alike, np.where(size == 1, UNIQUE, COLLECTIVE), UNIDENTIFIABLE)
    # The sort is stable, so the first of each run is the first occurrence of its pattern.
    groups = np.flatnonzero(kind == COLLECTIVE)
    number = np.full(len(start), -1, dtype=np.int64)
    number[groups[np.argsort(order[start[groups]])]] = np.arange(len(groups))

    status = np.empty(n, dtype=np.int8)
    group = np.empty(n, dtype=np.int64)
    status[order] = np.repeat(kind, size)
    group[order] = np.repeat(number, size)
    return Identifiability(status, group)
