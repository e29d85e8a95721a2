"""Formats of the Delta Sharing protocol: errors, headers, pages, and the NDJSON lines of a table.

The lines of an answer are protocol, metadata and files, in one of two response formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
import pyarrow as pa
from fastapi import Depends, Query, Request

from app.api.transport.paging import Page, read_cursor
from app.errors import InvalidParameter
from app.model import Column
from app.service.copies.files.signed_urls import SignedFile, SignedFiles
from app.service.datasets.output_columns import output_type
from app.service.sharing.delta.shared_tables import TableState

PARQUET, DELTA = "parquet", "delta"

TYPES: dict[pa.DataType, str] = {
    pa.float64(): "double",
    pa.int64(): "long",
    pa.date32(): "date",
    pa.large_string(): "string",
}


def head(state: TableState, response_format: str) -> Iterator[dict[str, Any]]:
    """Yield the protocol and metadata lines of a table."""
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
    """Yield a line for each file."""
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
            members = {"url": url, "partitionValues": {}, "size": one.file.size}
            yield {"file": known | members | {"stats": _statistics(one)}}


def lines(actions: Iterator[dict[str, Any]]) -> bytes:
    """Return newline-delimited JSON."""
    return b"".join(orjson.dumps(action, option=orjson.OPT_APPEND_NEWLINE) for action in actions)


def _schema(columns: tuple[Column, ...]) -> dict[str, Any]:
    fields = [
        {"name": one.name, "type": TYPES[output_type(one)], "nullable": True, "metadata": {}}
        for one in columns
    ]
    return {"type": "struct", "fields": fields}


def _statistics(signed: SignedFile) -> str:
    """Return the statistics of the perturbed values in a file."""
    columns = signed.file.statistics
    members = {
        "numRecords": signed.file.rows,
        "minValues": {name: known["min"] for name, known in columns.items() if "min" in known},
        "maxValues": {name: known["max"] for name, known in columns.items() if "max" in known},
        "nullCount": {name: known["missing"] for name, known in columns.items()},
    }
    return orjson.dumps(members).decode()


PREFIX = "/delta-sharing/"
MALFORMED = (405, 406, 409, 413, 415, 422)
"""Statuses that the protocol does not have: they become 400."""


def error_shape(_: Request, status: int, slug: str, detail: str) -> tuple[int, dict[str, Any]]:
    """Return status and body of an error."""
    body = {"errorCode": slug.upper().replace("-", "_"), "message": detail}
    return 400 if status in MALFORMED else status, body


CAPABILITIES, FILE_IDS = "delta-sharing-capabilities", "fileidhash"


def response_format(request: Request) -> str:
    """Return `delta` where the client accepts nothing else: our tables need none of its features."""
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
    """Return the header that confirms the form of file ids: ours are the same in both."""
    wanted = request.headers.get(FILE_IDS)
    if wanted is None:
        return {}
    if wanted.lower() not in (PARQUET, DELTA):
        raise InvalidParameter("fileidhash must be parquet or delta", parameter=FILE_IDS)
    return {FILE_IDS: wanted.lower()}


FormatDep = Annotated[str, Depends(response_format)]
FileIdsDep = Annotated[dict[str, str], Depends(file_ids)]


MOST, USUAL = 1_000, 500


def get_page(
    maxResults: Annotated[int, Query(ge=0, le=2**31 - 1)] = USUAL,
    pageToken: Annotated[str, Query(max_length=400)] = "",
) -> Page:
    """Return the page that the address asks for."""
    return Page(read_cursor(pageToken, "pageToken"), min(maxResults, MOST), "pageToken")


def page_body(items: list[dict[str, Any]], token: str | None) -> dict[str, Any]:
    """Return a page of a list; without a token it is the last."""
    return {"items": items} if token is None else {"items": items, "nextPageToken": token}


PageDep = Annotated[Page, Depends(get_page)]
