"""Pages as the protocol has them: `maxResults`, `pageToken` and `nextPageToken`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query

from app.errors import InvalidParameter
from app.service.sharing.delta.listing import Listed

MOST, USUAL = 1_000, 500
T = TypeVar("T")


@dataclass(frozen=True)
class TokenPage:
    """Which items are asked for: so many, after this place."""

    after: str
    limit: int


def get_page(
    maxResults: Annotated[int, Query(ge=0, le=2**31 - 1)] = USUAL,
    pageToken: Annotated[str, Query(max_length=400)] = "",
) -> TokenPage:
    """The page that the address asks for."""
    try:
        after = base64.b64decode(pageToken.encode(), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        raise InvalidParameter(
            "the pageToken is not one that this list gave", parameter="pageToken"
        ) from None
    return TokenPage(after.removeprefix(START), min(maxResults, MOST))


START = ">"
"""What every token begins with, so that the one of a list's beginning is not empty."""


def answer(page: Listed[T], shown: Callable[[T], dict[str, Any]]) -> dict[str, Any]:
    """A page of a list; without a token it is the last."""
    said: dict[str, Any] = {"items": [shown(one) for one in page.items]}
    if page.more is not None:
        said["nextPageToken"] = base64.urlsafe_b64encode((START + page.more).encode()).decode()
    return said


PageHere = Annotated[TokenPage, Depends(get_page)]
