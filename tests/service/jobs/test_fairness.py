"""Principals, receivers and the service itself take turns: many jobs of one delay nobody else."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.errors import QuotaExceeded
from app.job import Job, JobState
from app.model import Principal, Role
from app.service.jobs import runner
from app.service.jobs.execution import claim_next
from app.service.jobs.job_types import Outcome, Pool
from app.service.progress import Progress
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import writing
from tests.service.jobs.conftest import Office


class Gate:
    """Work that begins, and goes on when the test lets it."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.began: list[str] = []

    def __call__(self, _resources: Resources, job: Job, progress: Progress) -> Outcome:
        self.began.append(job.concurrency_key)
        while not self.open.wait(0.01):
            progress.raise_if_cancelled()
        return Outcome()


def done(*_: object) -> Outcome:
    return Outcome()


@pytest.fixture
def principals(office: Office) -> list[Principal]:
    """Two who send many jobs, and one who sends one."""
    now = datetime.now(UTC)
    return [office.principal(Role.RECIPIENT, now, name) for name in ("first", "second", "victim")]


def claimed(office: Office) -> Job | None:
    return claim_next(office.resources, office.resources.jobs.job_types, [])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_job_waits_for_one_turn_of_each_other_principal(
    office: Office, principals: list[Principal], threads: int
) -> None:
    """Two principals with 25 jobs each came before; the third is served after at most one more of both."""
    office.knows("work", done)
    for _ in range(25):
        for principal in principals[:2]:
            office.put("work", principal=principal)
    running = [claimed(office) for _ in range(threads)]
    wanted = office.put("work", principal=principals[2])
    began: list[str] = []
    while wanted not in began:
        first = running.pop(0)
        assert first is not None
        now = datetime.now(UTC)
        with writing(office.resources.engine) as connection:
            assert jobs.finish(connection, first.id, first.lease or "", JobState.DONE, now, None, 0)
        running.append(following := claimed(office))
        assert following is not None
        began.append(following.id)
    assert len(began) <= 3 - threads


def test_the_principal_with_fewer_jobs_under_way_is_served_first(
    office: Office, principals: list[Principal]
) -> None:
    office.knows("work", done)
    for principal in principals:
        for _ in range(3):
            office.put("work", principal=principal)
    keys = [job.concurrency_key for _ in range(9) if (job := claimed(office))]
    everybody = {principal.id for principal in principals}
    assert set(keys[:3]) == set(keys[3:6]) == set(keys[6:]) == everybody


def test_a_worker_that_is_gone_does_not_count_as_running(
    office: Office, principals: list[Principal]
) -> None:
    office.knows("work", done)
    lost, kept = (office.put("work", principal=principal) for principal in principals[:2])
    long_ago = datetime.now(UTC) - timedelta(days=1)
    with writing(office.resources.engine) as connection:
        assert jobs.claim(
            connection, kept, "alive", datetime.now(UTC), datetime.now(UTC) + timedelta(days=1)
        )
        assert jobs.claim(connection, lost, "gone", datetime.now(UTC), long_ago)
    office.put("work", principal=principals[1])
    taken = claimed(office)
    assert taken is not None
    assert (taken.id, taken.attempts) == (lost, 2)


def test_the_service_and_its_messages_never_wait_for_principals(
    office: Office, principals: list[Principal]
) -> None:
    gate = Gate()
    office.knows("work", gate)
    office.knows("tidy", done, pool=Pool.SERVICE)
    office.knows("message", done, pool=Pool.MESSAGES)
    office.open(threads=2)
    for _ in range(4):
        office.put("work", principal=principals[0])
    own, message = office.put("tidy"), office.put("message", concurrency_key="rc_second")
    assert office.until(own).state is JobState.DONE
    assert office.until(message).state is JobState.DONE
    assert len(gate.began) <= 2
    gate.open.set()


def test_a_receiver_that_keeps_senders_waiting_has_its_share_of_them(office: Office) -> None:
    gate = Gate()
    office.knows("slow", gate, pool=Pool.MESSAGES)
    office.knows("message", done, pool=Pool.MESSAGES)
    office.open()
    slow = [office.put("slow", concurrency_key="rc_slow") for _ in range(20)]
    others = [office.put("message", concurrency_key=f"rc_{n}") for n in range(3)]
    for job_id in others:
        assert office.until(job_id).state is JobState.DONE
    assert len(gate.began) <= runner.MESSAGES_PER_RECEIVER
    gate.open.set()
    for job_id in slow:
        assert office.until(job_id).state is JobState.DONE


@pytest.mark.parametrize(
    ("limits", "stored_bytes"),
    [({"unfinished_jobs": 3}, 0), ({"unfinished_job_bytes": 300}, 100)],
)
def test_what_one_principal_may_have_unfinished_is_bounded(
    office: Office, principals: list[Principal], limits: dict[str, int], stored_bytes: int
) -> None:
    resources = office.resources
    office.resources = replace(resources, limits=replace(resources.limits, **limits))
    office.knows("work", done)
    put = [office.put("work", principal=principals[0], stored_bytes=stored_bytes) for _ in range(3)]
    with pytest.raises(QuotaExceeded):
        office.put("work", principal=principals[0], stored_bytes=stored_bytes)
    office.put(
        "work", principal=principals[1], stored_bytes=stored_bytes
    )  # others are not concerned
    office.open()
    office.until(put[0])
    office.put("work", principal=principals[0], stored_bytes=stored_bytes)
