"""What the protocol has of its own: errors, what a client says in headers, pages, and the lines about a table.

An error is an `errorCode` and a `message`, with few statuses. Headers say which response format, and which ids of
files. A page is `maxResults`, `pageToken` and `nextPageToken`.

The lines of an answer are protocol, metadata and files, in either response format.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import orjson
import pyarrow as pa
from fastapi import Depends, Query, Request

from app.errors import InvalidParameter
from app.model import Column
from app.service.copies.files.signed_urls import SignedFile, SignedFiles
from app.service.datasets.output_columns import output_type
from app.service.sharing.delta.listing import Listed
from app.service.sharing.delta.reading import TableState

PARQUET, DELTA = "parquet", "delta"

TYPES: dict[pa.DataType, str] = {
    pa.float64(): "double",
    pa.int64(): "long",
    pa.date32(): "date",
    pa.large_string(): "string",
}


def head(state: TableState, response_format: str) -> Iterator[dict[str, Any]]:
    """What every answer about a table begins with."""
    metadata = {
        "id": state.id,
        "name": f"{state.table.share}.{state.table.schema}.{state.table.name}",
        "format": {"provider": "parquet"},
        "schemaString": orjson.dumps(_schema(state.columns)).decode(),
        "partitionColumns": [],
        "configuration": {},
    }
    if response_format == DELTA:
        versions = {"minReaderVersion": 1, "minWriterVersion": 2}
        yield {"protocol": {"deltaProtocol": versions}}
        metadata["format"] = {"provider": "parquet", "options": {}}
        yield {"metaData": {"deltaMetadata": metadata, "version": state.version}}
    else:
        yield {"protocol": {"minReaderVersion": 1}}
        yield {"metaData": metadata | {"version": state.version}}


def files(signed: SignedFiles, response_format: str, base: str) -> Iterator[dict[str, Any]]:
    """A line for each file."""
    expires = int(signed.expires_at.timestamp() * 1000)
    for one in signed.files:
        url = base + one.url if one.url.startswith("/") else one.url
        known = {"id": one.file.id, "expirationTimestamp": expires}
        if response_format == DELTA:
            added = {
                "path": url,
                "partitionValues": {},
                "size": one.file.size,
                "modificationTime": 0,
                "dataChange": True,
                "stats": _statistics(one),
            }
            yield {"file": known | {"deltaSingleAction": {"add": added}}}
        else:
            told = {"url": url, "partitionValues": {}, "size": one.file.size}
            yield {"file": known | told | {"stats": _statistics(one)}}


def lines(actions: Iterator[dict[str, Any]]) -> bytes:
    """Newline-delimited JSON."""
    return b"".join(orjson.dumps(action, option=orjson.OPT_APPEND_NEWLINE) for action in actions)


def _schema(columns: tuple[Column, ...]) -> dict[str, Any]:
    fields = [
        {"name": one.name, "type": TYPES[output_type(one)], "nullable": True, "metadata": {}}
        for one in columns
    ]
    return {"type": "struct", "fields": fields}


def _statistics(signed: SignedFile) -> str:
    """Of the values as they are in the file, perturbed."""
    columns = signed.file.statistics
    told = {
        "numRecords": signed.file.rows,
        "minValues": {name: known["min"] for name, known in columns.items() if "min" in known},
        "maxValues": {name: known["max"] for name, known in columns.items() if "max" in known},
        "nullCount": {name: known["missing"] for name, known in columns.items()},
    }
    return orjson.dumps(told).decode()


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


FormatDep = Annotated[str, Depends(response_format)]
FileIdsDep = Annotated[dict[str, str], Depends(file_ids)]


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


PageDep = Annotated[TokenPage, Depends(get_page)]
