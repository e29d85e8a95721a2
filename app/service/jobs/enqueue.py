"""Enqueue a job in the transaction that causes it, deduplicated by `dedup_key`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection

from app.errors import QuotaExceeded
from app.job import Job
from app.model import Limits, Principal
from app.service.context import new_id
from app.store.database import jobs
from app.store.database.engine import after_commit

if TYPE_CHECKING:
    from app.service.resources import Resources

INTERNAL = "-"
"""The request id of what no request asked for."""

COME_AGAIN_SECONDS = 30


def enqueue(
    connection: Connection,
    resources: Resources,
    *,
    kind: str,
    subject: str,
    payload: dict[str, Any],
    principal: Principal | None,
    run_at: datetime | None = None,
    request_id: str = INTERNAL,
    dedup_key: str | None = None,
    job_id: str | None = None,
    concurrency_key: str | None = None,
    stored_bytes: int = 0,
) -> str | None:
    """Keep a job to be run after the transaction is committed, not before `run_at`; its id.

    where:
        principal           who may watch and cancel it; nobody where it is the service's own
        dedup_key        there is one unfinished job of that key; for a second None is returned
        concurrency_key  jobs of one key take turns with those of others; the principal, else the type
        stored_bytes     what lies in the store until the job is over

    QuotaExceeded when as many jobs or bytes of the principal wait as may.
    """
    if kind not in resources.jobs.job_types:
        raise ValueError(f"there is no type of jobs {kind!r}")
    if principal is not None:
        _require_quota(connection, resources.limits, principal, stored_bytes)
    now = datetime.now(UTC)
    new = job_id or new_id("job")
    job = Job(
        id=new,
        kind=kind,
        principal=None if principal is None else principal.id,
        role=None if principal is None else principal.role.value,
        subject=subject,
        request_id=request_id,
        dedup_key=dedup_key,
        created_at=now,
        run_at=run_at or now,
        payload=resources.vault.seal(orjson.dumps(payload), f"job:{new}"),
        concurrency_key=concurrency_key or (kind if principal is None else principal.id),
        stored_bytes=stored_bytes,
    )
    if not jobs.add(connection, job):
        return None
    after_commit(connection, resources.jobs.committed.set)
    return new


def _require_quota(
    connection: Connection, limits: Limits, principal: Principal, stored_bytes: int
) -> None:
    """Refuse a job beyond what one principal may have unfinished."""
    unfinished = jobs.unfinished_of(connection, principal.id)
    if unfinished.count >= limits.unfinished_jobs:
        raise QuotaExceeded(
            f"A principal may have {limits.unfinished_jobs} unfinished jobs.",
            limit_jobs=limits.unfinished_jobs,
            seconds=COME_AGAIN_SECONDS,
        )
    if unfinished.count and unfinished.stored_bytes + stored_bytes > limits.unfinished_job_bytes:
        raise QuotaExceeded(
            f"The unfinished jobs of a principal may hold {limits.unfinished_job_bytes} bytes.",
            limit_bytes=limits.unfinished_job_bytes,
            seconds=COME_AGAIN_SECONDS,
        )


def payload_of(resources: Resources, job: Job) -> dict[str, Any]:
    """Return the payload of a job."""
    given: dict[str, Any] = orjson.loads(resources.vault.open(job.payload, f"job:{job.id}"))
    return given
