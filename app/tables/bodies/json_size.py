"""Size of the objects that a JSON text becomes, found before it is parsed.

A parser builds an object for every bracket before anyone can look at the result: 16 MB of `[[],[],…` become
gigabytes while it holds the interpreter's lock. Brackets and commas outside strings are counted by numpy, without the
lock and in memory that does not grow with the text. A text that is not JSON has a size too; the parser refuses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

PIECE_BYTES = 2**17
"""Bytes counted at once: the only step that keeps the interpreter's lock is on one piece."""

ESCAPE = re.compile(rb"\\.", re.DOTALL)
QUOTE, BACKSLASH = ord('"'), ord("\\")


@dataclass(frozen=True)
class JsonSize:
    """Number of lists and objects in a JSON text, and of the commas between their members."""

    containers: int
    commas: int


def json_size(text: bytes) -> JsonSize:
    """Count the containers and commas of a JSON text."""
    containers = commas = start = 0
    inside = False
    while start < len(text):
        end = min(start + PIECE_BYTES, len(text))
        piece = text[start:end]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # an escape is not cut in two
            end += 1
            piece = text[start:end]
        if BACKSLASH in piece:
            piece = ESCAPE.sub(b"__", piece)
        characters = np.frombuffer(piece, dtype=np.uint8)
        # A byte is in a string when the number of quotes up to it is odd.
        within = (np.cumsum(characters == QUOTE, dtype=np.int32) + int(inside)) & 1
        counts = np.bincount(characters[within == 0], minlength=256)
        containers += int(counts[ord("[")] + counts[ord("{")])
        commas += int(counts[ord(",")])
        inside = bool(within[-1])
        start = end
    return JsonSize(containers, commas)
