"""What may be a name: something a person can read, a URL can carry and a file system cannot misread."""

from __future__ import annotations

import unicodedata

from app.errors import InvalidParameter

LONGEST_NAME = 200


def checked_name(parameter: str, name: str) -> str:
    """The name, or InvalidParameter: 1 to 200 visible characters, no path separators."""
    if not name or len(name) > LONGEST_NAME or name != name.strip():
        raise InvalidParameter(
            f"{parameter} must have 1 to {LONGEST_NAME} characters, without spaces around them",
            parameter=parameter,
        )
    if name in (".", "..") or any(separator in name for separator in "/\\"):
        raise InvalidParameter(f"{parameter} must not contain / or \\", parameter=parameter)
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise InvalidParameter(
            f"{parameter} must not contain control characters", parameter=parameter
        )
    return name
