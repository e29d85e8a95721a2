"""Routes of a copy's Parquet files: list with signed URLs, download with ranges and without a key."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from app.api.copies.schemas import selection
from app.api.transport.dependencies import (
    ContextDep,
    ProgressDep,
    ResourcesDep,
    base_of,
    can_be_long,
    key_id_of,
    request_id_of,
)
from app.api.transport.endpoints.downloads import (
    is_unchanged,
    pieces_of,
    range_of,
    streamed,
    wants_range,
    watched,
)
from app.api.transport.endpoints.route import CopyRoute
from app.api.transport.forms import Form
from app.api.transport.incoming.tables import BYTES, OCTETS
from app.api.transport.problems import PROBLEM_ANSWER
from app.errors import InvalidSignedUrl
from app.service.authentication import count_file_request, refuse_address
from app.service.context import RequestContext
from app.service.copies.files.copy_files import open_file
from app.service.copies.files.signed_urls import (
    SignedFile,
    SignedFiles,
    link_of,
    linked_file,
    require_link_still_holds,
    sign_files,
)
from app.tables.media import MediaType

router = APIRouter(tags=["copies"], route_class=CopyRoute)
links = APIRouter(tags=["copies"])

FILE: dict[str, Any] = {MediaType.PARQUET.value: BYTES, OCTETS: BYTES}
CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": FILE},
    206: {"description": "The bytes asked for by `Range`.", "content": FILE},
    304: {"description": "Unchanged since the answer with the ETag in `If-None-Match`."},
    416: PROBLEM_ANSWER | {"description": "The range is not part of the file."},
}


class FilesForm(Form):
    """Columns and rows of a copy, and the validity of the URLs."""

    columns: list[Annotated[str, Field(max_length=1_000)]] | None = Field(
        None,
        max_length=2_000,
        description="Names; all that the principal may have, where none are.",
    )
    rows: str | None = Field(
        None, description="Ordinals from:to, the second not included.", examples=["0:1000"]
    )
    expires_in_seconds: int | None = Field(
        None, ge=1, description="At most CORNERWAVE_SIGNED_URL_SECONDS, which is the default."
    )


class FileStatistics(BaseModel):
    """Statistics of a column's perturbed values in the file."""

    missing: int
    min: float | int | str | None = None
    max: float | int | str | None = None


class FileView(BaseModel):
    """A Parquet file. `url` needs no key; `id`, `size_bytes` and `sha256` stay the same for the same copy,
    columns and rows."""

    id: str
    name: str
    url: str
    size_bytes: int
    sha256: str
    rows: int
    first_row: int
    end_row: int
    statistics: dict[str, FileStatistics]

    @classmethod
    def of(cls, signed: SignedFile, base: str) -> Self:
        file = signed.file
        return cls(
            id=file.id,
            name=file.name,
            url=base + signed.url if signed.url.startswith("/") else signed.url,
            size_bytes=file.size,
            sha256=file.sha256,
            rows=file.rows,
            first_row=file.first_row,
            end_row=file.end_row,
            statistics={name: FileStatistics(**values) for name, values in file.statistics.items()},
        )


class FilesView(BaseModel):
    """Files of a copy in row order, and when their URLs expire."""

    copy_id: str
    expires_at: datetime
    rows: int
    size_bytes: int
    files: list[FileView]

    @classmethod
    def of(cls, signed: SignedFiles, base: str) -> Self:
        files = [FileView.of(one, base) for one in signed.files]
        return cls(
            copy_id=signed.copy,
            expires_at=signed.expires_at,
            rows=sum(file.rows for file in files),
            size_bytes=sum(file.size_bytes for file in files),
            files=files,
        )


@router.post("/v1/copies/{copy_id}/files")
@can_be_long()
def list_files(
    copy_id: str,
    form: FilesForm,
    request: Request,
    response: Response,
    resources: ResourcesDep,
    context: ContextDep,
    progress: ProgressDep,
) -> FilesView:
    """List the copy as Parquet files of a million rows each, with signed URLs."""
    signed = sign_files(
        resources,
        context,
        copy_id,
        selection(form.columns, form.rows),
        key_id=key_id_of(request),
        seconds=form.expires_in_seconds,
        progress=progress,
    )
    # An address is as good as a key while it holds: no answer with one is kept anywhere.
    response.headers["Cache-Control"] = "no-store"
    return FilesView.of(signed, base_of(request))


@links.get("/files/{file_id}.parquet", response_class=Response, responses=CONTENT)
def download_file(
    request: Request,
    resources: ResourcesDep,
    file_id: Annotated[str, Path(max_length=100)],
    by: Annotated[str, Query(max_length=200, description="On whose behalf.")],
    se: Annotated[int, Query(ge=0, le=2**40, description="When the address ends, since 1970.")],
    sp: Annotated[str, Query(max_length=10, description="What it permits: r, to read.")],
    sig: Annotated[str, Query(max_length=200, description="The signature over all this.")],
) -> Response:
    """Read a file by an address that `list_files` gave; ranges are served, and no key is needed."""
    try:
        link = link_of(resources, file_id, by, se, sp, sig)
    except InvalidSignedUrl:
        refuse_address(resources, request.client.host if request.client else "unknown")
        raise
    request.state.principal = link.principal
    count_file_request(resources, link.principal)
    principal, file = linked_file(resources, link)
    etag = f'"{file.id}"'
    headers = {
        "ETag": etag,
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
        "Vary": "Accept",
        "Content-Disposition": f'attachment; filename="{file.id}.parquet"',
    }
    if is_unchanged(request, etag):
        return Response(status_code=304, headers=headers)
    if request.headers.get("accept", "").strip().lower() == OCTETS:
        headers["Content-Type"] = OCTETS  # for clients that know no Parquet
    request_id = request_id_of(request)
    content = open_file(resources, RequestContext(principal, request_id), file)
    subject = f"GET {request.url.path}"[:500]
    go_on = partial(require_link_still_holds, resources, link, request_id, subject)
    if wants_range(request, etag, MediaType.PARQUET):
        return range_of(request, content, MediaType.PARQUET, headers, go_on)
    headers["Content-Length"] = str(content.size)
    whole = watched(pieces_of(content, 0, content.size), go_on)
    return streamed(whole, MediaType.PARQUET, headers)
