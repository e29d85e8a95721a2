"""Seeds: with the one that an answer names, the same request gives the same answer again."""

from __future__ import annotations

import secrets

LARGEST_SEED = 2**53 - 1
"""Up to here every reader of JSON keeps an integer exactly."""


def seed_or_new(seed: int | None) -> int:
    """The caller's seed, or one that cannot be guessed."""
    return secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
