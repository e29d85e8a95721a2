"""The history of a data set: what was done to it and its copies, and by whom."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.portal.owner.owning import ONE, OwnHere
from app.portal.rendering import page
from app.portal.visits import Page
from app.service import logs
from app.service.sharing import recipients

router = APIRouter(prefix=f"{ONE}/history", route_class=Page, include_in_schema=False)

AT_ONCE = 50


@router.get("")
def show_history(
    request: Request,
    dataset: OwnHere,
    resources: ResourcesHere,
    ask: AskHere,
    before: Annotated[int | None, Query(ge=1, lt=2**62)] = None,
) -> Response:
    """Entries of the log about a data set, the newest first."""
    found = logs.dataset_log(resources, ask, dataset.id, before=before, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    mentioned = {entry.caller for entry in shown}
    mentioned |= {str(entry.facts.get("recipient")) for entry in shown}
    return page(
        request,
        "owner/history.html",
        title=f"History of {dataset.name}",
        dataset=dataset,
        entries=shown,
        names=recipients.names_of(resources, ask, mentioned),
        older=shown[-1].sequence if len(found) > AT_ONCE else None,
    )
