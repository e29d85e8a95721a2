"""Job rows: queue, leases, state, outcome.

The row is the truth. Whoever wants to work on a job takes a lease on it, by a token of its own; every
later change asks for that token (compare and set), so that a worker which was given up for dead can
change nothing any more, and a job ends once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from app.job import Job, JobState
from app.model import ListQuery, ListResult
from app.store.database import tables
from app.store.database.lists import Order, rows_of


def add(connection: Connection, job: Job) -> bool:
    """Keep a new job; False where an unfinished one has its `dedup_key`."""
    try:
        with connection.begin_nested():
            connection.execute(insert(tables.jobs).values(**asdict(job)))
    except IntegrityError:
        if job.dedup_key is None:
            raise
        return False
    return True


def one(connection: Connection, job_id: str) -> Job | None:
    """A job by id."""
    query = select(tables.jobs).where(tables.jobs.c.id == job_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _job(row)


def due_types(connection: Connection, now: datetime) -> set[str]:
    """The types of which a job could be begun now."""
    query = select(tables.jobs.c.kind).where(_is_free(now)).distinct()
    return set(connection.execute(query).scalars())


def next_free(
    connection: Connection, types: Collection[str], full: Collection[str], now: datetime
) -> Job | None:
    """The job of these types that is next, locked; none of a key in `full`.

    Keys take turns: first that with the fewest jobs that run, then that whose last turn is longest ago.
    Of a key, the job that is due longest comes first.
    """
    jobs, others = tables.jobs.c, tables.jobs.alias()
    is_candidate = and_(_is_free(now), jobs.kind.in_(types), jobs.concurrency_key.not_in(full))
    waiting = (
        select(jobs.concurrency_key.label("key"), func.min(jobs.run_at).label("since"))
        .where(is_candidate)
        .group_by(jobs.concurrency_key)
        .subquery()
    )
    same_key = and_(others.c.concurrency_key == waiting.c.key, others.c.kind.in_(types))
    running = (
        select(func.count())
        .select_from(others)
        .where(same_key, others.c.state == JobState.RUNNING, others.c.lease_until >= now)
        .scalar_subquery()
    )
    last_turn = select(func.max(others.c.claimed_at)).where(same_key).scalar_subquery()
    keys = select(waiting.c.key).order_by(
        running, last_turn.nulls_first(), waiting.c.since, waiting.c.key
    )
    for key in connection.execute(keys).scalars().all():
        query = (
            select(tables.jobs)
            .where(is_candidate, jobs.concurrency_key == key)
            .order_by(jobs.run_at, jobs.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        if (row := connection.execute(query).one_or_none()) is not None:
            return _job(row)
    return None  # others of another process were quicker


def claim(
    connection: Connection, job_id: str, lease: str, now: datetime, until: datetime
) -> Job | None:
    """Begin a job that is due, or whose worker is gone; None where it is not to be had."""
    jobs = tables.jobs.c
    taken = connection.execute(
        update(tables.jobs)
        .where(jobs.id == job_id, _is_free(now))
        .values(
            state=JobState.RUNNING,
            lease=lease,
            lease_until=until,
            attempts=jobs.attempts + 1,
            claimed_at=now,
            started_at=func.coalesce(jobs.started_at, now),
        )
    )
    return one(connection, job_id) if taken.rowcount == 1 else None


def give_up(connection: Connection, job_id: str, now: datetime, outcome: bytes) -> bool:
    """End a job that lost its worker as often as it may."""
    jobs = tables.jobs.c
    ended = connection.execute(
        update(tables.jobs)
        .where(jobs.id == job_id, _is_free(now))
        .values(state=JobState.FAILED, finished_at=now, outcome=outcome, lease=None)
    )
    return ended.rowcount == 1


def beat(
    connection: Connection,
    job_id: str,
    lease: str,
    until: datetime,
    *,
    step: str,
    done: int,
    total: int,
) -> bool | None:
    """Renew a lease and store progress; return whether to stop, None if the lease is lost."""
    beaten = connection.execute(
        update(tables.jobs)
        .where(*_held(job_id, lease))
        .values(lease_until=until, step=step, done=done, total=total)
    )
    if beaten.rowcount != 1:
        return None
    query = select(tables.jobs.c.cancel_requested).where(tables.jobs.c.id == job_id)
    return bool(connection.execute(query).scalar_one())


def finish(
    connection: Connection,
    job_id: str,
    lease: str,
    state: JobState,
    now: datetime,
    outcome: bytes | None,
    total: int,
) -> bool:
    """End a job; False where another has it by now, and then nothing of this counts."""
    values = {"state": state, "finished_at": now, "outcome": outcome, "lease": None}
    if state is JobState.DONE:
        values |= {"done": total, "total": total}
    ended = connection.execute(update(tables.jobs).where(*_held(job_id, lease)).values(**values))
    return ended.rowcount == 1


def put_back(
    connection: Connection, job_id: str, lease: str, run_at: datetime, *, counted: bool
) -> bool:
    """Let a job be begun again, not before `run_at`; the attempt counts, or was none."""
    jobs = tables.jobs.c
    back = connection.execute(
        update(tables.jobs)
        .where(*_held(job_id, lease))
        .values(
            state=JobState.QUEUED,
            lease=None,
            lease_until=None,
            run_at=run_at,
            attempts=jobs.attempts if counted else jobs.attempts - 1,
        )
    )
    return back.rowcount == 1


def ask_to_cancel(connection: Connection, job_id: str, now: datetime) -> None:
    """End a job that waits; have the worker of one that runs end it."""
    jobs = tables.jobs.c
    connection.execute(
        update(tables.jobs)
        .where(jobs.id == job_id, jobs.state == JobState.QUEUED)
        .values(state=JobState.CANCELLED, finished_at=now)
    )
    connection.execute(
        update(tables.jobs)
        .where(jobs.id == job_id, jobs.state == JobState.RUNNING)
        .values(cancel_requested=True)
    )


def is_to_end(connection: Connection, job_id: str) -> bool:
    """Return whether a job was asked to end; nobody can ask for it until this transaction is over."""
    query = select(tables.jobs.c.cancel_requested).where(tables.jobs.c.id == job_id)
    return bool(connection.execute(query.with_for_update()).scalar_one_or_none())


def unfinished(connection: Connection) -> dict[JobState, int]:
    """Return how many jobs wait and how many run."""
    jobs = tables.jobs.c
    query = (
        select(jobs.state, func.count())
        .where(jobs.state.in_((JobState.QUEUED, JobState.RUNNING)))
        .group_by(jobs.state)
    )
    return {JobState(state): count for state, count in connection.execute(query)}


@dataclass(frozen=True)
class UnfinishedJobs:
    """Unfinished jobs of a principal, and the bytes stored for them."""

    count: int
    stored_bytes: int


def unfinished_of(connection: Connection, principal: str) -> UnfinishedJobs:
    """The unfinished jobs of a principal."""
    jobs = tables.jobs.c
    query = select(func.count(), func.coalesce(func.sum(jobs.stored_bytes), 0)).where(
        jobs.principal == principal, jobs.state.in_((JobState.QUEUED, JobState.RUNNING))
    )
    count, stored_bytes = connection.execute(query).one()
    return UnfinishedJobs(count, int(stored_bytes))


def ended_before(connection: Connection, moment: datetime, limit: int) -> list[Job]:
    """Jobs that ended before a moment."""
    jobs = tables.jobs.c
    query = select(tables.jobs).where(jobs.finished_at < moment).order_by(jobs.finished_at)
    return [_job(row) for row in connection.execute(query.limit(limit))]


def of_kinds(
    connection: Connection, kinds: Collection[str], *, after: str, limit: int
) -> list[Job]:
    """Jobs of some kinds by id, after the one named."""
    query = select(tables.jobs).where(tables.jobs.c.kind.in_(kinds), tables.jobs.c.id > after)
    return [_job(row) for row in connection.execute(query.order_by(tables.jobs.c.id).limit(limit))]


def forget(connection: Connection, job_id: str) -> None:
    """Remove a job."""
    connection.execute(delete(tables.jobs).where(tables.jobs.c.id == job_id))


def page(
    connection: Connection,
    principal: str | None,
    state: JobState | None,
    *,
    after: str,
    limit: int,
) -> list[Job]:
    """Jobs of a principal, or of all principals, the newest first, after the one named."""
    jobs = tables.jobs.c
    query = select(tables.jobs).where(
        jobs.principal == principal if principal is not None else jobs.principal.is_not(None)
    )
    if state is not None:
        query = query.where(jobs.state == state)
    if after:
        then = select(jobs.created_at).where(jobs.id == after).scalar_subquery()
        query = query.where(
            or_(jobs.created_at < then, and_(jobs.created_at == then, jobs.id < after))
        )
    rows = connection.execute(query.order_by(jobs.created_at.desc(), jobs.id.desc()).limit(limit))
    return [_job(row) for row in rows]


def search(
    connection: Connection, wanted: ListQuery, principal: str | None, state: JobState | None
) -> ListResult[Job]:
    """Search, sort and page jobs: a principal's, or of all principals."""
    jobs = tables.jobs.c
    query = select(tables.jobs).where(
        jobs.principal == principal if principal is not None else jobs.principal.is_not(None)
    )
    if state is not None:
        query = query.where(jobs.state == state)
    searched = [jobs.kind, jobs.subject, jobs.id]
    rows, total = rows_of(connection, query, wanted, searched=searched, orders=ORDERS)
    return ListResult([_job(row) for row in rows], total)


ORDERS: dict[str, Order] = {
    "newest": (tables.jobs.c.created_at.desc(), tables.jobs.c.id.desc()),
    "oldest": (tables.jobs.c.created_at, tables.jobs.c.id),
    "kind": (tables.jobs.c.kind, tables.jobs.c.created_at.desc()),
}


def _is_free(now: datetime) -> ColumnElement[bool]:
    """Return whether a job waits and is due, or runs under a lease that is over."""
    jobs = tables.jobs.c
    return or_(
        and_(jobs.state == JobState.QUEUED, jobs.run_at <= now),
        and_(jobs.state == JobState.RUNNING, jobs.lease_until < now),
    )


def _held(job_id: str, lease: str) -> tuple[ColumnElement[bool], ...]:
    jobs = tables.jobs.c
    return (jobs.id == job_id, jobs.state == JobState.RUNNING, jobs.lease == lease)


def _job(row: Row[tuple[object, ...]]) -> Job:
    kept = dict(row._mapping)
    return Job(**kept | {"state": JobState(kept["state"])})
