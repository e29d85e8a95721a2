"""Lists in pages: `limit` items, and a cursor for what comes after them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query

from app.errors import InvalidParameter

T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """Which items are asked for: so many, after the one named (from the start where none is)."""

    after: str
    limit: int

    @property
    def after_number(self) -> int:
        """The same for a list whose items are numbered."""
        if not self.after:
            return 0
        if not (self.after.isdecimal() and len(self.after) < 19):
            raise _foreign()
        return int(self.after)

    def next_cursor(self, found: Sequence[T], name: Callable[[T], object]) -> str | None:
        """Where the list goes on after these items; null where it is known to end."""
        if len(found) < self.limit:
            return None
        return self.cursor_after(name(found[-1]))

    def cursor_after(self, name: object) -> str:
        """Where the list goes on after the item of this name."""
        return base64.urlsafe_b64encode(str(name).encode()).decode()


def get_page(
    cursor: Annotated[
        str | None, Query(max_length=200, description="`next_cursor` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Items a page.")] = 100,
) -> Page:
    """The page that the address asks for."""
    if cursor is None:
        return Page("", limit)
    try:
        after = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        raise _foreign() from None
    return Page(after, limit)


def _foreign() -> InvalidParameter:
    return InvalidParameter("The cursor is not one that this list gave.", parameter="cursor")


PageDep = Annotated[Page, Depends(get_page)]
