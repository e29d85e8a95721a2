"""Jobs: long work that outlives its request, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class JobState(StrEnum):
    """State of a job; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, repr=False)
class Job:
    """A job as it is kept; `payload` and `outcome` are sealed.

    where:
        principal           whose it is; none where the service asked for it itself
        role             the role that the principal had then
        subject          what it is about, in an id or an address
        dedup_key        a name that no two unfinished jobs share
        concurrency_key  whose jobs take turns with those of other keys
        run_at           not before
        attempts         how often it was begun
        done, total      how far it is, and how far it goes
        cancel_requested     whether it shall stop
        lease            the token of who works on it, until `lease_until` unless it says more
        claimed_at       when it was last begun
        stored_bytes     what lies in the store until it is over
    """

    id: str
    kind: str
    principal: str | None
    role: str | None
    subject: str
    request_id: str
    dedup_key: str | None
    created_at: datetime
    run_at: datetime
    payload: bytes
    concurrency_key: str
    stored_bytes: int = 0
    state: JobState = JobState.QUEUED
    attempts: int = 0
    step: str = ""
    done: int = 0
    total: int = 0
    cancel_requested: bool = False
    lease: str | None = None
    lease_until: datetime | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outcome: bytes | None = None
