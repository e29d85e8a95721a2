"""A data set as an analyst meets it: first rows, distributions, associations, code, downloads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.addresses import base_of
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.model import Copy, Level, Role
from app.portal.analyst.pictures import summary_document
from app.portal.analyst.snippets import snippets
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.asking import Ask
from app.service.copies import issue, lookup
from app.service.datasets import catalogue, levels
from app.service.distributions.copy_summary import first_rows, summarise_copy
from app.service.resources import Resources
from app.service.sharing.delta.listing import own_table

router = APIRouter(prefix="/portal/datasets", route_class=Page, include_in_schema=False)

FIRST_ROWS = 8
LONGEST_CELL = 60


@router.get("/{dataset_id}")
def show_dataset(
    dataset_id: str,
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    level: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The page of a data set, at one of the levels that the caller may have."""
    dataset = catalogue.show_dataset(resources, ask, dataset_id)
    offered = levels.list_levels(resources, ask, dataset_id)
    chosen = _chosen(offered, level)
    copy = _copy(resources, ask, dataset_id, chosen)
    table = own_table(resources, ask, dataset_id, chosen.name) if chosen else None
    return page(
        request,
        "analyst/dataset.html",
        title=dataset.name,
        dataset=dataset,
        levels=offered,
        level=chosen,
        copy=copy,
        rows=_cells(resources, ask, copy) if copy else None,
        snippets=snippets(base_of(request), copy, table) if copy else [],
        may_read=ask.caller.role is not Role.AUDITOR,
    )


@router.post("/{dataset_id}/copies")
def make_copy(
    dataset_id: str,
    resources: ResourcesHere,
    ask: AskHere,
    level: Annotated[str, Form(max_length=200)],
) -> Response:
    """Have the copy of a level made."""
    issue.issue_copy(resources, ask, dataset_id, issue.Wanted(level=level))
    return RedirectResponse(f"/portal/datasets/{dataset_id}?done=copy-made", 303)


@router.get("/{dataset_id}/copies/{copy_id}/summary")
def show_summary(copy_id: str, resources: ResourcesHere, ask: AskHere) -> Response:
    """What the pictures of the page are drawn from."""
    return summary_document(summarise_copy(resources, ask, copy_id))


def _chosen(offered: list[Level], name: str | None) -> Level | None:
    """The level asked for; else one that was issued, else any."""
    named = [level for level in offered if level.name == name]
    issued = [level for level in offered if level.issued]
    return next(iter(named or issued or offered), None)


def _copy(resources: Resources, ask: Ask, dataset_id: str, level: Level | None) -> Copy | None:
    if level is None or ask.caller.role is Role.AUDITOR:
        return None
    return lookup.copy_at_level(resources, ask, dataset_id, level.name)


def _cells(resources: Resources, ask: Ask, copy: Copy) -> list[list[str | None]]:
    table = first_rows(resources, ask, copy.id, FIRST_ROWS)
    return [[_shown(value) for value in row.values()] for row in table.to_pylist()]


def _shown(value: object) -> str | None:
    if value is None:
        return None
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"
