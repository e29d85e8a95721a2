"""Keyed fingerprints of rows, and k-minimum-values sketches that estimate the overlap of tables.

SipHash-2-4 [aumasson2012] gives a 64-bit fingerprint of some words, of many rows at once. Without the key a
fingerprint tells nothing of what it is of, not even whether a guess is right; with it equal rows, and for all
purposes only those, have equal fingerprints. Two of 10⁷ rows agree by chance once in 400,000 tables.

Sketches are those of [beyer2007]. Fingerprints are spread evenly whatever the rows are, so the smallest are a random
sample of the different rows, and the same rows are in the samples of two tables. Below the smaller of the largest
fingerprints kept, both sketches know every row of their tables: there rows are compared exactly.

| here | meaning |
|---|---|
| k | `SIZE`, how many fingerprints are kept |
| τ | the largest fingerprint that both sketches would have kept |
| c_A(f), c_B(f) | how often f occurs in each table |
| share | Σ_{f ≤ τ} min(c_A, c_B) over the smaller of Σ_{f ≤ τ} c_A and Σ_{f ≤ τ} c_B |
| m | the largest c_A(f) among the f that both have |
| alike | Σ c_A over 1 < c_A ≤ m + 1, over Σ c_A: how likely a further row of A is to equal one that has come m times at most |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from app.numerics.arrays import IntArray, Words

KEY_BYTES = 16
TILE = 8_192
"""Rows that go through all rounds together: what they touch stays next to the core."""

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_FINAL = np.uint64(0xFF)
_LENGTH_PLACE = 56


def fingerprints(key: bytes, words: Words) -> Words:
    """SipHash-2-4 of each row of `words` (n, w), as a message of 8·w bytes, little-endian; (n,)."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key of fingerprints has {KEY_BYTES} bytes")
    found = np.empty(len(words), np.uint64)
    for start in range(0, len(words), TILE):
        found[start : start + TILE] = _tile(key, words[start : start + TILE])
    return found


def _tile(key: bytes, words: Words) -> Words:
    n, w = words.shape
    halves = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    state = [np.full(n, one ^ halves[i % 2], np.uint64) for i, one in enumerate(_START)]
    spare = np.empty(n, np.uint64)
    length = np.uint64((8 * w % 256) << _LENGTH_PLACE)
    for block in [*words.T, length]:
        state[3] ^= block
        _round(state, spare)
        _round(state, spare)
        state[0] ^= block
    state[2] ^= _FINAL
    for _ in range(4):
        _round(state, spare)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _round(state: list[Words], spare: Words) -> None:
    """One SipRound, in place."""
    a, b, c, d = state
    a += b
    _rotate(b, 13, spare)
    b ^= a
    _rotate(a, 32, spare)
    c += d
    _rotate(d, 16, spare)
    d ^= c
    a += d
    _rotate(d, 21, spare)
    d ^= a
    c += b
    _rotate(b, 17, spare)
    b ^= c
    _rotate(c, 32, spare)


def _rotate(word: Words, places: int, spare: Words) -> None:
    np.right_shift(word, np.uint64(64 - places), out=spare)
    np.left_shift(word, np.uint64(places), out=word)
    word |= spare


SIZE = 8_192
LARGEST = np.uint64(2**64 - 1)


@dataclass(frozen=True, repr=False)
class Sketch:
    """The smallest fingerprints of a table, ascending, and how often each occurs.

    where:
        whole  nothing was left out: these are all fingerprints that the table has
    """

    fingerprints: Words
    counts: IntArray
    whole: bool

    @classmethod
    def none(cls) -> Sketch:
        """Sketch of no rows."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.int64), True)

    @property
    def reach(self) -> np.uint64:
        """Up to here every fingerprint of the table is in the sketch."""
        return LARGEST if self.whole else np.uint64(self.fingerprints[-1])


@dataclass(frozen=True)
class Overlap:
    """Overlap of two sketches.

    where:
        share  of the rows of the smaller table, those that the other has too
        rows   how many rows of the smaller table were compared: its share has a standard error of
               √(share·(1-share)/rows)
    """

    share: float
    rows: int


def with_rows(known: Sketch, fingerprints: Words) -> Sketch:
    """The sketch of the rows known and of further ones."""
    near = fingerprints if known.whole else fingerprints[fingerprints <= known.reach]
    distinct, counts = np.unique(near, return_counts=True)
    return merged(known, Sketch(distinct, counts.astype(np.int64), True))


def merged(first: Sketch, second: Sketch) -> Sketch:
    """The sketch of the rows of both; the same as if all had come at once."""
    reach = min(first.reach, second.reach)
    together = np.concatenate([first.fingerprints, second.fingerprints])
    distinct, place = np.unique(together, return_inverse=True)
    counts = np.zeros(len(distinct), np.int64)
    np.add.at(counts, place, np.concatenate([first.counts, second.counts]))
    kept = min(SIZE, int(np.searchsorted(distinct, reach, side="right")))
    whole = first.whole and second.whole and len(distinct) <= SIZE
    return Sketch(distinct[:kept], counts[:kept], whole)


def overlap(first: Sketch, second: Sketch) -> Overlap:
    """The share of the smaller table's rows that both tables have."""
    reach = min(first.reach, second.reach)
    first_near = first.fingerprints <= reach
    second_near = second.fingerprints <= reach
    _, ours, theirs = np.intersect1d(
        first.fingerprints[first_near],
        second.fingerprints[second_near],
        assume_unique=True,
        return_indices=True,
    )
    both = int(np.minimum(first.counts[ours], second.counts[theirs]).sum())
    rows = min(int(first.counts[first_near].sum()), int(second.counts[second_near].sum()))
    return Overlap(both / rows if rows else 0.0, rows)


@dataclass(frozen=True)
class RepeatedRows:
    """Rows that come to a table which has them already.

    where:
        share      of the rows that come, those that the table has
        alike      the share that would be so by nature
        by_chance  how likely so many different rows are to be alike by nature; a row that comes many
                   times at once counts once, since such rows may well come together
    """

    share: float
    alike: float
    by_chance: float


def repeats(known: Sketch, coming: Sketch) -> RepeatedRows:
    """Return how many of the rows that come the table has, beside how many it would have by nature.

    The rows of the table are taken for draws from what the coming ones are drawn from. Then of those that have come
    m times or less a further row is one with the probability `alike`: each row left out in turn is a further row, and
    equals one that has come c - 1 times where its own fingerprint has come c times.
    """
    reach = min(known.reach, coming.reach)
    near = coming.fingerprints <= reach
    rows, times = coming.fingerprints[near], coming.counts[near]
    _, there, again = np.intersect1d(
        known.fingerprints, rows, assume_unique=True, return_indices=True
    )
    if not len(again):
        return RepeatedRows(0.0, 0.0, 1.0)
    most = known.counts[there].max()
    alike = known.counts[(known.counts > 1) & (known.counts <= most + 1)].sum() / known.counts.sum()
    # P(at least so many of n), n independent draws.
    by_chance = special.bdtrc(len(again) - 1, len(rows), alike)
    return RepeatedRows(float(times[again].sum() / times.sum()), float(alike), float(by_chance))


def with_new(known: Sketch, coming: Sketch) -> Sketch:
    """As `merged`, but rows that were known count no more often than before."""
    together = merged(known, coming)
    counts = together.counts.copy()
    kept = np.isin(known.fingerprints, together.fingerprints)
    counts[np.isin(together.fingerprints, known.fingerprints)] = known.counts[kept]
    return Sketch(together.fingerprints, counts, together.whole)
