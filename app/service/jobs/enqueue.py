"""A job begins as a row in the transaction of what it follows from: both are there, or neither is."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection

from app.model import Caller
from app.service.asking import new_id
from app.store.database import jobs
from app.store.database.engine import after_commit
from app.store.database.jobs import Job

if TYPE_CHECKING:
    from app.service.resources import Resources

INTERNAL = "-"
"""The request id of what no request asked for."""

log = logging.getLogger("cornerwave.jobs")


def enqueue(
    connection: Connection,
    resources: Resources,
    *,
    kind: str,
    subject: str,
    payload: dict[str, Any],
    caller: Caller | None,
    run_at: datetime | None = None,
    request_id: str = INTERNAL,
    only_one: str | None = None,
    job_id: str | None = None,
) -> str | None:
    """Keep a job to be run after the transaction is committed, not before `run_at`; its id.

    `caller` is who may watch and cancel it; nobody where it is the service's own. With `only_one` there
    is no second unfinished job of that name, and then None is returned.
    """
    if kind not in resources.jobs.kinds:
        raise ValueError(f"there is no kind of jobs {kind!r}")
    now = datetime.now(UTC)
    new = job_id or new_id("job")
    job = Job(
        id=new,
        kind=kind,
        caller=None if caller is None else caller.id,
        role=None if caller is None else caller.role.value,
        subject=subject,
        request_id=request_id,
        only_one=only_one,
        created_at=now,
        run_at=run_at or now,
        payload=resources.vault.seal(orjson.dumps(payload), f"job:{new}"),
        woken_at=run_at or now,
    )
    if not jobs.add(connection, job):
        return None
    after_commit(connection, lambda: wake(resources, new, run_at))
    return new


def payload_of(resources: Resources, job: Job) -> dict[str, Any]:
    """What a job was given."""
    given: dict[str, Any] = orjson.loads(resources.vault.open(job.payload, f"job:{job.id}"))
    return given


def wake(resources: Resources, job_id: str, at: datetime | None = None) -> None:
    """Have a worker look at a job. Where the queue fails, the job is found in the database later."""
    try:
        resources.jobs.queue.wake(job_id, at)
    except Exception as error:  # whatever is behind the queue has failures of its own
        log.warning("not woken", extra={"job": job_id, "failure": type(error).__name__})
