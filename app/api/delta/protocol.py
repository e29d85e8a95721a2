"""What the protocol has of its own: errors, what a client says in headers, and pages.

An error is an `errorCode` and a `message`, with few statuses. Headers say which response format, and which ids of
files. A page is `maxResults`, `pageToken` and `nextPageToken`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request

from app.api.delta.actions import DELTA, PARQUET
from app.errors import InvalidParameter
from app.service.sharing.delta.listing import Listed

PREFIX = "/delta-sharing/"
MALFORMED = (405, 406, 409, 413, 415, 422)
"""What the protocol does not know is a request that it calls malformed."""


def shaped(status: int, slug: str, detail: str) -> tuple[int, dict[str, str]]:
    """The status and the body of an error."""
    body = {"errorCode": slug.upper().replace("-", "_"), "message": detail}
    return 400 if status in MALFORMED else status, body


CAPABILITIES, FILE_IDS = "delta-sharing-capabilities", "fileidhash"


def response_format(request: Request) -> str:
    """`delta` where the client takes nothing else: our tables need none of its features."""
    for capability in request.headers.get(CAPABILITIES, "").lower().split(";"):
        name, _, values = capability.partition("=")
        if name.strip() == "responseformat":
            wanted = {value.strip() for value in values.split(",") if value.strip()}
            if not wanted & {PARQUET, DELTA}:
                raise InvalidParameter(
                    "responseformat must be parquet or delta", parameter="responseformat"
                )
            return PARQUET if PARQUET in wanted else DELTA
    return PARQUET


def file_ids(request: Request) -> dict[str, str]:
    """The header by which a client learns that ids are as it wants them: ours are the same in both."""
    wanted = request.headers.get(FILE_IDS)
    if wanted is None:
        return {}
    if wanted.lower() not in (PARQUET, DELTA):
        raise InvalidParameter("fileidhash must be parquet or delta", parameter=FILE_IDS)
    return {FILE_IDS: wanted.lower()}


FormatHere = Annotated[str, Depends(response_format)]
FileIdsHere = Annotated[dict[str, str], Depends(file_ids)]


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
