"""Bytes that were a good body once, and what mutation makes of them."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable

EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1]
WORDS = [b"NaN", b"Infinity", b"-1e999", b'"', b",", b"\n", b"\x00", b"null", b"=1+1", b"\xff\xfe"]


def mutated(body: bytes, chance: random.Random, others: list[bytes] | None = None) -> bytes:
    """The body with one to five of its places changed."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
        body = chance.choice(MUTATIONS)(body, chance, others or [body])
    return body[: 4 * 2**20]


def flip(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    if not body:
        return body
    at = chance.randrange(len(body))
    return body[:at] + bytes([body[at] ^ 1 << chance.randrange(8)]) + body[at + 1 :]


def overwrite(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    """A number of one to eight bytes becomes an extreme one."""
    width = chance.choice((1, 2, 4, 8))
    at = chance.randrange(len(body) + 1)
    new = chance.choice(EXTREMES).to_bytes(8, "little")[:width]
    if chance.random() < 0.5:
        new = new[::-1]
    return body[:at] + new + body[at + width :]


def cut(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def remove(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    at = chance.randrange(len(body) + 1)
    return body[:at] + body[at + chance.choice((1, 4, 16, 64, 256)) :]


def repeat(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    at = chance.randrange(len(body) + 1)
    piece = body[at : at + chance.choice((1, 8, 64, 512))]
    return body[:at] + piece * chance.choice((2, 3, 50)) + body[at + len(piece) :]


def insert(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    at = chance.randrange(len(body) + 1)
    return body[:at] + chance.choice([*WORDS, chance.randbytes(8)]) + body[at:]


def splice(body: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    other = chance.choice(others)
    return body[: chance.randrange(len(body) + 1)] + other[chance.randrange(len(other) + 1) :]


MUTATIONS: list[Callable[[bytes, random.Random, list[bytes]], bytes]] = [
    flip,
    overwrite,
    cut,
    remove,
    repeat,
    insert,
    splice,
]


def mutated_archive(body: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """As `mutated`; every second time inside one of the files that the archive holds."""
    if chance.random() < 0.5:
        return mutated(body, chance, others)
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(sink, "w") as new:
        names = old.namelist()
        chosen = chance.choice(names)
        for name in names:
            inner = old.read(name)
            new.writestr(name, mutated(inner, chance) if name == chosen else inner)
    return sink.getvalue()
