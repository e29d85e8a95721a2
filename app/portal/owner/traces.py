"""Whose copy is this? A found table is dropped in, and traced."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.incoming.tables import BodyHere, ReadingHere
from app.portal.owner.owning import ONE, OwnHere
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.copies.tracing import trace
from app.service.sharing import recipients
from app.tables.reading import read_table

router = APIRouter(prefix=f"{ONE}/trace", route_class=Page, include_in_schema=False)


@router.get("")
def show_form(request: Request, dataset: OwnHere) -> Response:
    """Where a found table is dropped."""
    title = f"Trace a table to copies of {dataset.name}"
    return page(request, "owner/trace.html", title=title, dataset=dataset)


@router.post("")
def trace_file(
    request: Request,
    dataset: OwnHere,
    resources: ResourcesHere,
    ask: AskHere,
    body: BodyHere,
    reading: ReadingHere,
) -> Response:
    """The recipients whose copies a file was made of."""
    found = read_table(body, None, None, resources.limits, resources.spool_dir, wishes=reading)
    traced = trace(resources, ask, dataset.id, found)
    names = recipients.names_of(resources, ask, {one.recipient for one in traced.copies})
    return page(request, "owner/traced.html", traced=traced, names=names)
