"""JSON schema of jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from app.api.transport.problems import Problem, stored_problem
from app.job import JobState
from app.service.jobs.status import JobStatus


class JobView(BaseModel):
    """A job: state, progress, and result or problem."""

    id: str
    kind: str
    principal: str
    subject: str = Field(description="What was asked for; once it is done, what it made.")
    state: JobState
    cancelling: bool = Field(description="It was cancelled and is about to end.")
    step: str = Field(description="What is being done, in words.")
    done: int = Field(ge=0, description="How much of `total` is done; it never goes back.")
    total: int = Field(ge=0, description="Zero until the work has said how much there is to do.")
    remaining_seconds: float | None = Field(description="An estimate, where there can be one.")
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: str | None = Field(description="Where the answer is, once the job is done.")
    problem: Problem | None = Field(description="Why the job failed.")

    @classmethod
    def of(cls, job_status: JobStatus) -> JobView:
        job, outcome = job_status.job, job_status.outcome
        done = job.state is JobState.DONE
        answered = done and "file" in (outcome.get("value") or {})
        return cls(
            id=job.id,
            kind=job.kind,
            principal=job.principal or "",
            subject=(outcome.get("subject") if done else None) or job.subject,
            state=job.state,
            cancelling=job.cancel_requested and not job.state.ended,
            step=job.step,
            done=job.done,
            total=job.total,
            remaining_seconds=job_status.remaining_seconds,
            attempts=job.attempts,
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            result=f"/v1/jobs/{job.id}/result" if answered else None,
            problem=(
                stored_problem(outcome, job.request_id) if job.state is JobState.FAILED else None
            ),
        )


class JobList(BaseModel):
    """A page of jobs, the newest first."""

    jobs: list[JobView]
    next_cursor: str | None


class TakenBack(BaseModel):
    """A request that was taken back."""

    job: JobView | None = Field(
        description="What it had become, cancelled; null where nothing was kept of it, nor will be."
    )


class EventTokenView(BaseModel):
    """Where the events of a job are, until then, without a key."""

    url: str
    expires_at: datetime
