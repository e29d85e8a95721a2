"""/v1/jobs: list, show, cancel, follow by server-sent events, read the result."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import LONGEST_KEY, Route
from app.api.transport.incoming.async_worker import answer_of
from app.api.transport.incoming.tables import TABLE_TYPES
from app.api.transport.job_schemas import JobList, JobView, TakenBack, events_of
from app.api.transport.paging import PageDep
from app.job import JobState
from app.pictures import PNG, SVG
from app.service.jobs import status

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=Route)

requests = APIRouter(prefix="/v1/requests", tags=["jobs"], route_class=Route)

EVENT_STREAM = "text/event-stream"
JOB_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/JobView"},
        },
    },
}
"""A server-sent event, as `itemSchema` of OpenAPI 3.2 will describe it."""

EVENTS = {
    "type": "string",
    "contentMediaType": EVENT_STREAM,
    "description": "Server-sent events: lines `event: progress` or `event: end`, and `data:` with the job as JSON (`JobView`); a comment when nothing changes.",
}

ANSWERS = TABLE_TYPES | {
    "application/json": {"schema": {"type": "object"}},
    **{kind: {"schema": {"type": "string"}} for kind in ("text/html", PNG, SVG)},
}
"""Whatever a request that can be long is answered with."""


@router.get("")
def list_jobs(
    resources: ResourcesDep,
    context: ContextDep,
    page: PageDep,
    state: Annotated[JobState | None, Query(description="Only jobs in this state.")] = None,
) -> JobList:
    """List the principal's jobs, newest first; an administrator sees all."""
    found, cursor = page.of(status.list_jobs, resources, context, state, place="job.id")
    return JobList(jobs=[JobView.of(one) for one in found], next_cursor=cursor)


@router.get("/{job_id}")
def show_job(job_id: str, resources: ResourcesDep, context: ContextDep) -> JobView:
    """Show a job: its state, how far it is, how long the rest will take, its result or problem."""
    return JobView.of(status.show_job(resources, context, job_id))


@router.get(
    "/{job_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "`progress` events with the job as JSON, then one `end`.",
            "content": {EVENT_STREAM: {"schema": EVENTS, "x-itemSchema": JOB_EVENT}},
        }
    },
)
def follow_job(
    job_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Follow a job as server-sent events until it ends."""
    first = status.show_job(resources, context, job_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events_of(request, first), media_type=EVENT_STREAM, headers=headers)


@router.get(
    "/{job_id}/result",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The answer, in the form that the request asked for.",
            "content": ANSWERS,
        }
    },
)
def read_result(job_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Read the response to the request of a job, once the job is done."""
    return answer_of(resources, status.show_job(resources, context, job_id), status=200)


@router.delete("/{job_id}")
def cancel_job(job_id: str, resources: ResourcesDep, context: ContextDep) -> JobView:
    """Cancel a job: it ends within a second or two. One that ended stays as it is."""
    return JobView.of(status.cancel_job(resources, context, job_id))


@requests.delete("")
def take_back(
    resources: ResourcesDep,
    context: ContextDep,
    idempotency_key: Annotated[
        str,
        Query(
            min_length=1,
            max_length=LONGEST_KEY,
            description="The `Idempotency-Key` that the request was, or is being, sent with.",
        ),
    ],
) -> TakenBack:
    """Take back a request that the client gave up on: cancel its job, or reject it when it arrives."""
    job_status = status.take_back(resources, context, idempotency_key)
    return TakenBack(job=None if job_status is None else JobView.of(job_status))
