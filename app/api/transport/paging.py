"""Cursor pagination: `limit` items, and a cursor for the next page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query

from app.errors import InvalidParameter

T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """Requested page: `limit` items after a place (from the start where it is empty).

    `parameter` is the query parameter of the cursor.
    """

    after: str
    limit: int
    parameter: str = "cursor"

    @property
    def after_number(self) -> int:
        """Place in a list whose items are numbered."""
        if not self.after:
            return 0
        if not (self.after.isdecimal() and len(self.after) < 19):
            raise _foreign(self.parameter)
        return int(self.after)

    def of(
        self, load: Callable[..., Sequence[T]], *args: Any, place: str = "id", **kwargs: Any
    ) -> tuple[list[T], str | None]:
        """Load the page; return its items, and the cursor of the next page if there is one.

        `load` is a function of the service that takes `after` and `limit`. `place` is the attribute of an item by which the list is ordered; a number if it is `sequence`.
        """
        after = self.after_number if place == "sequence" else self.after
        # One more item shows whether there is another page.
        found = list(load(*args, after=after, limit=self.limit + 1, **kwargs))
        if len(found) <= self.limit:
            return found, None
        last = attrgetter(place)(found[self.limit - 1]) if self.limit else self.after
        return found[: self.limit], self.cursor_after(last)

    def cursor_after(self, name: object) -> str:
        """Return the cursor of the page after an item."""
        return base64.urlsafe_b64encode(f"{START}{name}".encode()).decode()


START = ">"
"""First character of every cursor, so that the cursor of a list's beginning is not empty."""


def read_cursor(cursor: str, parameter: str = "cursor") -> str:
    """Return the place in a cursor, empty for an empty one; InvalidParameter for what is none."""
    try:
        place = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        raise _foreign(parameter) from None
    if place and not place.startswith(START):
        raise _foreign(parameter)
    return place.removeprefix(START)


def get_page(
    cursor: Annotated[
        str | None, Query(max_length=200, description="`next_cursor` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Items a page.")] = 100,
) -> Page:
    """Return the page that the address asks for."""
    return Page(read_cursor(cursor or ""), limit)


def _foreign(parameter: str) -> InvalidParameter:
    return InvalidParameter(f"The {parameter} is not one that this list gave.", parameter=parameter)


PageDep = Annotated[Page, Depends(get_page)]
