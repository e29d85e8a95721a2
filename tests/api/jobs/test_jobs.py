"""/v1/jobs: who sees which jobs, and how they are cancelled and followed."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from app.model import Principal, Role
from app.service.jobs.enqueue import enqueue
from app.service.jobs.job_types import JobType, Outcome
from app.service.resources import Resources
from app.store.database.engine import writing
from tests.api.conftest import Service


def queued(service: Service, principal: str | None, role: Role = Role.OWNER) -> str:
    """A job that nobody runs."""
    resources: Resources = service.app.state.resources
    resources.jobs.job_types.setdefault("example", JobType(lambda *_: Outcome()))
    whose = None if principal is None else Principal(principal, "", role)
    with writing(resources.engine) as connection:
        job = enqueue(
            connection, resources, kind="example", subject="this", payload={}, principal=whose
        )
    assert job is not None
    return job


@pytest.fixture
def owner(service: Service) -> tuple[str, TestClient]:
    return service.principal("owner")


def test_a_job_is_seen_by_its_principal_and_by_administrators(
    service: Service, admin: TestClient, owner: tuple[str, TestClient]
) -> None:
    _, stranger = service.principal("owner")
    whose, client = owner
    mine, own = queued(service, whose), queued(service, None)
    for who in (client, admin):
        shown = who.get(f"/v1/jobs/{mine}").json()
        assert (shown["id"], shown["state"], shown["principal"]) == (mine, "queued", whose)
        assert [job["id"] for job in who.get("/v1/jobs").json()["jobs"]] == [mine]
        # The service's own are nobody's.
        assert who.get(f"/v1/jobs/{own}").status_code == 404
    assert stranger.get("/v1/jobs").json()["jobs"] == []
    for answer in (
        stranger.get(f"/v1/jobs/{mine}"),
        stranger.get(f"/v1/jobs/{mine}/events"),
        stranger.delete(f"/v1/jobs/{mine}"),
    ):
        assert answer.status_code == 404
        assert answer.json()["type"] == "/problems/not-found"
    assert client.get(f"/v1/jobs/{mine}").json()["state"] == "queued"


def test_lists_are_paged_with_the_newest_first(
    service: Service, owner: tuple[str, TestClient]
) -> None:
    whose, client = owner
    put = [queued(service, whose) for _ in range(5)]
    client.delete(f"/v1/jobs/{put[0]}")
    first = client.get("/v1/jobs", params={"limit": 3}).json()
    rest = client.get("/v1/jobs", params={"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [job["id"] for job in first["jobs"] + rest["jobs"]] == put[::-1]
    assert rest["next_cursor"] is None
    cancelled = client.get("/v1/jobs", params={"state": "cancelled"}).json()["jobs"]
    assert [job["id"] for job in cancelled] == [put[0]]


def test_cancelling_ends_a_job_that_waits_and_is_logged(
    service: Service, admin: TestClient, owner: tuple[str, TestClient]
) -> None:
    whose, client = owner
    job = queued(service, whose)
    for _ in range(2):  # what ended stays as it is
        ended = client.delete(f"/v1/jobs/{job}").json()
        assert (ended["state"], ended["result"], ended["problem"]) == ("cancelled", None, None)
    log = admin.get("/v1/audit-log").json()["entries"]
    assert (log[-1]["action"], log[-1]["subject"], log[-1]["principal"]) == (
        "job.cancel",
        job,
        whose,
    )


def test_a_job_is_followed_until_it_ends(service: Service, owner: tuple[str, TestClient]) -> None:
    whose, client = owner
    job = queued(service, whose)
    with TestClient(service.app, headers=dict(client.headers)) as running:
        answer = running.get(f"/v1/jobs/{job}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    assert [name for _, name, _ in events][-1] == "event: end"
    assert {name for _, name, _ in events[:-1]} <= {"event: progress"}
    last = json.loads(events[-1][2].removeprefix("data: "))
    assert (last["state"], last["done"], last["total"]) == ("done", 1, 1)
