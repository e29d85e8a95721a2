"""SipHash-2-4 against the published answers and against the algorithm written again, word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.fingerprints import TILE, fingerprints

KEY = bytes(range(16))
MASK = 2**64 - 1


def slow_siphash(key: bytes, message: bytes) -> int:
    """The definition, for a message of any length."""
    k = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    v = [
        k[0] ^ 0x736F6D6570736575,
        k[1] ^ 0x646F72616E646F6D,
        k[0] ^ 0x6C7967656E657261,
        k[1] ^ 0x7465646279746573,
    ]

    def rotated(x: int, places: int) -> int:
        return ((x << places) | (x >> (64 - places))) & MASK

    def sipround() -> None:
        v[0] = (v[0] + v[1]) & MASK
        v[2] = (v[2] + v[3]) & MASK
        v[1] = rotated(v[1], 13) ^ v[0]
        v[3] = rotated(v[3], 16) ^ v[2]
        v[0] = rotated(v[0], 32)
        v[2] = (v[2] + v[1]) & MASK
        v[0] = (v[0] + v[3]) & MASK
        v[1] = rotated(v[1], 17) ^ v[2]
        v[3] = rotated(v[3], 21) ^ v[0]
        v[2] = rotated(v[2], 32)

    whole = len(message) // 8 * 8
    last = message[whole:].ljust(7, b"\0") + bytes([len(message) % 256])
    for place in range(0, whole + 8, 8):
        block = int.from_bytes(message[place : place + 8] if place < whole else last, "little")
        v[3] ^= block
        sipround()
        sipround()
        v[0] ^= block
    v[2] ^= 0xFF
    for _ in range(4):
        sipround()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_slow_one_gives_the_answer_of_the_paper() -> None:
    assert slow_siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize(
    ("words", "answer"),
    [(0, 0x726FDB47DD0E0E31), (1, 0x93F5F5799A932462), (2, 0x3F2ACC7F57C29BDB)],
)
def test_published_answers_are_met(words: int, answer: int) -> None:
    message = np.frombuffer(bytes(range(8 * words)), "<u8").reshape(1, words)
    assert int(fingerprints(KEY, message)[0]) == answer


@given(
    key=st.binary(min_size=16, max_size=16),
    rows=st.lists(st.lists(st.integers(0, MASK), min_size=3, max_size=3), min_size=1, max_size=5),
)
@settings(max_examples=50, deadline=None)
def test_many_rows_at_once_are_each_row_alone(key: bytes, rows: list[list[int]]) -> None:
    words = np.array(rows, np.uint64)
    expected = [slow_siphash(key, row.astype("<u8").tobytes()) for row in words]
    assert fingerprints(key, words).tolist() == expected


def test_rows_beyond_a_tile_are_fingerprinted_alike_in_either_layout() -> None:
    words = np.random.default_rng(1).integers(0, 2**63, (TILE + 3, 2)).astype(np.uint64)
    found = fingerprints(KEY, words)
    assert found[-1] == fingerprints(KEY, words[-1:])[0]
    assert (found == fingerprints(KEY, np.asfortranarray(words))).all()
    assert len(np.unique(found)) == len(found)


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        fingerprints(KEY[:8], np.zeros((1, 1), np.uint64))
