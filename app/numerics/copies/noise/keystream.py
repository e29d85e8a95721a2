"""Words that nobody can predict and everybody with the secret can repeat for ever.

    draw key = HKDF-SHA256(input key = data set secret, no salt,
                           info = hash of the history entry ‖ digest of the part), 32 bytes
    counter  = block (8 bytes) ‖ column (4 bytes) ‖ ⌊offset / 2⌋ (4 bytes), each big-endian
    16 bytes = AES-256(key, counter): the keystream of CTR mode from that counter on
    word     = bytes 0-7 of them when offset is even, bytes 8-15 when it is odd, little-endian

A block is a row group of a part, and offset is the row within it. The counters of two columns or
two blocks never meet: a column of a block takes at most 2³² words of the 2³³ that its field holds.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

WordArray = NDArray[np.uint64]

KEY_BYTES = 32
WORD_BYTES = 8
MOST_COLUMNS = 2**32
MOST_WORDS = 2**32

_ZEROS = memoryview(bytes(2**19))  # encrypting zeros yields the keystream itself


def draw_key(secret: bytes, entry_hash: bytes, part_digest: bytes) -> bytes:
    """The key of what a history entry draws for one part, 32 bytes.

    It binds to the entry's hash, and through it to every entry before, and to the part's rows: the
    same draw never occurs under two histories, nor for other rows. Raises ValueError unless all
    three have 32 bytes.
    """
    if not len(secret) == len(entry_hash) == len(part_digest) == KEY_BYTES:
        raise ValueError("a secret, an entry's hash and a part's digest have 32 bytes each")
    info = entry_hash + part_digest
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


def keystream_words(
    key: bytes, block: int, column: int, count: int, *, first: int = 0
) -> WordArray:
    """The words of the offsets [first, first + count) of one column of one block."""
    words = np.empty(count, dtype=np.uint64)
    ColumnStream(key, block, column, first=first).fill(words)
    return words


class ColumnStream:
    """The words of one column of one block, in order of the offset, as many at a time as asked."""

    def __init__(self, key: bytes, block: int, column: int, *, first: int = 0) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError("a draw key has 32 bytes")
        if not (0 <= column < MOST_COLUMNS and 0 <= first < MOST_WORDS):
            raise ValueError("the counter has room for 2³² columns and 2³² words of each")
        counter = block.to_bytes(8, "big") + column.to_bytes(4, "big")
        counter += (first // 2).to_bytes(4, "big")
        self._stream: CipherContext = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
        if first % 2:  # the counter addresses pairs of words
            self._stream.update(bytes(WORD_BYTES))

    def fill(self, words: WordArray) -> None:
        """Write the next words to a contiguous array. The interpreter is let go meanwhile."""
        target = words.data.cast("B")
        for start in range(0, len(target), len(_ZEROS)):
            piece = target[start : start + len(_ZEROS)]
            self._stream.update_into(_ZEROS[: len(piece)], piece)
        if not words.dtype.isnative or _BIG_ENDIAN:
            words.byteswap(inplace=True)


_BIG_ENDIAN = np.dtype(np.uint64) != np.dtype("<u8")
