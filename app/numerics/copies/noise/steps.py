"""Choice of functions for tiles of a copy: plain numpy until the compiled kernels are loaded.

Compiling takes seconds, loading what was compiled one. Nobody waits for either: both give the same
bits, and that is checked, on every segment of the table, before compiled ones are used at all.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.numerics.copies.noise import definition
from app.numerics.copies.noise.definition import Bytes, Codes, Offsets, Places
from app.numerics.copies.noise.keystream import WordArray
from app.numerics.copies.noise.normal_table import SEGMENTS, segment_bounds

FloatArray = NDArray[np.float64]


class Steps(Protocol):
    """The functions of `definition` by these names, for contiguous arrays."""

    def path_tile(
        self,
        words: WordArray,
        fresh_sd: float,
        lower: FloatArray | None,
        lower_weight: float,
        upper: FloatArray | None,
        upper_weight: float,
        out: FloatArray,
    ) -> None: ...

    def released_tile(
        self,
        path: FloatArray,
        weights: FloatArray,
        original: FloatArray,
        step: float,
        out: FloatArray,
    ) -> None: ...

    def earlier_events(
        self,
        words: WordArray,
        epoch: int,
        latest: float,
        first: float,
        donors: int,
        rows: Places,
        products: FloatArray,
        columns: Offsets,
        places: Codes,
    ) -> int: ...

    def show_cells(self, places: Codes, chosen: Places, pool: Codes, codes: Codes) -> None: ...

    def looked_up(self, places: Codes, codes: Codes, out: Codes) -> None: ...

    def text_offsets(self, codes: Codes, lengths: WordArray, offsets: Offsets) -> None: ...

    def text_bytes(
        self,
        codes: Codes,
        lengths: WordArray,
        letters: WordArray,
        offsets: Offsets,
        out: Bytes,
    ) -> None: ...


class KernelsDiffer(Exception):
    """The compiled functions do not give the bits of the definition on this processor."""


class CompiledSteps:
    """The functions of `kernels` and of `record_kernels`; making the first one compiles them, or
    loads them."""

    def __init__(self) -> None:
        from app.numerics.copies.noise import kernels, record_kernels

        self.earlier_events = record_kernels.earlier_events
        self.show_cells = record_kernels.show_cells
        self.looked_up = record_kernels.looked_up
        self.text_offsets = record_kernels.text_offsets
        self.text_bytes = record_kernels.text_bytes
        self._kernels = kernels
        self._table = definition.table()
        self._nobody = np.empty((0, 0))

    def path_tile(
        self,
        words: WordArray,
        fresh_sd: float,
        lower: FloatArray | None,
        lower_weight: float,
        upper: FloatArray | None,
        upper_weight: float,
        out: FloatArray,
    ) -> None:
        """`definition.path_tile`."""
        below = self._nobody if lower is None else lower
        above = self._nobody if upper is None else upper
        self._kernels.path_tile(
            words, self._table, fresh_sd, below, lower_weight, above, upper_weight, out
        )

    def released_tile(
        self,
        path: FloatArray,
        weights: FloatArray,
        original: FloatArray,
        step: float,
        out: FloatArray,
    ) -> None:
        """`definition.released_tile`."""
        self._kernels.released_tile(path, weights, original, step, out)


_in_use: list[Steps] = [definition]


def steps() -> Steps:
    """The fastest functions that are ready."""
    return _in_use[-1]


def compiled() -> bool:
    """Return whether `steps` answers with compiled functions."""
    return isinstance(steps(), CompiledSteps)


def compile_steps() -> None:
    """Make `steps` answer with compiled functions from now on.

    Raises KernelsDiffer, and leaves things as they are, when their bits are not the definition's.
    """
    made = CompiledSteps()
    if not agree(made, definition):
        raise KernelsDiffer("Compiled noise differs from its definition on this processor.")
    _in_use[:] = [made]


def border_words() -> WordArray:
    """Words of the smallest and the largest q of every segment that has one, both signs.

    q is an odd multiple of 2⁻⁵⁴, so that short segments at the far end of the tail have none.
    """
    bounds = np.array([segment_bounds(segment) for segment in range(SEGMENTS)])
    low, high = np.ceil(bounds * 2.0**54).T.astype(np.uint64)
    first, last = low | np.uint64(1), (high - np.uint64(1)) - (high & np.uint64(1))
    inside = first <= last
    odd = np.unique(np.concatenate([first[inside], last[inside]]))
    positive = odd << np.uint64(11)
    return np.concatenate([positive, positive | np.uint64(1)])


def agree(one: Steps, other: Steps) -> bool:
    """Return whether both give the same bits, for every segment, neighbourhood and kind of original."""
    words = border_words()
    words = words[: len(words) // 2 * 2].reshape(2, -1)
    original = np.linspace(-1e6, 1e6, words.shape[1])
    original[::7] = np.nan
    ends = [None, np.cos(words.astype(np.float64)), np.sin(words.astype(np.float64))]
    for lower in ends[:2]:
        for upper in (ends[0], ends[2]):
            made = []
            for each in (one, other):
                path, released = np.empty(words.shape), np.empty(words.shape[1])
                each.path_tile(words, 0.7, lower, 0.3, upper, 0.6, path)
                each.released_tile(path, np.array([1.1, -0.3]), original, 2.0**-18, released)
                made.append(path.tobytes() + released.tobytes())
            if made[0] != made[1]:
                return False
    return _shown(one) == _shown(other)


def _shown(using: Steps) -> list[bytes]:
    """Records kept, replaced and spelled: missing and unlisted values, texts of all lengths."""
    words = border_words()[:2_000] * np.uint64(0x9E3779B97F4A7C15)
    n = len(words) // 2
    own = (np.arange(2 * n, dtype=np.int32) % 20 - 1).reshape(2, n)
    products, places = np.ones(n), np.full((n, 4), definition.NO_EVENT, dtype=np.int32)
    rows, columns = np.arange(n, dtype=np.intp), definition.EPOCH * (1 + np.arange(n) % 2)
    pairs = words.reshape(n, 2)
    going = using.earlier_events(pairs, 2, 0.9, 0.2, 17, rows, products, columns, places)
    using.show_cells(places, np.arange(2), np.arange(34, dtype=np.int32).reshape(17, 2), own)
    codes, offsets = np.empty(n, dtype=np.int32), np.empty(n + 1, dtype=np.int64)
    using.looked_up(np.arange(20, dtype=np.int32)[::-1].copy(), np.abs(own[0]) % 20, codes)
    lengths = np.arange(20, dtype=np.uint64)
    letters = (np.arange(60, dtype=np.uint64) * words[-1]).reshape(20, 3)
    using.text_offsets(codes, lengths, offsets)
    texts = np.empty(offsets[-1] + 8, dtype=np.uint8)
    using.text_bytes(codes, lengths, letters, offsets, texts)
    return [
        rows[:going].tobytes(),
        columns.tobytes(),
        places[:, :-1].tobytes(),
        own.tobytes(),
        codes.tobytes(),
        offsets.tobytes(),
        texts[: offsets[-1]].tobytes(),
    ]
