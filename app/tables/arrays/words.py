"""Cells as words of 64 bits, from which fingerprints are made: a double's bits, a keyed digest of a text.

Equal cells are equal words whatever format they came in. A missing cell is a word of its own, which
no value has: NaN is never a value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[np.uint64]

MISSING = np.uint64(0x7FF8000000000000)
WORD_BYTES = 8


def row_words(batch: pa.RecordBatch, names: Sequence[str], key: bytes) -> Words:
    """The cells of the columns named, (n, w); texts are digested under `key`."""
    words = np.empty((batch.num_rows, len(names)), np.uint64, order="F")
    for place, name in enumerate(names):
        words[:, place] = cell_words(batch.column(name), key)
    return words


def cell_words(cells: pa.Array, key: bytes) -> Words:
    """The cells of one column, (n,)."""
    if not pa.types.is_floating(cells.type):
        return _text_words(cells, key)
    values = cells.to_numpy(zero_copy_only=False) + 0.0  # -0 is 0
    words: Words = values.view(np.uint64)
    words[np.isnan(values)] = MISSING
    return words


def _text_words(cells: pa.Array, key: bytes) -> Words:
    coded = cells.dictionary_encode()
    digests = b"".join(_digest(text, key) for text in coded.dictionary.to_pylist())
    words = np.append(np.frombuffer(digests, "<u8").astype(np.uint64), MISSING)
    places = coded.indices.fill_null(len(coded.dictionary))
    return np.asarray(words[places.to_numpy(zero_copy_only=False)])


def _digest(text: str, key: bytes) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=WORD_BYTES, key=key).digest()
