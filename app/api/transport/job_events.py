"""A job as server-sent events: one whenever something changed, and the last when it ended.

An event's id is a hash of what it says, so that `Last-Event-ID` says what the client knows, whichever process it asks.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Collection

import anyio
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from app.api.transport.dependencies import (
    address_of,
    counted,
    get_resources,
    key_id_of,
    known_principal,
)
from app.api.transport.job_schemas import JobView
from app.errors import DomainError, Unauthenticated
from app.model import Binding, Principal
from app.service.authentication import find_principal, refuse_address
from app.service.jobs.event_tokens import open_event_token
from app.service.jobs.status import JobStatus, show_job
from app.service.resources import Resources

LOOK_SECONDS = 0.5
SILENT_SECONDS = 15.0
"""After so long without news a comment is sent: proxies close what says nothing."""


def principal_of_token(request: Request, *, bindings: Collection[Binding] = ()) -> Principal:
    """Return the principal of the token in the address; without one, of the key."""
    token = request.query_params.get("token")
    if token is None:
        return known_principal(request, bindings=bindings)
    resources = get_resources(request)
    try:
        principal, key_id = open_event_token(resources, token, request.path_params["job_id"])
    except Unauthenticated:
        refuse_address(resources, address_of(request))
        raise
    return counted(request, principal, key_id)


def event_id(job_status: JobStatus) -> str:
    """The id of the event that shows a job as it is."""
    return _id_of(JobView.of(job_status).model_dump_json().encode())


def _id_of(view: bytes) -> str:
    return hashlib.blake2b(view, digest_size=9).hexdigest()


async def events_of(
    request: Request, first: JobStatus, last_event_id: str | None
) -> AsyncIterator[bytes]:
    """Events after the last that is known, until the job has ended, the client is gone, its key revoked, or the
    service stops."""
    resources: Resources = request.app.state.resources
    shutdown = request.app.state.shutdown

    def look() -> JobStatus | None:
        try:
            context = request.state.context
            if (
                find_principal(resources, context.principal.id, key_id_of(request))
                != context.principal
            ):
                return None
            return show_job(resources, context, first.job.id)
        except DomainError:
            return None

    seen: JobStatus | None = first
    said, said_at = last_event_id, 0.0
    while seen is not None:
        view = JobView.of(seen).model_dump_json().encode()
        ended = seen.job.state.ended
        if (now := _id_of(view)) != said or ended:
            name = b"end" if ended else b"progress"
            yield b"id: %s\nevent: %s\ndata: %s\n\n" % (now.encode(), name, view)
            said, said_at = now, time.monotonic()
        elif time.monotonic() - said_at > SILENT_SECONDS:
            yield b": still there\n\n"
            said_at = time.monotonic()
        if ended or shutdown.begun or await request.is_disconnected():
            return
        await anyio.sleep(LOOK_SECONDS)
        seen = await run_in_threadpool(look)
