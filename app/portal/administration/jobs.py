"""Jobs: what runs, what waits, what came of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.errors import InvalidParameter
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.jobs.watching import cancel_job, list_jobs
from app.store.database.jobs import JobState

router = APIRouter(prefix="/portal/jobs", route_class=Page, include_in_schema=False)

AT_ONCE = 50


@router.get("")
def show_jobs(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    state: Annotated[str, Query(max_length=20)] = "",
    after: Annotated[str, Query(max_length=60)] = "",
) -> Response:
    """One's own jobs, the newest first; everybody's for administrators."""
    if state and state not in list(JobState):
        raise InvalidParameter(f"state is one of {', '.join(JobState)}", parameter="state")
    chosen = JobState(state) if state else None
    found = list_jobs(resources, ask, chosen, after=after, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    return page(
        request,
        "administration/jobs.html",
        title="Jobs",
        jobs=shown,
        states=list(JobState),
        state=state,
        more=shown[-1].job.id if len(found) > AT_ONCE else None,
    )


@router.post("/{job_id}/cancel")
def cancel(job_id: str, resources: ResourcesHere, ask: AskHere) -> Response:
    """Have a job end."""
    cancel_job(resources, ask, job_id)
    return RedirectResponse("/portal/jobs?done=cancelled", 303)
