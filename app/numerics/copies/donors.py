"""Donors of categorical records: synthetic records drawn from a tree of pair counts.

The model is a Chow–Liu tree: the spanning tree of the columns with the most mutual information. What is
kept of the rows are counts of values, and of pairs of values along the tree's edges. They can be merged over
parts. A donor is drawn from the root outwards; given the parent's value x, a column has value y with weight

    N_xy + (N_x - Σ_y N_xy)·r_y/Σr + 5·m_y/Σm,     r_y = m_y - Σ_x N_xy,

N_xy and m_y being 0 where they are below 5: what fewer than five rows have in common is drawn apart, so that each
column keeps its law, and a little of the marginal law is mixed in. Integers only: the pool is made again from the
counts whenever it is needed, the same on every processor.

| here | meaning |
|---|---|
| code | a value's place in its column's list of values, a missing one among them |
| N_x, N_xy | rows with the parent's value x, and with both values |
| m_y | rows with value y |

Bibliography: C. Chow and C. Liu, "Approximating discrete probability distributions with dependence trees",
IEEE Transactions on Information Theory 14(3), 1968.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from app.numerics.arrays import Codes, Flags, IntArray, Words
from app.numerics.copies.association import pair_counts
from app.numerics.copies.noise.keystream import KEY_BYTES, keystream_words
from app.numerics.copies.records import MOST_DONORS, UNLISTED

RECIPE = "chow-liu-donors-v1"

FEWEST_ROWS = 5
"""Rows that a value, or a pair of values, needs to be drawn."""

NO_PARENT = -1
STRUCTURE_CELLS = 2**28
"""Pairs of cells looked at for the tree: seconds, however many columns there are."""


def donor_key(secret: bytes, protection_hash: bytes) -> bytes:
    """The key of a pool, 32 bytes; it binds to all that the pool is made of."""
    if not len(secret) == len(protection_hash) == KEY_BYTES:
        raise ValueError("a secret and a hash have 32 bytes each")
    info = RECIPE.encode() + b"\0" + protection_hash
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


@dataclass(frozen=True, eq=False)
class DonorCounts:
    """How many rows have each value, and each pair of values along the tree.

    where:
        parents  of each column its parent in the tree, NO_PARENT of a root; c of them
        values   of each column the rows by code
        pairs    of each column (3, e): codes of the parent, own codes, and rows that have both
    """

    parents: tuple[int, ...]
    values: tuple[IntArray, ...]
    pairs: tuple[IntArray, ...]

    @classmethod
    def of(cls, codes: Codes, sizes: Sequence[int], tree: tuple[int, ...] | None = None) -> Self:
        """The counts of records, codes (n, c) below `sizes`, with the tree of earlier ones or their own."""
        columns = np.ascontiguousarray(codes.T)
        parents = _chow_liu(columns, sizes) if tree is None else tree
        return cls(
            parents,
            tuple(
                np.bincount(own, minlength=size) for own, size in zip(columns, sizes, strict=True)
            ),
            tuple(
                np.empty((3, 0), dtype=np.int64)
                if parent == NO_PARENT
                else pair_counts(columns[parent], columns[j], sizes[parent], sizes[j])
                for j, parent in enumerate(parents)
            ),
        )

    def merged(self, other: DonorCounts) -> DonorCounts:
        """Counts of both sets of records; lists of values only grow at their end."""
        if self.parents != other.parents:
            raise ValueError("counts of one tree can be merged")
        return DonorCounts(
            self.parents,
            tuple(_sum(*both) for both in zip(self.values, other.values, strict=True)),
            tuple(_merged_pairs(*both) for both in zip(self.pairs, other.pairs, strict=True)),
        )

    @property
    def listed(self) -> tuple[Flags, ...]:
        """Values of each column that a copy may show: those of at least five rows."""
        return tuple(np.asarray(rows >= FEWEST_ROWS) for rows in self.values)

    def arrays(self) -> dict[str, IntArray]:
        """All of it by name, to be stored."""
        found = {"parents": np.array(self.parents, dtype=np.int64)}
        for j, (values, pairs) in enumerate(zip(self.values, self.pairs, strict=True)):
            found |= {f"values {j}": values, f"pairs {j}": pairs}
        return found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, IntArray]) -> Self:
        """The inverse of `arrays`."""
        parents = tuple(arrays["parents"].tolist())
        values, pairs = (
            tuple(np.asarray(arrays[f"{name} {j}"], dtype=np.int64) for j in range(len(parents)))
            for name in ("values", "pairs")
        )
        return cls(parents, values, pairs)


def donor_pool(counts: DonorCounts, key: bytes, size: int = MOST_DONORS) -> Codes:
    """Synthetic records, codes (size, c), a column contiguous.

    A column in which no value has five rows is UNLISTED throughout.
    """
    pool = np.empty((size, len(counts.parents)), dtype=np.int32, order="F")
    for j in _from_the_roots(counts.parents):
        words = keystream_words(key, 0, j, size)
        parent = counts.parents[j]
        pool[:, j] = (
            _by_counts(words, _enough(counts.values[j]))
            if parent == NO_PARENT
            else _by_parent(
                words, pool[:, parent], counts.values[parent], counts.values[j], counts.pairs[j]
            )
        )
    return pool


def _by_counts(words: Words, counts: IntArray) -> Codes:
    """Codes drawn by these counts, one to a word."""
    ends = np.cumsum(counts)
    if not len(ends) or not ends[-1]:
        return np.full(len(words), UNLISTED, dtype=np.int32)
    places = (words % np.uint64(ends[-1])).astype(np.int64)
    return np.searchsorted(ends, places, side="right").astype(np.int32)


def _by_parent(
    words: Words, parents: Codes, parent_rows: IntArray, rows: IntArray, pairs: IntArray
) -> Codes:
    """The same given the parent's code of each, by the weights above.

    The word modulo N_x + 5 chooses a pair, the rest or the marginal law, and the quotient within the last two.
    """
    rows = _enough(rows)
    if (parents == UNLISTED).any() or not rows.any():
        return _by_counts(words, rows)
    above, own, count = pairs[:, pairs[2] >= FEWEST_ROWS]
    in_pairs = np.bincount(above, count, len(parent_rows)).astype(np.int64)[parents]
    rest = rows - np.bincount(own, count, len(rows)).astype(np.int64)
    within, place = np.divmod(words, (parent_rows[parents] + FEWEST_ROWS).astype(np.uint64))
    place = place.astype(np.int64)
    found = np.where(
        (place < parent_rows[parents]) & rest.any(),
        _by_counts(within, rest),
        _by_counts(within, rows),
    )
    paired = place < in_pairs
    firsts = np.concatenate([[0], np.cumsum(np.bincount(above, count, len(parent_rows)))])
    at = firsts[parents[paired]].astype(np.int64) + place[paired]
    found[paired] = own[np.searchsorted(np.cumsum(count), at, side="right")]
    return found


def _enough(rows: IntArray) -> IntArray:
    """The counts of at least five rows, 0 for the others."""
    return np.where(rows >= FEWEST_ROWS, rows, 0)


def _chow_liu(columns: Codes, sizes: Sequence[int]) -> tuple[int, ...]:
    """The parent of each column in the tree of most mutual information.

    Of each pair it is taken less its expectation for columns that tell nothing of each other, and pairs that do
    not exceed it have no edge.
    """
    c = len(columns)
    rows = columns[:, : STRUCTURE_CELLS // max(c * c, 1)]
    edges = [
        (j, k, told)
        for j, k in combinations(range(c), 2)
        if (told := _mutual_information(pair_counts(rows[j], rows[k], sizes[j], sizes[k]))) > 0
    ]
    parents = [NO_PARENT] * c
    if edges:
        ends, others, shared = (np.array(each) for each in zip(*edges, strict=True))
        tree = minimum_spanning_tree(coo_matrix((-shared, (ends, others)), shape=(c, c)).tocsr())
        seen = np.zeros(c, dtype=bool)
        for root in range(c):
            if not seen[root]:
                reached, before = breadth_first_order(tree, root, directed=False)
                seen[reached] = True
                for j in reached[1:].tolist():
                    parents[j] = int(before[j])
    return tuple(parents)


def _mutual_information(pairs: IntArray) -> float:
    """Mutual information of two columns in nats, less its bias by chance: (cells - values - values + 1)/2n."""
    first, second, count = pairs
    n = count.sum()
    if not n:
        return 0.0
    ones, others = np.bincount(first, count), np.bincount(second, count)
    told = (count * np.log(count * (n / (ones[first] * others[second])))).sum()
    free = len(count) - np.count_nonzero(ones) - np.count_nonzero(others) + 1
    return float((told - free / 2) / n)


def _merged_pairs(one: IntArray, other: IntArray) -> IntArray:
    together = np.hstack([one, other])
    found, places = np.unique(together[:2], axis=1, return_inverse=True)
    count = np.bincount(places.ravel(), together[2], found.shape[1]).astype(np.int64)
    return np.vstack([found, count])


def _sum(one: IntArray, other: IntArray) -> IntArray:
    found = np.zeros(max(len(one), len(other)), dtype=np.int64)
    found[: len(one)] += one
    found[: len(other)] += other
    return found


def _from_the_roots(parents: tuple[int, ...]) -> list[int]:
    """The columns, each after its parent."""
    order = [j for j, parent in enumerate(parents) if parent == NO_PARENT]
    for above in order:
        order += [j for j, parent in enumerate(parents) if parent == above]
    return order
