"""Standard normals that nobody can predict and everybody with the secret can repeat for ever.

Recipe `aes256ctr-ndtri-v1`. One *draw* is an array of standard normals, a value for every row of a
data set and every column of noise; any part of it is computed alone, in any process, in any order.

    draw key   = HKDF-SHA256(input key = data set secret, no salt, info = hash of the history entry),
                 32 bytes
    row        = 65,536·block + offset
    counter    = block (8 bytes) ‖ column (4 bytes) ‖ ⌊offset / 2⌋ (4 bytes), each big-endian
    16 bytes   = AES-256(draw key, counter): the keystream of CTR mode from that counter on
    word       = bytes 0-7 of them when offset is even, bytes 8-15 when it is odd, little-endian
    k          = word >> 11, its top 53 bits
    uniform    = min((k + ½)·2⁻⁵³, 1 - 2⁻⁵³) in float64 (k + ½ rounds to even above 2⁵²; the minimum
                 matters for k = 2⁵³ - 1 alone, which would round to 1)
    normal     = scipy.special.ndtri(uniform)

The counters of two columns or two blocks never meet: a column of a block takes 2¹⁵ of the 2³² that
its field holds. Rows that are added later get blocks, or the rest of a block, that nobody has seen.
A change to any line above is another recipe with another name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray
from scipy.special import ndtri

FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]

RECIPE = "aes256ctr-ndtri-v1"
BLOCK_ROWS = 65_536
KEY_BYTES = 32

_ZEROS = memoryview(bytes(16 + 8 * BLOCK_ROWS))  # encrypting zeros yields the keystream itself
_BELOW_ONE = 1.0 - 2.0**-53


def draw_key(secret: bytes, entry_hash: bytes) -> bytes:
    """The key of the draw that a history entry stands for, 32 bytes.

    It binds to the hash, and through it to every entry before: the same draw never occurs under
    two histories. Raises ValueError when secret or hash is not of 32 bytes.
    """
    if len(secret) != KEY_BYTES or len(entry_hash) != KEY_BYTES:
        raise ValueError("a secret and an entry's hash have 32 bytes each")
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=entry_hash).derive(secret)


def row_blocks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The rows [start, stop) cut where blocks end: pairs (first, last + 1), each within a block."""
    if not 0 <= start <= stop:
        raise ValueError("rows run upwards from 0")
    while start < stop:
        end = min(stop, (start // BLOCK_ROWS + 1) * BLOCK_ROWS)
        yield start, end
        start = end


def standard_normals(key: bytes, start: int, stop: int, columns: int) -> FloatArray:
    """The rows [start, stop) of a draw, of shape (columns, stop - start)."""
    normals = np.empty((columns, stop - start))
    for column in range(columns):
        for first, last in row_blocks(start, stop):
            fill_normals(key, column, first, normals[column, first - start : last - start])
    return normals


def fill_normals(key: bytes, column: int, start: int, out: FloatArray) -> None:
    """Write one column of a draw, from row `start` on, to `out`; all rows are of one block.

    They are made in one go: threads that make other rows wait for each other at every call.
    """
    block, offset = divmod(start, BLOCK_ROWS)
    skipped = offset % 2  # the counter addresses pairs of rows
    counter = _field(block, 8) + _field(column, 4) + _field(offset // 2, 4)
    stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    words = np.empty(skipped + len(out), dtype="<u8")
    stream.update_into(_ZEROS[: words.nbytes], words.data.cast("B"))
    normals_from_words(words[skipped:], out)


def normals_from_words(words: WordArray, out: FloatArray) -> None:
    """The last three lines of the recipe; the words are used up."""
    uniforms_from_words(words, out)
    ndtri(out, out=out)


def uniforms_from_words(words: WordArray, out: FloatArray) -> None:
    """Uniforms strictly between 0 and 1 from 64-bit words, which are used up."""
    np.right_shift(words, np.uint64(11), out=words)
    np.copyto(out, words.view("<i8"))  # exact: 53 bits fit, and processors convert signed ones
    np.add(out, 0.5, out=out)
    np.multiply(out, 2.0**-53, out=out)
    np.minimum(out, _BELOW_ONE, out=out)


def _field(value: int, length: int) -> bytes:
    return value.to_bytes(length, "big")
