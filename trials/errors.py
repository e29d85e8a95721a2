"""What a trial says when a promise was broken."""

from __future__ import annotations


class Broken(Exception):
    """A promise was broken: one sentence that says which, and where to look."""


def expect(holds: bool, otherwise: str) -> None:
    """Broken, with this sentence, unless it holds."""
    if not holds:
        raise Broken(otherwise)
