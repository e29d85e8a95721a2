"""Job handler of asynchronous requests: sends the request to its route and keeps the answer.

The job sends the request to the same routes that would have answered it, with the body that was
sealed meanwhile. So a job does what the request would have done, and its answer has the same bytes.
Its writes happen once, however many attempts there are: the job's id is its Idempotency-Key.
It is read again as the request would have got it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Any

import anyio
from fastapi import FastAPI, Response
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.responses import StreamingResponse
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.dependencies import Replay
from app.api.transport.request_body import IncomingBody
from app.errors import (
    Busy,
    IdempotencyConflict,
    JobUnfinished,
    NotFound,
    StorageFull,
    Unauthenticated,
    Unavailable,
)
from app.job import Job, JobState
from app.service.authentication import find_principal
from app.service.context import IdempotentRequest, RequestContext
from app.service.idempotency import find_receipt
from app.service.jobs.enqueue import payload_of
from app.service.jobs.job_types import Failed, JobType, Outcome
from app.service.jobs.request_body import AnswerSink, RequestBody
from app.service.jobs.retention import answer_file, files_of, request_file
from app.service.jobs.status import JobStatus
from app.service.progress import Progress
from app.service.resources import Resources

KEPT_HEADERS = (b"accept", b"content-type", b"content-encoding", b"host", b"if-match")
"""Of a request, what its answer depends on."""

DROPPED_HEADERS = ("content-length", "connection", "transfer-encoding", "set-cookie")
"""Of an answer, what is the connection's and not the answer's."""

MAY_PASS = (Busy.slug, Unavailable.slug, StorageFull.slug)


def request_kind(app: FastAPI) -> JobType:
    """Jobs that answer requests by the routes of an app, without what stands around them for principals."""
    handlers = {
        error: handler
        for error, handler in app.exception_handlers.items()
        if error not in (500, Exception)
    }
    routes = ExceptionMiddleware(AsyncExitStackMiddleware(app.router), handlers)

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = app
        await routes(scope, receive, send)

    return JobType(partial(_replay, answering), cleanup=_clean_up)


@dataclass
class Answer:
    """Answer of the route: status, headers, body."""

    sink: AnswerSink
    progress: Progress
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    problem: bytes = b""

    async def send(self, message: Message) -> None:
        self.progress.raise_if_cancelled()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [
                (n.decode("latin-1"), v.decode("latin-1")) for n, v in message["headers"]
            ]
        elif self.status < 400:
            self.sink.write(message.get("body", b""))
        else:
            self.problem += message.get("body", b"")


def _replay(app: ASGIApp, resources: Resources, job: Job, progress: Progress) -> Outcome:
    given = payload_of(resources, job)
    context = _request_context(resources, job, given["key"])
    name = answer_file(job.id, job.attempts)
    files = resources.jobs.files
    try:
        with files.opened(request_file(job.id)) as body, files.writer(name) as sink:
            answer = Answer(sink, progress)
            replay = Replay(context, progress, BytesIO(), given["key"])
            replay.body = RequestBody(body, lambda: progress.subrange(0, replay.reading))
            anyio.run(_run, app, _scope(given, body.size, replay), answer)
            if answer.status >= 400:
                raise _Refused(answer)
    except FileNotFoundError:
        raise NotFound("What was sent with the request is not there any more.") from None
    except _Refused as refused:
        return _refused(refused.answer)
    receipt = find_receipt(resources, context)
    kept = [(n, v) for n, v in answer.headers if n.lower() not in DROPPED_HEADERS]
    subject = None if receipt is None else receipt.subject
    return Outcome({"status": answer.status, "headers": kept, "file": name}, subject)


class _Refused(Exception):
    """The route answered with a problem: no file is kept."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


async def _run(app: ASGIApp, scope: Scope, answer: Answer) -> None:
    is_asked_again = False

    async def receive() -> Message:
        # The body is read from its file; and there is no sender who could go away.
        nonlocal is_asked_again
        if is_asked_again:
            await anyio.sleep_forever()
        is_asked_again = True
        return {"type": "http.request", "body": b"", "more_body": False}

    incoming = IncomingBody(scope, receive, math.inf)
    scope["state"]["incoming_body"] = incoming
    await app(scope, incoming.receive, answer.send)


def _request_context(resources: Resources, job: Job, key_id: str | None) -> RequestContext:
    """Return the context of the job's request; Unauthenticated if its principal or key was revoked.

    The job's id is its idempotency key.
    """
    principal = find_principal(resources, job.principal or "", key_id)
    if principal is None:
        raise Unauthenticated("The principal or its key was revoked before the job ran.")
    return RequestContext(
        principal, job.request_id, IdempotentRequest(f"job:{job.id}", lambda: job.id, job.id)
    )


def _scope(given: dict[str, Any], size: int, replay: Replay) -> Scope:
    headers = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in given["headers"]]
    if size:
        headers.append((b"content-length", str(size).encode()))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": given["method"],
        "scheme": given.get("scheme", "http"),
        "path": given["path"],
        "raw_path": given["path"].encode(),
        "root_path": "",
        "query_string": given["query"].encode(),
        "headers": headers,
        "client": None,
        "server": None,
        "state": {"request_id": replay.context.request_id, "replay": replay},
    }


def _refused(answer: Answer) -> Outcome:
    """Return the outcome for a problem: a failure, or the success of an earlier attempt."""
    said = json.loads(answer.problem)
    slug = said.pop("type").rpartition("/")[2]
    if slug == IdempotencyConflict.slug:
        # A worker was lost after the write and before its answer was kept: what was made is there.
        return Outcome({}, said.get("subject"))
    title, detail = said.pop("title"), said.pop("detail")
    fields = {n: v for n, v in said.items() if n not in ("status", "request_id")}
    raise Failed(slug, title, detail, fields, may_pass=slug in MAY_PASS)


def _clean_up(resources: Resources, job: Job) -> None:
    """The body goes with the job's end, and so do answers of attempts that were lost, the last one's too."""
    kept = answer_file(job.id, job.attempts) if job.state is JobState.DONE else None
    for name in files_of(job):
        if name != kept:
            resources.jobs.files.remove(name)


ANSWER_CHUNK_BYTES = 256 * 2**10


def answer_of(resources: Resources, watched: JobStatus, status: int | None = None) -> Response:
    """The job's answer, with its own status or another; JobUnfinished where there is none."""
    kept = watched.outcome.get("value")
    if watched.job.state is not JobState.DONE or not kept or "file" not in kept:
        raise JobUnfinished(
            "The job has no result to read.", state=watched.job.state.value, job=watched.job.id
        )
    chunks = _chunks(resources, kept["file"])
    try:
        first = next(chunks, b"")
    except FileNotFoundError:
        raise NotFound("The result of this job is not there any more.") from None
    response = StreamingResponse(_with(first, chunks), status or kept["status"])
    for name, value in kept["headers"]:
        response.headers.append(name, value)
    return response


def _chunks(resources: Resources, name: str) -> Iterator[bytes]:
    with resources.jobs.files.opened(name) as file:
        for start in range(0, file.size, ANSWER_CHUNK_BYTES):
            yield file.read(start, ANSWER_CHUNK_BYTES)


def _with(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
