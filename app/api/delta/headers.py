"""What a client of the protocol says in headers: which response format, and which ids of files."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.api.delta.actions import DELTA, PARQUET
from app.errors import InvalidParameter

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
