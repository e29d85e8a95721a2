"""The noise recipe against known answers, and against itself written again in a few lines."""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from app.numerics.noise import (
    BLOCK_ROWS,
    RECIPE,
    draw_key,
    normals_from_words,
    row_blocks,
    standard_normals,
    uniforms_from_words,
)

SECRET = bytes(range(32))
ENTRY = hashlib.sha256(b"entry").digest()
KEY = draw_key(SECRET, ENTRY)


def literal_word(secret: bytes, entry: bytes, row: int, column: int) -> int:
    """One word of the recipe, by encrypting one counter with AES alone (no CTR mode)."""
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=entry).derive(secret)
    block, offset = divmod(row, 65_536)
    counter = block * 2**64 + column * 2**32 + offset // 2
    single = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    keystream = single.update(counter.to_bytes(16, "big"))
    return int.from_bytes(keystream[8 * (offset % 2) :][:8], "little")


def literal_normal(secret: bytes, entry: bytes, row: int, column: int) -> float:
    uniform = min(((literal_word(secret, entry, row, column) >> 11) + 0.5) * 2.0**-53, 1 - 2.0**-53)
    return float(ndtri(uniform))


KNOWN_ANSWERS = {
    (0, 0): (0xF1461CB60FD4384E, 1.5759043562922204),
    (1, 0): (0xA667F04D693A7008, 0.38538385399314534),
    (0, 1): (0x0388008659280B1B, -2.2030964241050457),
    (65_535, 0): (0x0D3A9A4DFDE54325, -1.628821017387433),
    (65_536, 0): (0x2989FB83116917C2, -0.9852049885100068),
    (65_537, 3): (0xF7041A11435F4398, 1.8106998751305259),
    (1_000_003, 9): (0x59E62BC932BA4E34, -0.3821679909163575),
}
"""(row, column) → word and normal, for SECRET and ENTRY. They must hold for ever."""


def test_the_recipe_keeps_its_name() -> None:
    assert RECIPE == "aes256ctr-ndtri-v1"
    assert BLOCK_ROWS == 65_536


@pytest.mark.parametrize(("place", "answer"), KNOWN_ANSWERS.items())
def test_known_answers(place: tuple[int, int], answer: tuple[int, float]) -> None:
    row, column = place
    word, normal = answer
    assert literal_word(SECRET, ENTRY, row, column) == word
    assert literal_normal(SECRET, ENTRY, row, column) == pytest.approx(normal, rel=1e-14)
    made = standard_normals(KEY, row, row + 1, column + 1)[column, 0]
    assert made == pytest.approx(normal, rel=1e-14)


def test_a_whole_stretch_equals_the_literal_recipe() -> None:
    start = 2 * BLOCK_ROWS - 40
    made = standard_normals(KEY, start, start + 80, 3)
    literal = [
        [literal_normal(SECRET, ENTRY, row, column) for row in range(start, start + 80)]
        for column in range(3)
    ]
    np.testing.assert_array_equal(made, literal)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2 * BLOCK_ROWS), st.integers(0, 500))
def test_any_range_of_rows_is_a_slice_of_the_draw(start: int, count: int) -> None:
    part = standard_normals(KEY, start, start + count, 2)
    np.testing.assert_array_equal(part, whole_draw()[:, start : start + count])


_WHOLE: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []


def whole_draw() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    if not _WHOLE:
        _WHOLE.append(standard_normals(KEY, 0, 2 * BLOCK_ROWS + 500, 2))
    return _WHOLE[0]


def test_threads_do_not_change_the_draw() -> None:
    ranges = list(row_blocks(0, 2 * BLOCK_ROWS + 500))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda rows: standard_normals(KEY, rows[0], rows[1], 2), ranges))
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole_draw())


def test_other_entries_other_secrets_and_other_columns_share_nothing() -> None:
    other_entry = draw_key(SECRET, hashlib.sha256(b"other").digest())
    other_secret = draw_key(bytes(32), ENTRY)
    draws = np.concatenate(
        [standard_normals(key, 0, 20_000, 2) for key in (KEY, other_entry, other_secret)]
    )
    correlation = np.corrcoef(draws)
    off_diagonal = correlation[~np.eye(6, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / math.sqrt(20_000)


def test_normals_are_accepted_at_unit_scale_and_rejected_beside_it() -> None:
    values = whole_draw()[0, :40_000]
    assert stats.kstest(values, "norm").pvalue > 1e-3
    for scale in (0.9, 1.1):
        assert stats.kstest(values * scale, "norm").pvalue < 1e-6


def test_the_extreme_words_give_finite_normals_and_open_uniforms() -> None:
    words = np.array([0, 2**64 - 1, 2**63, 2**11 - 1], dtype=np.uint64)
    uniforms = np.empty(4)
    uniforms_from_words(words.copy(), uniforms)
    np.testing.assert_array_equal(uniforms, [2.0**-54, 1 - 2.0**-53, 0.5, 2.0**-54])
    normals = np.empty(4)
    normals_from_words(words, normals)
    assert np.isfinite(normals).all()
    assert normals[0] == pytest.approx(-8.3, abs=0.1)
    assert normals[1] == pytest.approx(8.2, abs=0.1)


def test_rows_are_cut_where_blocks_end() -> None:
    cuts = list(row_blocks(10, 2 * BLOCK_ROWS + 1))
    assert cuts == [
        (10, BLOCK_ROWS),
        (BLOCK_ROWS, 2 * BLOCK_ROWS),
        (2 * BLOCK_ROWS, 2 * BLOCK_ROWS + 1),
    ]
    assert list(row_blocks(7, 7)) == []
    with pytest.raises(ValueError, match="upwards"):
        list(row_blocks(3, 2))


@pytest.mark.parametrize(("secret", "entry"), [(b"", ENTRY), (SECRET, b"short")])
def test_a_key_of_the_wrong_size_is_refused(secret: bytes, entry: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        draw_key(secret, entry)
