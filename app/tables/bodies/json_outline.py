"""The outline of a JSON text: where its brackets, commas and colons are, outside strings.

A parser builds an object for every bracket before anyone can look at the result: 16 MB of `[[],[],…`
become gigabytes, and nothing else runs meanwhile. The outline costs a few bytes for each mark, is
found by numpy without the interpreter's lock, and says beforehand what a text would unpack to. It
is no parser: of a text that is not JSON it says something, and the parser refuses it later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.numerics.arrays import Flags, IntArray

PIECE_BYTES = 2**17
"""What is looked at at once: the only step that keeps the interpreter's lock is on one piece."""

ESCAPE = re.compile(rb"\\.", re.DOTALL)
QUOTE, BACKSLASH = ord('"'), ord("\\")
OPENING = np.zeros(256, dtype=bool)
OPENING[list(b"[{")] = True
BRACKET = np.zeros(256, dtype=bool)
BRACKET[list(b"[]{}")] = True
COMMA = np.zeros(256, dtype=bool)
COMMA[list(b",")] = True


@dataclass(frozen=True)
class Extent:
    """What a JSON text would unpack to: lists and objects, and the commas between all they hold."""

    containers: int
    commas: int


def extent(text: bytes) -> Extent:
    """How many containers and commas there are, in memory that does not grow with the text."""
    containers = commas = 0
    for _, marks in _outside_strings(text):
        containers += int(np.count_nonzero(OPENING[marks]))
        commas += int(np.count_nonzero(COMMA[marks]))
    return Extent(containers, commas)


def positions(text: bytes, kind: Flags, most: int) -> IntArray | None:
    """Where the marks of a kind are, in order; None when there are more than `most`."""
    found: list[IntArray] = []
    count = 0
    for start, marks in _outside_strings(text):
        here = np.flatnonzero(kind[marks]) + start
        count += len(here)
        if count > most:
            return None
        found.append(here)
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _outside_strings(text: bytes) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """The bytes piece by piece, those of strings blanked; with where each piece begins."""
    inside = False
    start = 0
    while start < len(text):
        end = min(start + PIECE_BYTES, len(text))
        piece = text[start:end]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # an escape is not cut in two
            end += 1
            piece = text[start:end]
        if BACKSLASH in piece:
            piece = ESCAPE.sub(b"__", piece)
        marks = np.frombuffer(piece, dtype=np.uint8)
        quotes = marks == QUOTE
        # A byte is in a string when the number of quotes up to it is odd.
        within = (np.cumsum(quotes, dtype=np.int32) + int(inside)) & 1
        yield start, np.where(within, np.uint8(0), marks)
        inside = bool(within[-1])
        start = end
