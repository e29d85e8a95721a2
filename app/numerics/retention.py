"""Categorical columns at many trust levels: nested retention replacement on the axis of v.

An answer to an open question of [li2012, section 7]. At noise variance v a cell keeps its category
with probability p(v) = (1+v)^(-1/2) and is redrawn from the column's marginal otherwise. The best
linear estimate of a category's indicator then recovers p² = 1/(1+v) of its variance, as it does of
a numeric column at v [li2012, eq. 8].

Over all levels at once, a cell is redrawn at the points of a Poisson process of rate 1 in
τ = ½·ln(1+v) and shows the last redraw before τ: a Markov chain in v, so that more perturbed copies
are functions of less perturbed ones and fresh chance. The gaps of the process are -ln u_k, so
the k-th redraw has happened by v exactly when u_1·u_2···u_k ≥ p(v). That needs products, one root
and one division, which every processor rounds alike, and no logarithm.

Recipe `aes256ctr-retention-v1`, with the parts of `aes256ctr-ndtri-v1` that it does not repeat:

    key        = HKDF-SHA256(input key = data set secret, no salt,
                             info = "aes256ctr-retention-v1" ‖ 0 ‖ hash of what is frozen), 32 bytes
    counter    = block (8 bytes) ‖ column (2) ‖ k - 1 (2) ‖ offset (4), each big-endian
    u_k        = bytes 0-7 of the counter's keystream, as a uniform
    redraw k   = bytes 8-15, as a uniform; the category whose part of the cumulated marginal holds it

A category that came after the marginal was frozen can never be the result of a redraw: shown once,
it would be the truth for certain. Such a cell begins with redraw 65,536 in place of its category, a
draw that no cell ever reaches otherwise, and goes on like all others.

| here | meaning |
| --- | --- |
| code | a category's place in the column's list of categories; -1 is a missing value, -2 a category
that is not in the list |
| marginal | counts of the categories when the first copy was issued |
"""

from __future__ import annotations

import math

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from app.numerics.noise import BLOCK_ROWS, KEY_BYTES, row_blocks, uniforms_from_words

FloatArray = NDArray[np.float64]
Codes = NDArray[np.int32]

RECIPE = "aes256ctr-retention-v1"
MISSING = -1
UNLISTED = -2
MOST_COLUMNS = 2**16
LAST_REDRAW = 2**16 - 1


def retention_key(secret: bytes, frozen_hash: bytes) -> bytes:
    """The key of all categorical columns of a data set, 32 bytes.

    It binds to the frozen marginals: were they ever estimated anew, the same redraws under other
    marginals would mark the cells that were redrawn.
    """
    if len(secret) != KEY_BYTES or len(frozen_hash) != KEY_BYTES:
        raise ValueError("a secret and a hash have 32 bytes each")
    info = RECIPE.encode() + b"\0" + frozen_hash
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


def kept_share(noise_variance: float) -> float:
    """p(v) = (1+v)^(-1/2), the share of cells that no redraw has reached."""
    if not 0 < noise_variance < math.inf:
        raise ValueError("a noise variance is positive and finite")
    return 1.0 / math.sqrt(1.0 + noise_variance)


def retained(
    codes: Codes,
    marginal: NDArray[np.int64],
    variance: float,
    *,
    key: bytes,
    column: int,
    start: int,
) -> Codes:
    """The codes of the rows from `start` on, as a copy at the variance shows them; same shape.

    `marginal` counts the categories of the frozen list. Missing values stay missing; a category
    outside the list is never shown. Raises ValueError when the marginal is empty or has a negative
    count.
    """
    if not 0 <= column < MOST_COLUMNS:
        raise ValueError("the counter has room for 65,536 columns")
    if marginal.sum() <= 0 or (marginal < 0).any():
        raise ValueError("a marginal counts at least one value")
    share = kept_share(variance)
    cumulated = np.cumsum(marginal)
    bounds = cumulated / cumulated[-1]
    shown = codes.copy()
    for first, last in row_blocks(start, start + len(codes)):
        part = shown[first - start : last - start]
        _redraw(part, bounds, share, key=key, column=column, start=first)
    return shown


def _redraw(
    codes: Codes, bounds: FloatArray, share: float, *, key: bytes, column: int, start: int
) -> None:
    """Replace, within one block, every code by its last redraw before the level."""
    unlisted = np.flatnonzero(codes == UNLISTED)
    if len(unlisted):
        _, places = _uniform_pairs(key, column, LAST_REDRAW, start, len(codes))
        codes[unlisted] = np.searchsorted(bounds, places[unlisted], side="right")
    offsets = np.flatnonzero(codes != MISSING)
    products = np.ones(len(offsets))
    repetition = 0
    while len(offsets):
        gaps, places = _uniform_pairs(key, column, repetition, start, len(codes))
        products *= gaps[offsets]
        reached = products >= share
        offsets, products = offsets[reached], products[reached]
        codes[offsets] = np.searchsorted(bounds, places[offsets], side="right")
        repetition += 1


def _uniform_pairs(
    key: bytes, column: int, repetition: int, start: int, count: int
) -> tuple[FloatArray, FloatArray]:
    """u_k and the place of redraw k for `count` rows of one block."""
    block, offset = divmod(start, BLOCK_ROWS)
    fields = ((block, 8), (column, 2), (repetition, 2), (offset, 4))
    counter = b"".join(value.to_bytes(length, "big") for value, length in fields)
    stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    words = np.frombuffer(stream.update(bytes(16 * count)), dtype="<u8").copy()
    uniforms = np.empty(2 * count)
    uniforms_from_words(words, uniforms)
    return uniforms[0::2], uniforms[1::2]
