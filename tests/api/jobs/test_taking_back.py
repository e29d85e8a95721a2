"""A request taken back by its Idempotency-Key: its job is cancelled, or nothing ever comes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.api.transport.incoming import async_requests
from app.service.resources import Resources
from tests.api.conftest import Service
from tests.api.story import PEOPLE

ADDRESS = "/v1/datasets?name=people"
CSV = {"Content-Type": "text/csv"}
LATER = CSV | {"Prefer": "respond-async"}


def kept_files(service: Service) -> set[str]:
    resources: Resources = service.app.state.resources
    return resources.jobs.files.left_before(datetime.now(UTC) + timedelta(days=1))


def test_a_job_is_cancelled_by_the_key_of_its_request(service: Service) -> None:
    client = service.client()
    sent = client.post(ADDRESS, content=PEOPLE, headers=LATER | {"Idempotency-Key": "k"})
    assert sent.status_code == 202
    assert len(kept_files(service)) == 1
    for _ in ("taken back", "and again"):
        answer = client.delete("/v1/requests", params={"idempotency_key": "k"})
        assert answer.status_code == 200
        job = answer.json()["job"]
        assert (job["id"], job["state"]) == (sent.json()["id"], "cancelled")
    assert kept_files(service) == set()


@pytest.mark.parametrize("headers", [CSV, LATER])
def test_what_was_not_kept_yet_never_will_be(service: Service, headers: dict[str, str]) -> None:
    client = service.client()
    taken = client.delete("/v1/requests", params={"idempotency_key": "k"})
    assert (taken.status_code, taken.json()) == (200, {"job": None})
    late = client.post(ADDRESS, content=PEOPLE, headers=headers | {"Idempotency-Key": "k"})
    assert late.status_code == 409
    assert client.get("/v1/datasets").json()["datasets"] == []
    assert client.get("/v1/jobs").json()["jobs"] == []
    # It is this request alone.
    assert client.post(ADDRESS, content=PEOPLE, headers=CSV).status_code == 201


def test_a_request_whose_bytes_are_here_is_taken_back_too(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = service.client()
    enqueue = async_requests._enqueue
    taken: list[Any] = []

    def late(*arguments: Any) -> None:
        other = service.client()
        taken.append(other.delete("/v1/requests", params={"idempotency_key": "k"}).json())
        enqueue(*arguments)

    monkeypatch.setattr(async_requests, "_enqueue", late)
    refused = client.post(ADDRESS, content=PEOPLE, headers=LATER | {"Idempotency-Key": "k"})
    assert taken == [{"job": None}]
    assert refused.status_code == 409
    assert client.get("/v1/jobs").json()["jobs"] == []
    assert kept_files(service) == set()


def test_what_was_carried_out_stays_and_is_named(service: Service) -> None:
    client = service.client()
    headers = CSV | {"Idempotency-Key": "k"}
    dataset = client.post(ADDRESS, content=PEOPLE, headers=headers).json()["id"]
    answer = client.delete("/v1/requests", params={"idempotency_key": "k"})
    assert answer.status_code == 409
    assert dataset in answer.json()["detail"]
    assert client.get(f"/v1/datasets/{dataset}").status_code == 200


def test_keys_are_the_principals_own(service: Service) -> None:
    client = service.client()
    key = client.post("/v1/principals", json={"name": "other", "role": "owner"}).json()["key"]
    other = service.client(key)
    headers = LATER | {"Idempotency-Key": "k"}
    job = client.post(ADDRESS, content=PEOPLE, headers=headers).headers["Location"]
    taken = other.delete("/v1/requests", params={"idempotency_key": "k"})
    assert taken.json() == {"job": None}
    assert client.get(job).json()["state"] == "queued"
    assert client.delete("/v1/requests").status_code == 422
