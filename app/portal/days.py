"""Days as forms have them."""

from __future__ import annotations

from datetime import UTC, datetime, time

from app.errors import InvalidParameter


def end_of(day: str) -> datetime | None:
    """The end of the day, where one was given."""
    if not day:
        return None
    try:
        return datetime.combine(datetime.fromisoformat(day).date(), time(23, 59, 59), UTC)
    except ValueError:
        raise InvalidParameter(
            "until must be a day such as 2026-12-31", parameter="until"
        ) from None
