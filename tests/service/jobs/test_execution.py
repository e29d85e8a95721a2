"""Jobs are kept with what they follow from, run once to one end, and never lost."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, update

from app.errors import InvalidTable, Unavailable
from app.job import Job, JobState
from app.model import Role
from app.service.jobs.enqueue import enqueue, payload_of
from app.service.jobs.heartbeat import Heartbeat
from app.service.jobs.job_types import Outcome, TryAgain
from app.service.progress import Cancelled, Interrupted, Progress
from app.service.resources import Resources
from app.store.database import jobs, tables
from app.store.database.engine import reading, writing
from app.store.database.sharing import principals
from tests.service.jobs.conftest import Office


def echo(resources: Resources, job: Job, progress: Progress) -> Outcome:
    given = payload_of(resources, job)
    for number in range(4):
        progress.report("counting", number, 4)
    return Outcome({"said": given["say"]}, subject="made")


class Endless:
    """Work that goes on until it is told to end, and says how it ended."""

    def __init__(self) -> None:
        self.ends: list[str] = []

    def __call__(self, _resources: Resources, _job: Job, progress: Progress) -> Outcome:
        try:
            while True:
                progress.report("waiting", 1, 2)
                time.sleep(0.01)
        except BaseException as end:
            self.ends.append(type(end).__name__)
            raise


def test_a_job_is_done_and_its_outcome_kept_sealed(office: Office) -> None:
    office.knows("echo", echo)
    office.open()
    job_id = office.put("echo", {"say": "a word"})
    job = office.until(job_id)
    assert (job.state, job.attempts, job.done, job.total) == (JobState.DONE, 1, 4, 4)
    assert office.outcome(job_id) == {"value": {"said": "a word"}, "subject": "made"}
    assert b"a word" not in job.payload
    assert b"a word" not in (job.outcome or b"")


def test_a_job_is_there_only_if_its_transaction_is(office: Office) -> None:
    office.knows("echo", echo)

    def fail(connection: Connection) -> None:
        enqueue(connection, office.resources, kind="echo", subject="", payload={}, principal=None)
        assert jobs.unfinished(connection) == {JobState.QUEUED: 1}
        raise RuntimeError

    with pytest.raises(RuntimeError), writing(office.resources.engine) as connection:
        fail(connection)
    with reading(office.resources.engine) as connection:
        assert jobs.unfinished(connection) == {}


def test_jobs_wait_for_a_worker_and_for_their_time(office: Office) -> None:
    office.knows("echo", echo)
    begun = datetime.now(UTC)
    later = begun + timedelta(seconds=1.5)
    waiting = office.put("echo", {"say": ""})
    planned = office.put("echo", {"say": ""}, run_at=later)
    assert office.job(waiting).state is JobState.QUEUED
    office.open()
    assert office.until(waiting).state is JobState.DONE
    started = office.until(planned).started_at
    assert started is not None
    assert started >= later


def test_what_may_pass_is_tried_again_after_growing_pauses(office: Office) -> None:
    began: list[float] = []

    def flaky(_resources: Resources, job: Job, _progress: Progress) -> Outcome:
        began.append(time.monotonic())
        if job.attempts < 3:
            raise TryAgain if job.attempts == 1 else Unavailable("not now")
        return Outcome()

    office.knows("flaky", flaky, retry_delays=(0.2, 0.6))
    office.open()
    job = office.until(office.put("flaky"))
    assert (job.state, job.attempts) == (JobState.DONE, 3)
    assert began[1] - began[0] >= 0.2
    assert began[2] - began[1] >= 0.6


def test_what_never_passes_fails_with_its_problem(office: Office) -> None:
    def dead(_resources: Resources, _job: Job, _progress: Progress) -> Outcome:
        raise Unavailable("the other side is gone", seconds=3)

    office.knows("dead", dead, retry_delays=(0.05, 0.05))
    office.open()
    job_id = office.put("dead")
    job = office.until(job_id)
    assert (job.state, job.attempts) == (JobState.FAILED, 3)
    assert office.outcome(job_id) == {
        "slug": "unavailable",
        "title": Unavailable.title,
        "detail": "The other side is gone.",
        "fields": {"seconds": 3},
    }


@pytest.mark.parametrize(
    ("error", "slug"),
    [(InvalidTable("no rows"), "invalid-table"), (KeyError("a value"), "internal-error")],
)
def test_what_is_wrong_with_the_request_or_with_us_is_not_tried_again(
    office: Office, error: Exception, slug: str, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(_resources: Resources, _job: Job, _progress: Progress) -> Outcome:
        raise error

    office.knows("wrong", wrong)
    office.open()
    job_id = office.put("wrong")
    job = office.until(job_id)
    assert (job.state, job.attempts) == (JobState.FAILED, 1)
    assert office.outcome(job_id)["slug"] == slug
    assert "a value" not in caplog.text


def test_a_job_that_runs_is_cancelled_and_its_thread_is_free(office: Office) -> None:
    endless = Endless()
    office.knows("endless", endless)
    office.knows("echo", echo)
    office.open(threads=1)
    job_id = office.put("endless")
    office.when(job_id, lambda job: job.step == "waiting")
    with writing(office.resources.engine) as connection:
        jobs.ask_to_cancel(connection, job_id, datetime.now(UTC))
    assert office.until(job_id).state is JobState.CANCELLED
    assert endless.ends == [Cancelled.__name__]
    # The only thread takes the next job.
    assert office.until(office.put("echo", {"say": ""})).state is JobState.DONE


def test_a_job_that_waits_is_cancelled_and_never_begun(office: Office) -> None:
    office.knows("echo", echo)
    job_id = office.put("echo", {"say": ""})
    with writing(office.resources.engine) as connection:
        jobs.ask_to_cancel(connection, job_id, datetime.now(UTC))
    office.open()
    office.until(office.put("echo", {"say": ""}))
    job = office.job(job_id)
    assert (job.state, job.attempts) == (JobState.CANCELLED, 0)


def test_a_stop_puts_jobs_back_and_the_next_worker_does_them(office: Office) -> None:
    endless = Endless()
    office.knows("work", endless)
    office.open()
    job_id = office.put("work")
    office.when(job_id, lambda job: job.step == "waiting")
    office.close()
    job = office.job(job_id)
    assert (job.state, job.attempts, endless.ends) == (
        JobState.QUEUED,
        0,
        [Interrupted.__name__],
    )
    office.knows("work", lambda *_: Outcome())
    office.open()
    assert office.until(job_id).attempts == 1


def test_the_job_of_a_worker_that_died_is_taken_up_and_the_dead_can_end_nothing(
    office: Office,
) -> None:
    office.knows("echo", echo)
    job_id = office.put("echo", {"say": "mine"})
    now = datetime.now(UTC)
    with writing(office.resources.engine) as connection:
        taken = jobs.claim(connection, job_id, "dead", now, now + timedelta(seconds=0.5))
        again = jobs.claim(connection, job_id, "thief", now, now + timedelta(seconds=9))
    assert taken is not None
    assert again is None
    office.open()
    job = office.until(job_id)
    assert (job.state, job.attempts) == (JobState.DONE, 2)
    with writing(office.resources.engine) as connection:
        late = jobs.finish(connection, job_id, "dead", JobState.FAILED, now, b"", 1)
        beat = jobs.beat(connection, job_id, "dead", now, step="", done=0, total=1)
    assert (late, beat) == (False, None)
    assert office.job(job_id).state is JobState.DONE


def test_a_worker_that_lost_its_job_stops(office: Office) -> None:
    endless = Endless()
    office.knows("endless", endless, retry_delays=())
    office.open(threads=1)
    job_id = office.put("endless")
    office.when(job_id, lambda job: job.step == "waiting")
    with writing(office.resources.engine) as connection:
        connection.execute(
            update(tables.jobs).where(tables.jobs.c.id == job_id).values(lease="another")
        )
    office.when(job_id, lambda _: endless.ends == [Interrupted.__name__])
    # Nobody beats for the other, so it is given up: it was begun as often as it may be.
    assert office.until(job_id).state is JobState.FAILED
    assert office.outcome(job_id)["slug"] == "job-lost"


def test_a_job_that_its_own_process_takes_up_again_keeps_its_pulse(office: Office) -> None:
    """A machine that stalls longer than a lease: one thread lost the job, another of the same process has it."""
    pulse = Heartbeat(office.resources)
    office.knows("echo", echo)
    job = office.job(office.put("echo"))
    slow, quick = pulse.of(replace(job, lease="lost")), pulse.of(replace(job, lease="held"))
    slow.__enter__()
    progress = quick.__enter__()
    slow.__exit__(None, None, None)
    pulse.interrupt()
    with pytest.raises(Interrupted):
        progress.raise_if_cancelled()
    quick.__exit__(None, None, None)


def test_one_job_is_run_once_however_many_look_for_it(office: Office) -> None:
    ran: list[str] = []

    def count(_resources: Resources, job: Job, _progress: Progress) -> Outcome:
        ran.append(job.id)
        time.sleep(0.05)
        return Outcome()

    office.knows("count", count)
    office.open(threads=4)
    office.open(threads=4)
    put = [office.put("count") for _ in range(8)]
    for job_id in put:
        office.until(job_id)
    assert sorted(ran) == sorted(put)


def test_repeated_work_has_one_job_at_a_time_and_always_a_next(office: Office) -> None:
    ran: list[float] = []

    def repeated(_resources: Resources, _job: Job, _progress: Progress) -> Outcome:
        ran.append(time.monotonic())
        return Outcome()

    office.knows("repeated", repeated, every=0.3)
    office.open()
    office.open()
    deadline = time.monotonic() + 600
    while len(ran) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        with reading(office.resources.engine) as connection:
            assert sum(jobs.unfinished(connection).values()) <= 1
    assert all(after - before >= 0.3 for before, after in itertools.pairwise(ran))


def test_a_name_is_had_by_one_unfinished_job(office: Office) -> None:
    office.knows("echo", echo)
    first = office.put("echo", {"say": ""}, dedup_key="delivery:1")
    with writing(office.resources.engine) as connection:
        second = enqueue(
            connection,
            office.resources,
            kind="echo",
            subject="",
            payload={},
            principal=None,
            dedup_key="delivery:1",
        )
    assert second is None
    office.open()
    office.until(first)
    assert office.put("echo", {"say": ""}, dedup_key="delivery:1") != first


@pytest.mark.parametrize("change", ["revoked", "role"])
def test_who_lost_its_right_since_gets_a_problem(office: Office, change: str) -> None:
    now = datetime.now(UTC)
    office.knows("echo", echo)
    job_id = office.put("echo", {"say": ""}, principal=office.principal(Role.OWNER, now))
    with writing(office.resources.engine) as connection:
        if change == "revoked":
            principals.revoke(connection, "rc_somebody", now)
        else:
            connection.execute(
                update(tables.principals)
                .where(tables.principals.c.id == "rc_somebody")
                .values(role=Role.RECIPIENT.value)
            )
    office.open()
    assert office.until(job_id).state is JobState.FAILED
    expected = {"revoked": "unauthenticated", "role": "forbidden"}
    assert office.outcome(job_id)["slug"] == expected[change]


def test_all_threads_end_with_the_runner(office: Office) -> None:
    office.knows("echo", echo)
    before = set(threading.enumerate())
    office.open()
    office.until(office.put("echo", {"say": ""}))
    office.close()
    assert set(threading.enumerate()) <= before
