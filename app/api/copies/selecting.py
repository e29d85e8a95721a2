"""Which part of a copy a request is about: columns by name, rows by ordinal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.errors import InvalidParameter
from app.service.copies.making.release import Selection

ROW_RANGE = re.compile(r"(\d{0,18}):(\d{0,18})")


def selection(columns: Sequence[str] | None, rows: str | None) -> Selection:
    """The selection; InvalidParameter for rows that are none."""
    chosen = None if columns is None else tuple(columns)
    if rows is None:
        return Selection(chosen)
    match = ROW_RANGE.fullmatch(rows)
    if match is None:
        raise InvalidParameter("rows must look like 0:1000", parameter="rows")
    first, last = match.groups()
    return Selection(chosen, int(first or 0), int(last) if last else None)
