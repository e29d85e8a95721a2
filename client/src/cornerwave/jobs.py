"""Jobs: submitted, polled until they end, and cancelled at an interrupt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cornerwave.problems import JobFailed, problem_from
from cornerwave.table_file import FORMATS, TableFile
from cornerwave.transport.calls import (
    ACCEPTED,
    Answer,
    Call,
    Flow,
    Pause,
    ProgressBar,
    every,
    get,
    revocable,
    send,
)
from cornerwave.transport.downloads import FileSink
from cornerwave.transport.drivers import operation
from cornerwave.transport.progress import ProgressState
from cornerwave.values import HtmlRepr, Report, load

FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.05, 2.0


@dataclass(frozen=True)
class Job(HtmlRepr):
    """Long work as it stood when it was looked at."""

    id: str
    kind: str
    subject: str
    state: str
    step: str
    done: int
    total: int
    attempts: int
    cancelling: bool
    created_at: str
    remaining_seconds: float | None = None
    started_at: str | None = None
    finished_at: str | None = None
    result: str | None = None
    problem: Report | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ("done", "failed", "cancelled")


def answered(call: Call) -> Flow[Answer]:
    """The answer to a call that may be long, which the service gives as a job where it can.

    The request is over as soon as its body has come: nothing in between loses patience, a lost line costs no
    work, and the job tells how far it is. A second try finds the same job by its Idempotency-Key, and so does
    whoever is interrupted before the job is known.
    """
    headers = {**call.headers, "Prefer": "respond-async"}
    first: Answer = yield revocable(replace(call, headers=headers))
    if first.status != ACCEPTED:
        return first
    job = yield from awaited(load(Job, first.json()).id, call.label)
    if job.result is None:
        raise AnswerLost(job)
    result = get("jobs", job.id, "result")
    answer: Answer = yield replace(result, accept=call.accept, into=call.into, label=call.label)
    return answer


class AnswerLost(JobFailed):
    """The job did what it should, and its answer was lost with the worker that had it."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"The job {job.id} is done, but its answer was lost: look at {job.subject}."
        )
        self.subject = job.subject


def awaited(job_id: str, label: str = "") -> Flow[Job]:
    """The job when it has ended well; JobFailed or its problem when it has not.

    Looks grow rarer. Whoever is interrupted while waiting (Ctrl-C, a cancelled task) cancels the job.
    """
    look = replace(get("jobs", job_id), abandoned=send("DELETE", "jobs", job_id))
    seconds = FIRST_LOOK_SECONDS
    with (yield ProgressBar(label or job_id)) as tell:
        while True:
            answer: Answer = yield look
            job = load(Job, answer.json())
            if job.ended:
                return _ended_well(job)
            tell(ProgressState(job.step or job.state, job.done, job.total, job.remaining_seconds))
            yield Pause(seconds, look)
            seconds = min(seconds * 1.5, LONGEST_LOOK_SECONDS)


def _ended_well(job: Job) -> Job:
    if job.state == "done":
        return job
    if job.problem is not None:
        document: dict[str, Any] = job.problem.as_dict()
        raise problem_from(int(document.get("status", 500)), document)
    raise JobFailed(f"The job {job.id} was {job.state}.")


class Jobs:
    """The long work of this principal."""

    @operation
    def jobs(self, *, state: str | None = None) -> Flow[list[Job]]:
        """The newest first."""
        found = yield from every("jobs", "jobs", state=state)
        return [load(Job, each) for each in found]

    @operation
    def job(self, job_id: str) -> Flow[Job]:
        """One of them."""
        answer: Answer = yield get("jobs", job_id)
        return load(Job, answer.json())

    @operation
    def wait(self, job_id: str) -> Flow[Job]:
        """Wait until a job has ended well; an interrupt cancels it."""
        return (yield from awaited(job_id))

    @operation
    def result(self, job_id: str) -> Flow[TableFile | Report | bytes]:
        """Return the answer to the request of a finished job: a table, a report, or another object."""
        held = TableFile()
        with held._path.open("wb") as file:
            call = replace(get("jobs", job_id, "result"), accept="*/*", into=FileSink(file))
            answer: Answer = yield call
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if kind == FORMATS["parquet"]:
            return held
        content = held._path.read_bytes()
        if kind != FORMATS["json"]:
            return content
        return Report(replace(answer, content=content).json())

    @operation
    def cancel_job(self, job_id: str) -> Flow[Job]:
        """Cancel a job: one that waits is never begun, one that runs ends soon."""
        answer: Answer = yield send("DELETE", "jobs", job_id)
        return load(Job, answer.json())
