"""The keystream against known answers, and against AES alone."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.copies.noise.keystream import Keystream, draw_key, keystream_words

SECRET = bytes(range(32))
ENTRY = hashlib.sha256(b"entry").digest()
PART = hashlib.sha256(b"part").digest()
KEY = draw_key(SECRET, ENTRY, PART)

KNOWN_WORDS = {
    (0, 0, 0): 0xFC53D8FFAF2A23E2,
    (0, 0, 1): 0x4A0978B0D1735FC5,
    (0, 1, 0): 0x86F07751A4A84196,
    (0, 0, 65_535): 0x16B4DB3609EC4A4B,
    (1, 0, 0): 0x7A7AA0EA836773B5,
    (1, 3, 1): 0xBC1361F82CC1AB96,
    (15, 9, 16_963): 0xE567960C00882AFA,
}
"""(block, column, offset) → word, for SECRET, ENTRY and PART. They must hold for ever."""


def literal_word(block: int, column: int, offset: int) -> int:
    """One word of the recipe, by encrypting one counter with AES alone (no CTR mode)."""
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=ENTRY + PART).derive(SECRET)
    counter = block * 2**64 + column * 2**32 + offset // 2
    single = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    keystream = single.update(counter.to_bytes(16, "big"))
    return int.from_bytes(keystream[8 * (offset % 2) :][:8], "little")


@pytest.mark.parametrize(("place", "word"), KNOWN_WORDS.items())
def test_known_words(place: tuple[int, int, int], word: int) -> None:
    block, column, offset = place
    assert literal_word(block, column, offset) == word
    assert keystream_words(KEY, block, column, 1, first=offset).tolist() == [word]


def test_a_stretch_equals_the_literal_recipe() -> None:
    made = keystream_words(KEY, 7, 3, 50, first=65_501)
    assert made.tolist() == [literal_word(7, 3, offset) for offset in range(65_501, 65_551)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 70_000), st.integers(0, 500))
def test_any_stretch_is_a_slice_of_the_column(first: int, count: int) -> None:
    whole = keystream_words(KEY, 1, 2, 70_500)
    part = keystream_words(KEY, 1, 2, count, first=first)
    np.testing.assert_array_equal(part, whole[first : first + count])


def test_what_was_asked_before_leaves_no_trace_in_the_words() -> None:
    stream = Keystream(KEY)
    places = [(0, 0, 3, 1), (0, 0, 4, 2), (5, 1, 0, 0), (0, 0, 6, 70_001), (5, 1, 7, 5)]
    for block, column, first, count in [*places, *reversed(places)]:
        words = np.empty(count, dtype=np.uint64)
        stream.fill(words, block, column, first=first)
        alone = [literal_word(block, column, offset) for offset in range(first, first + count)][:9]
        assert words[:9].tolist() == alone
        np.testing.assert_array_equal(
            words, keystream_words(KEY, block, column, count, first=first)
        )


def test_other_entries_parts_secrets_blocks_and_columns_share_no_word() -> None:
    other = hashlib.sha256(b"other").digest()
    keys = [KEY, draw_key(SECRET, other, PART), draw_key(SECRET, ENTRY, other)]
    keys += [draw_key(other, ENTRY, PART), draw_key(SECRET, PART, ENTRY)]
    columns = [keystream_words(key, 0, 0, 1_000) for key in keys]
    columns += [keystream_words(KEY, 1, 0, 1_000), keystream_words(KEY, 0, 1, 1_000)]
    assert len(np.unique(np.concatenate(columns))) == 7_000


@pytest.mark.parametrize("short", [0, 1, 2])
def test_a_key_is_made_of_32_bytes_each(short: int) -> None:
    parts = [SECRET, ENTRY, PART]
    parts[short] = parts[short][:-1]
    with pytest.raises(ValueError, match="32 bytes"):
        draw_key(*parts)


def test_what_the_counter_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        keystream_words(b"short", 0, 0, 1)
    with pytest.raises(ValueError, match="room"):
        keystream_words(KEY, 0, 2**32, 1)
    with pytest.raises(ValueError, match="room"):
        keystream_words(KEY, 0, 0, 1, first=2**32)
    with pytest.raises(ValueError, match="room"):
        keystream_words(KEY, 0, 0, 2, first=2**32 - 1)


def test_pairs_of_words_are_those_of_their_column() -> None:
    whole = keystream_words(KEY, 3, 70_000, 4_000)
    places = np.array([0, 1, 7, 500, 1_999])
    pairs = Keystream(KEY).pairs(3, 70_000, places)
    np.testing.assert_array_equal(pairs, whole.reshape(-1, 2)[places])
