"""The answer that came of a job, as the request would have got it."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Response
from fastapi.responses import StreamingResponse

from app.errors import JobUnfinished, NotFound
from app.service.jobs.watching import Watched
from app.service.resources import Resources
from app.store.blobs.job_files import read_all
from app.store.database.jobs import JobState

CHUNK_BYTES = 256 * 2**10


def answer_of(resources: Resources, watched: Watched, status: int | None = None) -> Response:
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
        yield from read_all(file, CHUNK_BYTES)


def _with(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
