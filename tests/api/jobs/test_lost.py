"""A job that lost every worker leaves nothing of its files, and one that was cancelled keeps nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.service.jobs.execution import claim_next
from app.service.jobs.retention import answer_file
from app.service.progress import Cancelled, Progress
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.story import PEOPLE

LATER = {"Content-Type": "text/csv", "Prefer": "respond-async"}


def test_the_answer_that_the_last_worker_began_goes_with_the_job(
    service: Service,
) -> None:
    resources: Resources = service.app.state.resources
    client = service.client()
    job = client.post("/v1/synthesis/primp?seed=1", content=PEOPLE, headers=LATER).json()["id"]
    attempts = resources.jobs.job_types["request"].attempts
    with writing(resources.engine) as connection:
        for number in range(attempts):
            then = datetime.now(UTC) + timedelta(seconds=number)
            claimed = jobs.claim(connection, job, str(number), then, then)
            assert claimed is not None
    # As a worker that is killed leaves it: begun, and never to be whole.
    begun = resources.jobs.files.writer(answer_file(job, attempts))
    begun.__enter__().write(b"half an answer")
    after = datetime.now(UTC) + timedelta(days=1)
    assert len(resources.jobs.files.left_before(after)) == 2
    with writing(resources.engine) as connection:
        connection.exec_driver_sql("UPDATE jobs SET lease_until = created_at")
    assert claim_next(resources, resources.jobs.job_types, []) is None
    assert client.get(f"/v1/jobs/{job}").json()["problem"]["type"] == "/problems/job-lost"
    assert resources.jobs.files.left_before(after) == set()


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_job_that_was_cancelled_keeps_nothing_however_late_its_worker_learns_of_it(
    service_on_each_database: Service, cancelled: bool
) -> None:
    """The worker has begun, and no beat tells it: the write itself asks, in its own transaction."""
    service = service_on_each_database
    resources: Resources = service.app.state.resources
    client = service.client()
    accepted = client.post("/v1/datasets?name=late", content=PEOPLE, headers=LATER)
    now = datetime.now(UTC)
    with writing(resources.engine) as connection:
        job = jobs.claim(connection, accepted.json()["id"], "mine", now, now)
    assert job is not None
    request = resources.jobs.job_types["request"]
    if not cancelled:
        assert request.handler(resources, job, Progress()).subject is not None
        assert len(client.get("/v1/datasets").json()["datasets"]) == 1
        return
    assert client.delete(f"/v1/jobs/{job.id}").json()["cancelling"]
    with pytest.raises(Cancelled):
        request.handler(resources, job, Progress())
    assert client.get("/v1/datasets").json()["datasets"] == []
