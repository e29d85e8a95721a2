"""A table that is sent, or one that is named by where it lies: `{"source": "folder/*.parquet"}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Request
from pydantic import Field, ValidationError

from app.api.transport.forms import Form
from app.api.transport.incoming.tables import TABLE_BODY
from app.errors import InvalidParameter
from app.model import Storage
from app.service.asking import Ask
from app.service.datasets.arriving.importing import imported
from app.service.resources import Resources
from app.tables.bodies.encoding import Readable, Rewound
from app.tables.reading import read_batches
from app.tables.stream import ReadingWishes, TableStream

LONGEST_FORM = 16_384


class SourceForm(Form):
    """Where a table lies: a file, a folder, or a pattern of files, below a root for imports."""

    source: str = Field(max_length=4_000, examples=["s3://bucket/people/*.parquet"])


def incoming_table(
    request: Request,
    resources: Resources,
    ask: Ask,
    body: Readable,
    *,
    wished: Mapping[str, Storage],
    wishes: ReadingWishes,
) -> TableStream:
    """The table of a request, sent or imported."""
    content_type = request.headers.get("content-type")
    if (content_type or "").partition(";")[0].strip().lower() == "application/json":
        head = body.read(LONGEST_FORM)
        source = _source(head)
        if source is not None:
            return imported(resources, ask, source, wished=wished, wishes=wishes)
        body = Rewound(head, body)
    return read_batches(
        body,
        content_type,
        request.headers.get("content-encoding"),
        resources.limits,
        resources.spool_dir,
        wished=wished,
        wishes=wishes,
    )


def _source(head: bytes) -> str | None:
    """The source that the body names; None when it is a table itself, or not JSON."""
    try:
        said: Any = orjson.loads(head)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(said, dict) or "source" not in said or "columns" in said:
        return None
    try:
        return SourceForm.model_validate(said, strict=True).source
    except ValidationError:
        raise InvalidParameter(
            'an import is {"source": "…"} and nothing beside it', parameter="source"
        ) from None


def _with_source(body: dict[str, Any]) -> dict[str, Any]:
    """What a route that takes a table says of its body, with the other thing that it takes."""
    content = dict(body["requestBody"]["content"])
    table = content["application/json"]["schema"]
    content["application/json"] = {"schema": {"anyOf": [table, SourceForm.model_json_schema()]}}
    return {"requestBody": {**body["requestBody"], "content": content}}


TABLE_OR_SOURCE = _with_source(TABLE_BODY)
