"""The lines of an answer about a table: protocol, metadata and files, in either response format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from app.model import Column
from app.service.copies.released.links import SignedFile, SignedFiles
from app.service.copies.typed_output import output_type
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
