"""Asynchronous requests: `Prefer: respond-async` turns a request into a job.

Its body is sealed at rest first; then the row is committed, and the principal gets 202 and an address, or
the answer itself where it waits for a while and the job is done in time.
"""

from __future__ import annotations

import time

import anyio
import orjson
from fastapi import Request, Response, params
from fastapi.dependencies.utils import get_flat_params, request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from app.api.transport.dependencies import AsyncPreference, key_id_of
from app.api.transport.incoming.async_worker import KEPT_HEADERS, answer_of
from app.api.transport.incoming.bodies import FairSemaphore, received_body
from app.api.transport.incoming.tables import FORM, require_form
from app.api.transport.job_schemas import JobView
from app.api.transport.problems import PROBLEM_TYPE
from app.errors import InvalidParameter, InvalidTable
from app.job import JobState
from app.service.context import RequestContext, new_id
from app.service.jobs.enqueue import enqueue
from app.service.jobs.retention import REQUEST, request_file
from app.service.jobs.status import JobStatus, show_job
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.tables.bodies.streams import ByteStream

CHUNK_BYTES = 2**20
LOOKS_SECONDS = (0.05, 0.1, 0.2, 0.5)


async def accept(
    request: Request, route: APIRoute, context: RequestContext, preference: AsyncPreference
) -> Response:
    """Keep the request as a job; 202 and the job, or the answer where it is there in time."""
    resources: Resources = request.app.state.resources
    job_id = await keep_request(request, route, context)
    job_status = await _waited(resources, context, job_id, preference.seconds)
    # Without `wait` the answer is always 202, even where the job has already ended.
    answer = _answer if preference.seconds > 0 else _accepted
    response = await run_in_threadpool(answer, resources, job_status)
    response.headers["Preference-Applied"] = preference.applied
    return response


async def keep_request(
    request: Request,
    route: APIRoute,
    context: RequestContext,
    path: str | None = None,
    subject: str | None = None,
) -> str:
    """Keep the request as a job, and return its id; `path` is where the job sends it, if not to the route it came to."""
    _check_parameters(request, route)
    resources: Resources = request.app.state.resources
    uploads: FairSemaphore = request.app.state.uploads
    path = path or request.url.path
    subject = subject or f"{request.method} {path}"[:500]
    async with received_body(request, resources.limits.upload_bytes) as body:
        beginning = await run_in_threadpool(body.read, CHUNK_BYTES)
        if not beginning:
            _refuse_missing(request, route)
        async with uploads.acquire(context.principal.id):
            return await run_in_threadpool(
                _kept, request, resources, context, beginning, body, path, subject
            )


def _check_parameters(request: Request, route: APIRoute) -> None:
    """Validate the query at once; the job validates the body."""
    wrong = []
    for place, given in ((params.Path, request.path_params), (params.Query, request.query_params)):
        fields = [
            one for one in get_flat_params(route.dependant) if isinstance(one.field_info, place)
        ]
        _, errors = request_params_to_args(fields, given)
        wrong.extend(errors)
    if wrong:
        raise RequestValidationError(wrong)


def _refuse_missing(request: Request, route: APIRoute) -> None:
    """Refuse an empty body, as the route would, where it needs one."""
    if route.body_field is not None and route.body_field.field_info.is_required():
        missing = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
        raise RequestValidationError([missing])
    described = (route.openapi_extra or {}).get("requestBody", {})
    if not described.get("required"):
        return
    if FORM in described["content"]:
        require_form(request)
        raise InvalidParameter("the multipart form is empty", parameter="body")
    raise InvalidTable("The body is empty")


def _kept(
    request: Request,
    resources: Resources,
    context: RequestContext,
    beginning: bytes,
    body: ByteStream,
    path: str,
    subject: str,
) -> str:
    """Seal the body and keep the job. Without the row, the file goes."""
    job_id = new_id("job")
    name = request_file(job_id)
    try:
        with resources.jobs.files.writer(name) as sink:
            data, stored_bytes = beginning, 0
            while data:
                sink.write(data)
                stored_bytes += len(data)
                data = body.read(CHUNK_BYTES)
        _enqueue(request, resources, context, job_id, stored_bytes, path, subject)
    except BaseException:
        resources.jobs.files.remove(name)
        raise
    return job_id


def _enqueue(
    request: Request,
    resources: Resources,
    context: RequestContext,
    job_id: str,
    stored_bytes: int,
    path: str,
    subject: str,
) -> None:
    said = {
        "method": request.method,
        "scheme": request.url.scheme,
        "path": path,
        "query": request.url.query,
        "headers": [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in request.headers.raw
            if name.lower() in KEPT_HEADERS
        ],
        "key": key_id_of(request),
    }
    with unit_of_work(resources, context) as uow:
        enqueue(
            uow.connection,
            resources,
            kind=REQUEST,
            subject=subject,
            payload=said,
            principal=context.principal,
            request_id=context.request_id,
            job_id=job_id,
            stored_bytes=stored_bytes,
        )
        uow.record("job.accept", job_id, route=request.scope["route"].path)


async def _waited(
    resources: Resources, context: RequestContext, job_id: str, seconds: float
) -> JobStatus:
    """The job as it is when it has ended, or when the time is over."""
    deadline = time.monotonic() + seconds
    looks = iter(LOOKS_SECONDS)
    while True:
        job_status = await run_in_threadpool(show_job, resources, context, job_id)
        left = deadline - time.monotonic()
        if job_status.job.state.ended or left <= 0:
            return job_status
        await anyio.sleep(min(next(looks, LOOKS_SECONDS[-1]), left))


def _accepted(_: Resources, job_status: JobStatus) -> Response:
    view = JobView.of(job_status)
    headers = {"Location": f"/v1/jobs/{view.id}"}
    return Response(view.model_dump_json(), 202, headers, "application/json")


def _answer(resources: Resources, job_status: JobStatus) -> Response:
    view = JobView.of(job_status)
    if view.state is JobState.DONE and job_status.outcome.get("value"):
        return answer_of(resources, job_status)
    if view.problem is not None:
        body = orjson.dumps(view.problem.model_dump(exclude_unset=True))
        return Response(body, view.problem.status, media_type=PROBLEM_TYPE)
    return _accepted(resources, job_status)
