"""A job as server-sent events: one whenever something changed, and the last when it ended."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import anyio
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from app.api.jobs.schemas import JobView
from app.api.transport.dependencies import key_of
from app.errors import DomainError
from app.service.jobs.watching import Watched, show_job
from app.service.permission import authenticate
from app.service.resources import Resources

LOOK_SECONDS = 0.5
SILENT_SECONDS = 15.0
"""After so long without news a comment is sent: proxies close what says nothing."""


async def events_of(request: Request, first: Watched) -> AsyncIterator[bytes]:
    """Events until the job has ended, the client is gone, its key revoked, or the service stops."""
    resources: Resources = request.app.state.resources
    draining = request.app.state.draining

    def look() -> Watched | None:
        try:
            caller = authenticate(resources, key_of(request), "-")
            if caller != request.state.ask.caller:
                return None
            return show_job(resources, request.state.ask, first.job.id)
        except DomainError:
            return None

    seen: Watched | None = first
    said, said_at = b"", 0.0
    while seen is not None:
        view = JobView.of(seen).model_dump_json().encode()
        ended = seen.job.state.ended
        if view != said or ended:
            yield b"event: %s\ndata: %s\n\n" % (b"end" if ended else b"progress", view)
            said, said_at = view, time.monotonic()
        elif time.monotonic() - said_at > SILENT_SECONDS:
            yield b": still there\n\n"
            said_at = time.monotonic()
        if ended or draining.begun or await request.is_disconnected():
            return
        await anyio.sleep(LOOK_SECONDS)
        seen = await run_in_threadpool(look)
