"""Rows page: append from a file, retire by key or by number."""

from __future__ import annotations

import re
from typing import Annotated

import orjson
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep
from app.api.transport.incoming.tables import BodyDep, ReadingDep
from app.errors import InvalidParameter
from app.portal.owner.dependencies import ONE, PREFIX, OwnDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.datasets.rows import changes as rows
from app.service.datasets.rows import pending_rows
from app.tables.pipeline import TableSource, open_table

router = APIRouter(prefix=f"{ONE}/rows", route_class=PortalRoute, include_in_schema=False)

LONGEST_LIST = 2**19


@router.get("")
def show_rows(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    retired: int | None = None,
) -> Response:
    """Return how many rows there are, those pending, and forms that change that."""
    return page(
        request,
        "owner/rows.html",
        title=f"Rows of {dataset.name}",
        dataset=dataset,
        retired=retired,
        pending=pending_rows.list_pending(resources, context, dataset.id),
    )


@router.post("")
def append_file(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    body: BodyDep,
    reading: ReadingDep,
    progress: ProgressDep,
    allow_versions: bool = False,
    allow_overlap: bool = False,
) -> Response:
    """Append the rows of a file."""
    options = rows.expected_options(resources, context, dataset.id, reading)
    with open_table(TableSource(body), options, resources.limits, resources.spool_dir) as stream:
        appended = rows.append_rows(
            resources,
            context,
            dataset.id,
            stream,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            progress=progress,
        )
    said = {
        "appended": appended.rows,
        "pending": appended.batch is not None,
        "rows": appended.dataset.released_rows,
        "notices": [notice.detail for notice in appended.notices],
    }
    return Response(orjson.dumps(said), 201, media_type="application/json")


@router.post("/close")
def close_pending(dataset: OwnDep, resources: ResourcesDep, context: ContextDep) -> Response:
    """Form a part of the pending rows now."""
    pending_rows.close_pending(resources, context, dataset.id)
    return RedirectResponse(f"{PREFIX}/{dataset.id}/rows", 303)


@router.post("/pending/{batch_id}/withdraw")
def withdraw_pending(
    dataset: OwnDep, batch_id: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Withdraw a batch of pending rows."""
    pending_rows.withdraw_pending(resources, context, dataset.id, batch_id)
    return RedirectResponse(f"{PREFIX}/{dataset.id}/rows", 303)


@router.post("/retire")
def retire_rows(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    by: Annotated[str, Form(max_length=10)] = "keys",
    which: Annotated[str, Form(max_length=LONGEST_LIST)] = "",
) -> Response:
    """Withdraw rows; later downloads leave them out."""
    said = [text.strip() for text in re.split(r"[\r\n]+", which) if text.strip()]
    if not said:
        raise InvalidParameter("Name at least one row.", parameter="which")
    if by == "keys":
        retired, _ = rows.retire_rows(resources, context, dataset.id, rows=None, keys=said)
    else:
        retired, _ = rows.retire_rows(
            resources, context, dataset.id, rows=_numbers(said), keys=None
        )
    return RedirectResponse(f"{PREFIX}/{dataset.id}/rows?retired={retired}", 303)


def _numbers(said: list[str]) -> list[int]:
    words = [word for line in said for word in re.split(r"[\s,;]+", line) if word]
    if not all(word.isdecimal() and len(word) < 19 for word in words):
        raise InvalidParameter("The numbers of rows count from 0.", parameter="which")
    return [int(word) for word in words]
