"""Whether what was sent for jobs, and what came of them, is there and whole."""

from __future__ import annotations

from collections.abc import Iterator

from app.service.jobs.running import outcome_of
from app.service.jobs.tidying import jobs_with_files, request_file
from app.service.resources import Resources
from app.store.blobs.job_files import read_all
from app.store.database import jobs
from app.store.database.engine import reading
from app.store.database.jobs import Job
from app.store.vault import SealBroken

CHUNK_BYTES = 2**20


def wrong_job_files(resources: Resources, *, quick: bool) -> Iterator[tuple[str, str]]:
    """Files that jobs need and that are gone or broken: which, and what is wrong; `quick` opens them only."""
    with reading(resources.engine) as connection:
        known = list(jobs_with_files(connection))
    for job in known:
        name = _needed_file(resources, job)
        wrong = None if name is None else _looked_at(resources, name, quick=quick)
        if wrong is None:
            continue
        with reading(resources.engine) as connection:
            now = jobs.one(connection, job.id)
        # A job that ended meanwhile needs it no more.
        if now is not None and _needed_file(resources, now) == name:
            yield f"job {job.id} file {name}", wrong


def _needed_file(resources: Resources, job: Job) -> str | None:
    """The file that a job needs yet, or that holds its answer."""
    if not job.state.ended:
        return request_file(job.id)
    kept = outcome_of(resources, job).get("value") or {}
    name: str | None = kept.get("file")
    return name


def _looked_at(resources: Resources, name: str, *, quick: bool) -> str | None:
    try:
        with resources.jobs.files.opened(name) as file:
            for _ in () if quick else read_all(file, CHUNK_BYTES):
                pass
    except FileNotFoundError:
        return "is gone"
    except (SealBroken, OSError, ValueError) as error:
        return f"cannot be read ({type(error).__name__})"
    return None
