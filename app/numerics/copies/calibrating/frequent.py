"""Categories that so many rows can judge: where there are too many, the rare ones count as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import Codes, IntArray

LEAST = 16
"""Rows of a category below which an outlier among them would seem to be told by it."""


def judged_categories(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, list[int]]:
    """Codes (n, c) below `sizes` and their sizes, with at most (n-1)/2 effects.

    All of them where there are no more; otherwise the frequent ones, so that a column of very many values does not
    keep others from being judged.
    """
    counts = _counts(codes, sizes)
    effects = sum(max(int(np.count_nonzero(own)) - 1, 0) for own in counts)
    if 2 * effects <= len(codes) - 1:
        return codes, list(sizes)
    return frequent_categories(codes, sizes)


def frequent_categories(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, list[int]]:
    """The n/4 most frequent categories of all columns, as far as `LEAST` rows have them; of each column the others are one."""
    every = np.concatenate([np.empty(0, dtype=np.int64), *_counts(codes, sizes)])
    remains = np.zeros(len(every), dtype=bool)
    remains[np.argsort(-every, kind="stable")[: len(codes) // 4]] = True
    remains &= every >= LEAST
    found = np.empty_like(codes)
    fewer = []
    for place, own in enumerate(np.split(remains, np.cumsum(sizes)[:-1])[: len(sizes)]):
        places = np.where(own, np.cumsum(own) - 1, own.sum()).astype(np.int32)
        found[:, place] = places[codes[:, place]]
        fewer.append(int(own.sum()) + 1)
    return found, fewer


def _counts(codes: Codes, sizes: Sequence[int]) -> list[IntArray]:
    return [
        np.bincount(codes[:, place], minlength=size).astype(np.int64)
        for place, size in enumerate(sizes)
    ]
