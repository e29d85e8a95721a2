"""AES-256-CTR keystream: pseudorandom words addressed by secret, part, row and column.

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
Places = NDArray[np.intp]
Columns = NDArray[np.int64]

KEY_BYTES = 32
WORD_BYTES = 8
COUNTER_BYTES = 16
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
    Keystream(key).fill(words, block, column, first=first)
    return words


class Keystream:
    """The words of one key, wherever they are asked for; for one thread at a time.

    Making one costs as much as some thousand words: whoever draws many columns keeps it.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError("a draw key has 32 bytes")
        anywhere = modes.CTR(bytes(COUNTER_BYTES))
        self._stream: CipherContext = Cipher(algorithms.AES(key), anywhere).encryptor()
        counters = modes.ECB()  # noqa: S305 - of counters, each once: CTR mode, at chosen places
        self._counters: CipherContext = Cipher(algorithms.AES(key), counters).encryptor()

    def fill(self, words: WordArray, block: int, column: int, *, first: int = 0) -> None:
        """Write the words of a column of a block from an offset on to a contiguous array.

        The interpreter is let go meanwhile.
        """
        if not (0 <= column < MOST_COLUMNS and first >= 0 and first + len(words) <= MOST_WORDS):
            raise ValueError("the counter has room for 2³² columns and 2³² words of each")
        counter = block.to_bytes(8, "big") + column.to_bytes(4, "big")
        self._stream.reset_nonce(counter + (first // 2).to_bytes(4, "big"))
        if first % 2:  # the counter addresses pairs of words
            self._stream.update(bytes(WORD_BYTES))
        target = words.data.cast("B")
        for start in range(0, len(target), len(_ZEROS)):
            piece = target[start : start + len(_ZEROS)]
            self._stream.update_into(_ZEROS[: len(piece)], piece)
        if not words.dtype.isnative or _BIG_ENDIAN:
            words.byteswap(inplace=True)

    def pairs(self, block: int, columns: Columns | int, places: Places) -> WordArray:
        """The words of the offsets 2p and 2p + 1 of columns of a block, for some places p, (n, 2)."""
        counters = np.empty((len(places), 2), dtype=">u8")
        counters[:, 0] = block
        counters[:, 1] = np.asarray(columns, np.int64) << 32 | places
        words = np.frombuffer(self._counters.update(counters.data.cast("B")), dtype="<u8")
        return words.astype(np.uint64, copy=False).reshape(-1, 2)


_BIG_ENDIAN = np.dtype(np.uint64) != np.dtype("<u8")
