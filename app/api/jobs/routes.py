"""/v1/jobs: list, show, cancel, follow by server-sent events, read the result."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of, key_id_of
from app.api.transport.endpoints.route import LONGEST_KEY, Route
from app.api.transport.incoming.async_worker import answer_of
from app.api.transport.incoming.tables import TABLE_TYPES
from app.api.transport.job_events import event_id, events_of, principal_of_token
from app.api.transport.job_schemas import EventTokenView, JobList, JobView, TakenBack
from app.api.transport.paging import PageDep
from app.job import JobState
from app.pictures import PNG, SVG
from app.service.jobs import event_tokens, status


class EventsRoute(Route):
    """Route that a token of `issue_event_token` opens too."""

    identify = staticmethod(principal_of_token)


router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=Route)

events = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=EventsRoute)

requests = APIRouter(prefix="/v1/requests", tags=["jobs"], route_class=Route)

EVENT_STREAM = "text/event-stream"
JOB_EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {
            "type": "string",
            "description": "For `Last-Event-ID`; the same while nothing changes.",
        },
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
    "description": "Server-sent events: lines `id:`, `event: progress` or `event: end`, and `data:` with the job as JSON (`JobView`); a comment when nothing changes.",
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


@router.post("/{job_id}/events", status_code=201)
def issue_event_token(
    job_id: str,
    request: Request,
    response: Response,
    resources: ResourcesDep,
    context: ContextDep,
) -> EventTokenView:
    """Return an address of the job's events that needs no key, for a browser's EventSource."""
    issued = event_tokens.issue_event_token(resources, context, job_id, key_id_of(request))
    response.headers["Cache-Control"] = "no-store"
    url = f"{base_of(request)}/v1/jobs/{job_id}/events?token={issued.token}"
    return EventTokenView(url=url, expires_at=issued.expires_at)


@events.get(
    "/{job_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "`progress` events with the job as JSON, then one `end`.",
            "content": {EVENT_STREAM: {"schema": EVENTS, "x-itemSchema": JOB_EVENT}},
        },
        204: {"description": "The job has ended, and `Last-Event-ID` is the id of its last event."},
    },
)
def follow_job(
    job_id: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that arrived.", max_length=100)
    ] = None,
    _token: Annotated[
        str | None,
        Query(
            alias="token", description="In place of a key; see `issue_event_token`.", max_length=500
        ),
    ] = None,
) -> Response:
    """Follow a job as server-sent events until it ends; go on after `Last-Event-ID`."""
    first = status.show_job(resources, context, job_id)
    if first.job.state.ended and last_event_id == event_id(first):
        return Response(status_code=204)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    told = events_of(request, first, last_event_id)
    return StreamingResponse(told, media_type=EVENT_STREAM, headers=headers)


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
    return answer_of(resources, status.show_own_job(resources, context, job_id), status=200)


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
