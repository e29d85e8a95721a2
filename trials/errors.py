"""Violated invariants of the service under trial."""

from __future__ import annotations


class InvariantViolation(Exception):
    """An invariant does not hold; the message says which, and where."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise InvariantViolation with this message unless the condition holds."""
    if not holds:
        raise InvariantViolation(otherwise)
