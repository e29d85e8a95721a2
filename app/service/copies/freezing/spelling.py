"""Codes as texts: a column of Arrow laid out in one go, without a look at every text.

A list of short texts is kept as words of eight bytes, so that a text is written by one or two stores.
Lists with longer ones are left to Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from app.numerics.arrays import Codes, Flags, Words
from app.numerics.copies.noise.steps import steps

WORD_BYTES = 8
LONGEST = 64
"""Bytes of a text from which on copying texts costs more than looking at each."""


@dataclass(frozen=True, repr=False)
class Spelling:
    """The texts that codes stand for.

    where:
        lengths  (k,) in bytes, 0 for a missing one
        letters  (k, w) their bytes, eight to a word, the first the lowest
        missing  (k,) which of them is missing
    """

    lengths: Words
    letters: Words
    missing: Flags

    @classmethod
    def of(cls, values: pa.Array) -> Self | None:
        """The spelling of a list of texts, None where they are no texts or too long."""
        if not pa.types.is_large_string(values.type):
            return None
        texts = [text or b"" for text in values.cast(pa.large_binary()).to_pylist()]
        longest = max(map(len, texts), default=0)
        if longest > LONGEST:
            return None
        width = max(WORD_BYTES, -(-longest // WORD_BYTES) * WORD_BYTES)
        padded = b"".join(text.ljust(width, b"\0") for text in texts)
        letters = np.frombuffer(padded, dtype="<u8").astype(np.uint64)
        return cls(
            lengths=np.array([len(text) for text in texts], dtype=np.uint64),
            letters=letters.reshape(len(texts), -1),
            missing=values.is_null().to_numpy(zero_copy_only=False),
        )

    def spelled(self, codes: Codes) -> pa.Array:
        """The column of texts that the codes stand for."""
        using = steps()
        rows = len(codes)
        offsets = pa.allocate_buffer(WORD_BYTES * (rows + 1))
        ends = np.frombuffer(offsets, dtype=np.int64)
        using.text_offsets(codes, self.lengths, ends)
        texts = pa.allocate_buffer(int(ends[-1]) + WORD_BYTES)
        using.text_bytes(
            codes, self.lengths, self.letters, ends, np.frombuffer(texts, dtype=np.uint8)
        )
        there = None
        if self.missing.any() and (missing := self.missing[codes]).any():
            there = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.Array.from_buffers(
            pa.large_string(), rows, [there, offsets, texts.slice(0, int(ends[-1]))]
        )
