"""Tables in requests: read options, and the table from the body, a multipart form or a server file.

A form's parts stay in memory (they are bounded by the upload limit): an original on its way to a
stateless method never lies on the disk in clear.

A body is worked on when it is complete and has a slot. Work on one holds a thread, and Starlette has 40: 24 slots leave
the rest to others. A slot is free again as soon as the answer begins, however slowly it is taken.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import PurePath
from typing import Annotated, Any, TypeVar

import pyarrow as pa
from fastapi import Depends, Query, Request
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep, replay_of
from app.api.transport.error_places import message_of, place_of
from app.api.transport.incoming.bodies import FairSemaphore, received_body
from app.api.transport.request_body import incoming_body_of
from app.errors import InvalidParameter, UnsupportedMediaType
from app.service.context import RequestContext
from app.service.progress import Progress
from app.service.resources import Resources
from app.tables.bodies.streams import ByteStream
from app.tables.media import OFFERED, MediaType
from app.tables.pipeline import TableSource, read_table
from app.tables.stream import (
    LAST_HEADER_ROW,
    MOST_SKIPPED,
    DateOrder,
    Decimal,
    Header,
    ReadOptions,
)

UPLOADS_AT_ONCE, UPLOADS_OF_ONE = 24, 8
PIECE_BYTES = 2**20
FORM = "multipart/form-data"

NAMED_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " "}

EXTENSIONS = {
    ".csv": MediaType.CSV,
    ".parquet": MediaType.PARQUET,
    ".arrow": MediaType.ARROW,
    ".arrows": MediaType.ARROW,
    ".json": MediaType.JSON,
    ".xlsx": MediaType.XLSX,
}
FORM_BYTES = 512 * 2**20
"""A form is held in memory, so it may be no larger than this, whatever the upload limit."""

T = TypeVar("T")


def read_options(
    delimiter: Annotated[
        str | None,
        Query(
            max_length=10,
            description="What separates the fields of a CSV: a character, or comma, semicolon, tab, pipe.",
        ),
    ] = None,
    decimal: Annotated[
        Decimal | None, Query(description="The decimal sign of the numbers in a text.")
    ] = None,
    encoding: Annotated[
        str | None,
        Query(max_length=40, description="The encoding of a CSV, such as utf-8 or windows-1252."),
    ] = None,
    header: Annotated[
        Header | None, Query(description="Whether the first row holds the column names.")
    ] = None,
    missing: Annotated[
        list[str] | None,
        Query(
            description="A further text that stands for a missing cell, such as - or -999; repeat it for more."
        ),
    ] = None,
    sheet: Annotated[
        str | None, Query(max_length=200, description="The sheet of a workbook that is the table.")
    ] = None,
    dates: Annotated[
        DateOrder | None,
        Query(description="Which of day and month stands first in dates such as 03/04/2024."),
    ] = None,
    header_row: Annotated[
        int | None,
        Query(
            ge=1,
            le=LAST_HEADER_ROW,
            description="The line of a text, or the row of a sheet, that holds the column names.",
        ),
    ] = None,
    skip_rows: Annotated[
        list[int] | None,
        Query(
            max_length=MOST_SKIPPED,
            description="A row to leave out, such as a total; rows count from 1, below the column names. Repeat it for more.",
        ),
    ] = None,
) -> ReadOptions:
    """Return the read options of the query."""
    return ReadOptions(
        delimiter=NAMED_DELIMITERS.get(delimiter or "", delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or ()),
        sheet=sheet,
        dates=dates,
        header_row=header_row,
        skip_rows=tuple(skip_rows or ()),
    )


ReadingDep = Annotated[ReadOptions, Depends(read_options)]


async def get_body(
    request: Request, resources: ResourcesDep, context: ContextDep
) -> AsyncGenerator[ByteStream, None]:
    """The request's body as a file: complete, and with a slot to be worked on."""
    if getattr(request.state, "form_was_read", False):
        raise UnsupportedMediaType("The body is a form. Send the file itself as the body.")
    limit = resources.limits.upload_bytes
    async with received_body(request, limit) as body, _slot(request, context):
        yield body


@asynccontextmanager
async def _slot(request: Request, context: RequestContext) -> AsyncIterator[None]:
    """A slot for work on a body, until its answer begins; a job has a thread of its own."""
    if replay_of(request) is not None:
        yield
        return
    uploads: FairSemaphore = request.app.state.uploads
    async with uploads.acquire(context.principal.id) as release:
        incoming_body_of(request).when_answered(release)
        yield


BodyDep = Annotated[ByteStream, Depends(get_body)]


def get_table(
    request: Request,
    resources: ResourcesDep,
    body: BodyDep,
    options: ReadingDep,
    progress: ProgressDep,
) -> pa.Table:
    """The request's body as one table, for a stateless method."""
    return read_table(
        TableSource(
            body, request.headers.get("content-type"), request.headers.get("content-encoding")
        ),
        options,
        resources.limits,
        resources.spool_dir,
        progress.raise_if_cancelled,
    )


TableDep = Annotated[pa.Table, Depends(get_table)]


class _InMemory(MultiPartParser):
    """Starlette's parser, which would write larger parts to a temporary file."""

    spool_max_size = FORM_BYTES


@dataclass(frozen=True)
class TableForm:
    """A multipart form: tables in some parts, JSON or text in others."""

    files: dict[str, Sequence[UploadFile]]
    fields: dict[str, Sequence[str]]
    resources: Resources
    options: ReadOptions
    progress: Progress

    def table(self, name: str) -> pa.Table:
        """The one table in the part `name`."""
        tables = self.tables(name)
        if len(tables) != 1:
            raise InvalidParameter(f"give one table in the part {name!r}", parameter=name)
        return tables[0]

    def tables(self, name: str, options: Sequence[ReadOptions] = ()) -> list[pa.Table]:
        """The tables in the parts `name`, in order; at least one. `options` are those of the first ones."""
        if not self.files.get(name):
            raise InvalidParameter(
                f"the form needs a table in a part named {name!r}, sent as a file", parameter=name
            )
        limits, spool = self.resources.limits, self.resources.spool_dir
        told = chain(options, repeat(self.options))
        return [
            read_table(
                TableSource(part.file, content_type_of(part)),
                read_as,
                limits,
                spool,
                self.progress.raise_if_cancelled,
            )
            for part, read_as in zip(self.files[name], told, strict=False)
        ]

    def values(self, name: str, kind: type[T]) -> list[T]:
        """The JSON in the parts `name`, each as a `kind`."""
        adapter: TypeAdapter[T] = TypeAdapter(kind)
        return [_value(name, text, adapter) for text in self.fields.get(name, ())]

    def value(self, name: str, kind: type[T], default: T | None = None) -> T | None:
        """The JSON in the one part `name` as a `kind`, or the default."""
        found = self.values(name, kind)
        if len(found) > 1:
            raise InvalidParameter(f"give the part {name!r} once", parameter=name)
        return found[0] if found else default


def _value(name: str, text: str, adapter: TypeAdapter[T]) -> T:
    try:
        return adapter.validate_json(text)
    except ValidationError as wrong:
        first = wrong.errors(include_input=False, include_context=False, include_url=False)[0]
        said = None if first["type"] == "json_invalid" else from_json(text)
        where = ".".join(filter(None, [name, place_of(first, said)]))
        raise InvalidParameter(
            f"The part `{where}` cannot be used: {message_of(first)}.", parameter=name
        ) from None


async def get_form(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    options: ReadingDep,
    progress: ProgressDep,
) -> AsyncGenerator[TableForm, None]:
    """The request's multipart form; its parts are closed after the request."""
    require_form(request)
    limit = min(FORM_BYTES, resources.limits.upload_bytes)
    async with received_body(request, limit) as body, _slot(request, context):
        parser = _InMemory(request.headers, _pieces(body), max_files=256, max_fields=256)
        try:
            form = await parser.parse()
        except (MultiPartException, KeyError, UnicodeDecodeError):
            raise InvalidParameter("the multipart form is malformed", parameter="body") from None
        try:
            known = form_parts(request.scope["route"].openapi_extra)
            yield TableForm(*_sorted_parts(form, known), resources, options, progress)
        finally:
            await form.close()


def require_form(request: Request) -> None:
    """UnsupportedMediaType where the body is no multipart form."""
    if not request.headers.get("content-type", "").lower().startswith(FORM):
        raise UnsupportedMediaType(f"The body must be {FORM}", supported=[FORM])


def _sorted_parts(
    form: FormData, known: Sequence[str]
) -> tuple[dict[str, Sequence[UploadFile]], dict[str, Sequence[str]]]:
    """Files and fields by name; InvalidParameter for a part that the route does not know."""
    files: dict[str, list[UploadFile]] = {}
    fields: dict[str, list[str]] = {}
    for name, part in form.multi_items():
        if name not in known:
            raise InvalidParameter(
                f"There is no part {name[:100]!r} in this form; it takes {', '.join(known)}.",
                parameter=name[:100],
            )
        if isinstance(part, UploadFile):
            files.setdefault(name, []).append(part)
        else:
            fields.setdefault(name, []).append(part)
    return dict(files), dict(fields)


FormDep = Annotated[TableForm, Depends(get_form)]


async def _pieces(body: ByteStream) -> AsyncGenerator[bytes, None]:
    while piece := await run_in_threadpool(body.read, PIECE_BYTES):
        yield piece


def content_type_of(part: UploadFile) -> str | None:
    """Return the content type of a part, or that of its file name."""
    if part.content_type and part.content_type != "application/octet-stream":
        return part.content_type
    return EXTENSIONS.get(PurePath(part.filename or "").suffix.lower())


class Table(BaseModel):
    """A table as JSON: its columns by name, all of the same length."""

    columns: dict[str, list[float | str | bool | None]]


OCTETS = "application/octet-stream"
BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}

# Text that is called binary is what generated clients fail at: they decode it, and then take it for bytes.
_TEXT = {"schema": {"type": "string"}}

_COLUMNS = {"schema": {"$ref": "#/components/schemas/Table"}}

TABLE_TYPES: dict[str, Any] = {
    media.value: {MediaType.CSV: _TEXT, MediaType.JSON: _COLUMNS}.get(media, BYTES)
    for media in OFFERED
}
"""The formats, for the OpenAPI document; CSV, which a principal without a preference gets, comes first."""

TABLE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A table in any format that is read: its first bytes tell which, and without such it is CSV. "
        "A `Content-Type` that names the format is taken as well: "
        + ", ".join(f"`{media.value}`" for media in OFFERED)
        + " and those of the guide.",
        "content": {OCTETS: BYTES, MediaType.JSON.value: _COLUMNS},
    }
}
"""`openapi_extra` of a route whose body is a table.

Bytes, by the one name that every generated client can send; those that know no CSV leave it out with a warning.
"""


def form_body(
    tables: Sequence[str], fields: dict[str, str], optional: dict[str, str] | None = None
) -> dict[str, Any]:
    """`openapi_extra` of a route whose body is a form: its tables, and its fields with their meaning.

    `optional` are further tables, with their meaning. A part of another name is refused.
    """
    properties: dict[str, Any] = {
        name: {"type": "string", "format": "binary", "description": text}
        for name, text in (dict.fromkeys(tables, "A table.") | (optional or {})).items()
    }
    properties |= {name: {"type": "string", "description": text} for name, text in fields.items()}
    schema = {"type": "object", "required": list(tables), "properties": properties}
    return {"requestBody": {"required": True, "content": {FORM: {"schema": schema}}}}


def form_parts(openapi_extra: dict[str, Any]) -> list[str]:
    """The parts of a form, as `form_body` told them to the document."""
    schema = openapi_extra["requestBody"]["content"][FORM]["schema"]
    return list(schema["properties"])
