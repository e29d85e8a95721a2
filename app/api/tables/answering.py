"""A table as the answer, in the format that the caller likes best."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from fastapi import Request
from fastapi.responses import StreamingResponse

from app.api.tables.incoming import TABLE_TYPES
from app.api.tables.media import negotiate
from app.api.tables.writing import write_table


def table_answer(description: str) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route that answers with a table."""
    return {200: {"description": description, "content": TABLE_TYPES}}


def table_response(
    request: Request, table: pa.Table, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """The whole table, streamed. NotAcceptable before the first byte, not after it."""
    media_type = negotiate(request.headers.get("accept"))
    chunks = write_table(table, media_type)
    first = next(chunks, b"")  # a table too large for JSON fails here
    return StreamingResponse(
        itertools.chain([first], chunks), media_type=media_type, headers=dict(headers or {})
    )
