"""Mutations of valid bodies."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable

EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1]
WORDS = [b"NaN", b"Infinity", b"-1e999", b'"', b",", b"\n", b"\x00", b"null", b"=1+1", b"\xff\xfe"]


def mutated(body: bytes, rng: random.Random, others: list[bytes] | None = None) -> bytes:
    """Return the body with one to five mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        body = rng.choice(MUTATIONS)(body, rng, others or [body])
    return body[: 4 * 2**20]


def flip(body: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    if not body:
        return body
    at = rng.randrange(len(body))
    return body[:at] + bytes([body[at] ^ 1 << rng.randrange(8)]) + body[at + 1 :]


def overwrite(body: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    """Replace a number of one to eight bytes by an extreme one."""
    width = rng.choice((1, 2, 4, 8))
    at = rng.randrange(len(body) + 1)
    new = rng.choice(EXTREMES).to_bytes(8, "little")[:width]
    if rng.random() < 0.5:
        new = new[::-1]
    return body[:at] + new + body[at + width :]


def cut(body: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def remove(body: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    at = rng.randrange(len(body) + 1)
    return body[:at] + body[at + rng.choice((1, 4, 16, 64, 256)) :]


def repeat(body: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    at = rng.randrange(len(body) + 1)
    piece = body[at : at + rng.choice((1, 8, 64, 512))]
    return body[:at] + piece * rng.choice((2, 3, 50)) + body[at + len(piece) :]


def insert(body: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    at = rng.randrange(len(body) + 1)
    return body[:at] + rng.choice([*WORDS, rng.randbytes(8)]) + body[at:]


def splice(body: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    return body[: rng.randrange(len(body) + 1)] + other[rng.randrange(len(other) + 1) :]


MUTATIONS: list[Callable[[bytes, random.Random, list[bytes]], bytes]] = [
    flip,
    overwrite,
    cut,
    remove,
    repeat,
    insert,
    splice,
]


def mutated_archive(body: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Like `mutated`, but half of the time inside one file of the archive."""
    if rng.random() < 0.5:
        return mutated(body, rng, others)
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(sink, "w") as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            inner = old.read(name)
            new.writestr(name, mutated(inner, rng) if name == chosen else inner)
    return sink.getvalue()
