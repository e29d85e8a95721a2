"""Server-sent events of a job as EventSource reads them: ids, reconnection, an end, and tokens in place of a key."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest
from fastapi.testclient import TestClient

from app.api.transport.job_events import event_id
from app.model import Principal, Role
from app.service.context import RequestContext
from app.service.jobs import event_tokens
from app.service.jobs.status import show_job
from tests.api.conftest import Service
from tests.api.jobs.test_jobs import queued


@pytest.fixture
def owner(service: Service) -> tuple[str, TestClient]:
    return service.principal("owner")


def fields(text: str) -> list[dict[str, str]]:
    """The events of a stream, each with its fields."""
    blocks = (block for block in text.split("\n\n") if block and not block.startswith(":"))
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


def test_a_client_that_knows_the_end_is_told_to_stop(
    service: Service, owner: tuple[str, TestClient]
) -> None:
    whose, client = owner
    job = queued(service, whose)
    client.delete(f"/v1/jobs/{job}")
    events = fields(client.get(f"/v1/jobs/{job}/events").text)
    assert [one["event"] for one in events] == ["end"]
    again = client.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": events[0]["id"]})
    assert (again.status_code, again.content) == (204, b"")
    stale = client.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "0" * 18})
    assert fields(stale.text) == events


@pytest.mark.parametrize("knows", [False, True])
def test_an_event_that_arrived_is_not_sent_again(
    service: Service,
    owner: tuple[str, TestClient],
    monkeypatch: pytest.MonkeyPatch,
    knows: bool,
) -> None:
    whose, client = owner
    job = queued(service, whose)
    context = RequestContext(Principal(whose, "", Role.OWNER), "-")
    known = event_id(show_job(service.app.state.resources, context, job))

    async def cancelled(_: float) -> None:
        client.delete(f"/v1/jobs/{job}")

    monkeypatch.setattr(anyio, "sleep", cancelled)
    headers = {"Last-Event-ID": known} if knows else {}
    events = fields(client.get(f"/v1/jobs/{job}/events", headers=headers).text)
    assert [one["event"] for one in events] == ["progress", "end"][knows:]
    assert (events[0]["id"] == known) is not knows


def test_a_token_opens_the_events_of_its_job_alone(
    service: Service, admin: TestClient, owner: tuple[str, TestClient]
) -> None:
    whose, client = owner
    job, other = queued(service, whose), queued(service, whose)
    for one in (job, other):
        client.delete(f"/v1/jobs/{one}")
    issued = client.post(f"/v1/jobs/{job}/events")
    assert issued.status_code == 201
    assert issued.headers["cache-control"] == "no-store"
    url = issued.json()["url"]
    nobody = service.client(None)
    assert fields(nobody.get(url).text)[-1]["event"] == "end"
    assert nobody.get(url.replace(job, other)).status_code == 401
    assert nobody.get(url.replace("/events", "")).status_code == 401
    assert nobody.get(url[:-3]).status_code == 401
    assert nobody.get(f"/v1/jobs/{job}/events").status_code == 401
    stranger = service.principal("owner")[1]
    assert stranger.post(f"/v1/jobs/{job}/events").status_code == 404
    # With its key the token ends.
    admin.post(f"/v1/principals/{whose}/keys")
    assert nobody.get(url).status_code == 401


def test_a_token_ends_with_its_time(
    service: Service, owner: tuple[str, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    whose, client = owner
    job = queued(service, whose)
    monkeypatch.setattr(event_tokens, "LIFETIME", -event_tokens.LIFETIME)
    issued = client.post(f"/v1/jobs/{job}/events").json()
    assert datetime.fromisoformat(issued["expires_at"]) < datetime.now(UTC)
    assert service.client(None).get(issued["url"]).status_code == 401
