"""What a log may say of a failure: its type and the places it passed, never its message."""

from __future__ import annotations

import traceback


def places_of(error: BaseException) -> list[str]:
    """The exception's type and the places it passed. Its message may hold a data value."""
    places = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    return [type(error).__name__, *places]
