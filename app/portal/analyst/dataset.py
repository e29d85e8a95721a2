"""Data set page for analysts: first rows, distributions, associations, code, downloads.

What scripts draw of a copy is told them as JSON. A copy as a file is the very bytes that the API sends, with an
estimate of how many there will be.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import orjson
import pyarrow as pa
from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of
from app.api.transport.endpoints import downloads
from app.errors import InvalidParameter
from app.model import Copy, Kind, Level, Role
from app.portal.analyst.snippets import snippets
from app.portal.pages import page
from app.portal.route import SESSION_COOKIE, PortalRoute, VisitDep, cookie_of
from app.portal.workbench.results import figures, matrix
from app.service.context import RequestContext
from app.service.copies import issue, levels
from app.service.copies.download_permission import StillPermitted, require_still_permitted
from app.service.copies.files.signed_urls import sign_files
from app.service.copies.generation import history
from app.service.copies.generation.release import Selection, open_release, record_release
from app.service.datasets import registry
from app.service.distributions.copy_sample import leading
from app.service.distributions.copy_summary import (
    Categories,
    CopySummary,
    Numbers,
    some_rows,
    summarise_copy,
)
from app.service.resources import Resources
from app.service.sharing.delta.shares import own_table
from app.service.sharing.sessions import principal_of_session
from app.tables.media import MediaType
from app.tables.writer import write_batches, write_table


def summary_document(summary: CopySummary) -> Response:
    """The summary, with figures rounded to what a picture shows."""
    told = summary.associations
    document = {
        "rows": summary.rows,
        "sampled_rows": summary.sampled_rows,
        "band": summary.band,
        "columns": [_column(one) for one in summary.columns],
        "associations": {
            "names": told.names,
            "released": matrix(told.released),
            "corrected": None if told.corrected is None else matrix(told.corrected),
        },
    }
    return Response(orjson.dumps(document), media_type="application/json")


def _column(one: Numbers | Categories) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.column.name, "missing": round(one.missing, 4)}
    if isinstance(one, Categories):
        return said | {
            "form": "categories",
            "names": one.names,
            "shares": figures(one.shares),
            "low": figures(one.low),
            "high": figures(one.high),
            "others": round(one.others, 5),
        }
    return said | {
        "form": "dates" if one.column.kind is Kind.DATE else "numbers",
        "edges": [float(f"{edge:.9g}") for edge in one.edges],
        "released": figures(one.released),
        "estimated": None if one.estimated is None else figures(one.estimated),
        "low": figures(one.low),
        "high": figures(one.high),
    }


router = APIRouter(prefix="/portal/datasets", route_class=PortalRoute, include_in_schema=False)

ROWS_AT_ONCE = 25
LONGEST_CELL = 60


@router.get("/{dataset_id}")
def show_dataset(
    dataset_id: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    level: Annotated[str | None, Query(max_length=200)] = None,
    number: Annotated[int, Query(alias="page", ge=1, le=2**40)] = 1,
) -> Response:
    """The page of a data set, at one of the levels that the principal may have."""
    dataset = registry.show_dataset(resources, context, dataset_id)
    offered = levels.list_levels(resources, context, dataset_id)
    chosen = _chosen(offered, level)
    copy = _copy(resources, context, dataset_id, chosen)
    table = own_table(resources, context, dataset_id, chosen.name) if chosen else None
    return page(
        request,
        "analyst/dataset.html",
        title=dataset.name,
        dataset=dataset,
        levels=offered,
        level=chosen,
        copy=copy,
        rows=_cells(resources, context, copy, number) if copy else None,
        number=number,
        pages=-(-copy.rows // ROWS_AT_ONCE) if copy else 0,
        at_once=ROWS_AT_ONCE,
        link_seconds=resources.limits.signed_url_seconds,
        snippets=snippets(base_of(request), copy, table) if copy else [],
        may_read=context.principal.role is not Role.AUDITOR,
    )


@router.post("/{dataset_id}/copies")
def make_copy(
    dataset_id: str,
    resources: ResourcesDep,
    context: ContextDep,
    level: Annotated[str, Form(max_length=200)],
) -> Response:
    """Issue the copy of a level."""
    issue.issue_copy(resources, context, dataset_id, issue.CopyRequest(level=level))
    return RedirectResponse(f"/portal/datasets/{dataset_id}?done=copy-made", 303)


@router.post("/{dataset_id}/copies/{copy_id}/link")
def make_link(
    dataset_id: str,
    copy_id: str,
    request: Request,
    visit: VisitDep,
    resources: ResourcesDep,
    context: ContextDep,
) -> Response:
    """Signed addresses of a copy's files, for programs without a key."""
    signed = sign_files(resources, context, copy_id, Selection(), key_id=visit.session.key)
    base = base_of(request)
    urls = [one.url if "://" in one.url else base + one.url for one in signed.files]
    return page(
        request,
        "analyst/link.html",
        title="Sharing link",
        dataset=registry.show_dataset(resources, context, dataset_id),
        urls=urls,
        expires_at=signed.expires_at,
    )


@router.get("/{dataset_id}/copies/{copy_id}/summary")
def show_summary(copy_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Return the data of the page's charts."""
    return summary_document(summarise_copy(resources, context, copy_id))


def _chosen(offered: list[Level], name: str | None) -> Level | None:
    """The level asked for; else one that was issued, else any."""
    named = [level for level in offered if level.name == name]
    issued = [level for level in offered if level.issued]
    return next(iter(named or issued or offered), None)


def _copy(
    resources: Resources, context: RequestContext, dataset_id: str, level: Level | None
) -> Copy | None:
    if level is None or context.principal.role is Role.AUDITOR:
        return None
    return history.copy_at_level(resources, context, dataset_id, level.name)


def _cells(
    resources: Resources, context: RequestContext, copy: Copy, number: int
) -> list[list[str | None]]:
    skipped = (number - 1) * ROWS_AT_ONCE
    table = some_rows(resources, context, copy.id, ROWS_AT_ONCE, skipped)
    return [[_shown(value) for value in row.values()] for row in table.to_pylist()]


def _shown(value: object) -> str | None:
    if value is None:
        return None
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


downloads_router = APIRouter(
    prefix="/portal/copies", route_class=PortalRoute, include_in_schema=False
)

FORMATS = {
    "csv": MediaType.CSV,
    "parquet": MediaType.PARQUET,
    "arrow": MediaType.ARROW,
    "xlsx": MediaType.XLSX,
}
MEASURED_ROWS = 1_000
"""From so many rows it is told how many bytes all of them will take."""


@downloads_router.get("/{copy_id}/content")
def download_copy(
    copy_id: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    name: Annotated[str, Query(alias="format")] = "csv",
) -> Response:
    """Download a copy."""
    media_type = FORMATS.get(name)
    if media_type is None:
        raise InvalidParameter(f"format is one of {', '.join(FORMATS)}", parameter="format")
    release = open_release(resources, context, copy_id, Selection())
    expected = _bytes(leading(release, MEASURED_ROWS), media_type, release.rows)
    cells = downloads.CsvCells.SAFE
    etag = downloads.entity_tag(release.fingerprint, media_type, cells)
    headers = downloads.download_headers(etag, media_type, release.name)
    record_release(resources, context, release, media_type.value)
    find_principal = principal_of_session(cookie_of(request, SESSION_COOKIE) or "")
    subject = f"GET {request.url.path}"[:500]
    look = partial(
        require_still_permitted,
        resources,
        context,
        find_principal,
        copy_id,
        subject,
        columns=[column.name for column in release.columns],
        first_row=release.first,
    )
    go_on = StillPermitted(resources, look)
    chunks = write_batches(release.each_block, release.schema, media_type, safe=True)
    headers |= {"X-Expected-Bytes": str(expected), "Cache-Control": "no-store"}
    return downloads.streamed(downloads.watched(chunks, go_on), media_type, headers)


def _bytes(measured: pa.Table, media_type: MediaType, rows: int) -> int:
    """About how many bytes so many rows take, from those measured."""
    whole, none = (
        sum(map(len, write_table(part, media_type))) for part in (measured, measured.slice(0, 0))
    )
    each = (whole - none) / max(int(measured.num_rows), 1)
    return none + round(each * rows)
