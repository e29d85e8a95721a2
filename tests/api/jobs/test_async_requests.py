"""A request answered later is answered the same, for every endpoint that can be long."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from app.api.transport.dependencies import reading_share
from app.api.transport.incoming import async_requests
from app.main import ROUTERS
from app.numerics.copies.shapes.gaps.runs import compile_runs
from app.service.context import RequestContext
from app.service.copies.files import file_writer
from app.service.jobs.status import JobStatus
from app.service.progress import Progress
from app.service.resources import Resources
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register
from tests.api.story import CLAIMS, DISGUISED, NUMBERS, PEOPLE

LATER = {"Prefer": "respond-async"}
CSV = {"Content-Type": "text/csv"}
FORM = {
    "files": {
        "original": ("original.csv", NUMBERS, "text/csv"),
        "disguised": ("disguised.csv", DISGUISED, "text/csv"),
    },
    "data": {
        "noise": '{"kind": "independent", "noise_variance": 4}',
        "options": '{"attacks": ["be-dr"], "seed": 1}',
    },
}
BOTH = {
    "files": {
        "original": ("original.csv", PEOPLE, "text/csv"),
        "released": ("released.csv", PEOPLE, "text/csv"),
    }
}
STATELESS: dict[str, dict[str, Any]] = {
    "/v1/synthesis/primp?seed=1": {"content": PEOPLE, "headers": CSV},
    "/v1/synthesis/stratified?seed=1&rows=40&stratum_records=2&accept_risk=true": {
        "content": PEOPLE,
        "headers": CSV | {"Accept": "application/vnd.apache.parquet"},
    },
    "/v1/synthesis/compare?seed=1": {"content": PEOPLE, "headers": CSV},
    "/v1/utility?seed=1&target=city": BOTH,
    "/v1/utility?seed=1": BOTH | {"headers": {"Accept": "image/png"}},
    "/v1/swaps?confidential=amount&seed=1": {"content": CLAIMS, "headers": CSV},
    "/v1/identifiability?confidential=amount": {"content": CLAIMS, "headers": CSV},
    "/v1/attacks/score": FORM,
    "/v1/attacks/reconstruct": FORM,
}


@pytest.fixture
def running(service: Service) -> Iterator[TestClient]:
    """An administrator's client of a service that runs its jobs."""
    with service.client() as client:
        yield client


def ended(client: TestClient, job: str) -> dict[str, Any]:
    for _ in range(30_000):
        shown: dict[str, Any] = client.get(job).json()
        if shown["state"] not in ("queued", "running"):
            return shown
        time.sleep(0.02)
    raise AssertionError(shown)


def sent(client: TestClient, address: str, request: dict[str, Any], **headers: str) -> Any:
    request = request | {"headers": request.get("headers", {}) | headers}
    return client.post(address, **request)


def without_ids(body: bytes) -> Any:
    """An answer but for the ids and times that are new each time."""
    said = json.loads(body)
    return {name: value for name, value in said.items() if name not in ("id", "created_at")}


def test_who_does_not_wait_gets_a_job_also_one_that_is_done(
    running: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = async_requests._waited

    async def until_it_has_ended(
        resources: Resources, context: RequestContext, job: str, _: float
    ) -> JobStatus:
        return await waited(resources, context, job, 600.0)

    monkeypatch.setattr(async_requests, "_waited", until_it_has_ended)
    address = "/v1/identifiability?confidential=amount"
    accepted = sent(running, address, STATELESS[address], **LATER)
    assert (accepted.status_code, accepted.json()["state"]) == (202, "done")
    assert accepted.headers["Location"] == f"/v1/jobs/{accepted.json()['id']}"
    answered = sent(running, address, STATELESS[address], Prefer="wait=30")
    assert (answered.status_code, "attributes" in answered.json()) == (200, True)


@pytest.mark.parametrize("address", STATELESS)
def test_a_job_answers_what_the_request_answers(running: TestClient, address: str) -> None:
    now = sent(running, address, STATELESS[address])
    assert now.status_code == 200
    accepted = sent(running, address, STATELESS[address], **LATER)
    assert accepted.status_code == 202
    assert accepted.headers["Preference-Applied"] == "respond-async"
    job = accepted.headers["Location"]
    assert accepted.json()["state"] in ("queued", "running", "done")
    shown = ended(running, job)
    assert (shown["state"], shown["problem"]) == ("done", None)
    assert shown["done"] == shown["total"] > 0
    result = running.get(shown["result"])
    assert result.status_code == 200
    assert result.content == now.content
    for name in ("content-type", "x-cornerwave-seed"):
        assert result.headers.get(name) == now.headers.get(name)
    # The report has an id of its own, and says the same.
    if "link" in now.headers:
        links = [answer.headers["link"] for answer in (now, result)]
        reports = [running.get(link[1 : link.index(">")]).json() for link in links]
        assert reports[0] == reports[1]


def test_registering_appending_and_auditing_later_is_the_same(running: TestClient) -> None:
    def both(address: str, request: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        now = sent(running, address.format("now"), request)
        job = sent(running, address.format("later"), request, **LATER).headers["Location"]
        shown = ended(running, job)
        assert shown["state"] == "done", shown
        return now, running.get(shown["result"]), shown

    table = {"content": PEOPLE, "headers": CSV}
    now, later, shown = both(
        '/v1/datasets?name={}&allow_overlap=true&columns={{"person":"identifier"}}', table
    )
    assert now.status_code == 201
    ids = {"now": now.json()["id"], "later": later.json()["id"]}
    assert shown["subject"] == ids["later"]
    first, second = without_ids(now.content), without_ids(later.content)
    assert (first.pop("name"), second.pop("name")) == ("now", "later")
    first.pop("warnings"), second.pop("warnings")  # the second has all rows of the first
    assert first == second
    more = {"content": PEOPLE.replace("p", "q").replace("qerson", "person"), "headers": CSV}
    rows = "/v1/datasets/{}/rows?allow_overlap=true"
    answers = [sent(running, rows.format(ids["now"]), more)]
    job = sent(running, rows.format(ids["later"]), more, **LATER).headers["Location"]
    answers.append(running.get(ended(running, job)["result"]))
    assert [answer.json()["rows"] for answer in answers] == [32, 32]
    form = {"json": {"noise_variances": [0.25, 1]}}
    audits = [sent(running, f"/v1/datasets/{ids['now']}/audits", form)]
    job = sent(running, f"/v1/datasets/{ids['now']}/audits", form, **LATER).headers["Location"]
    audits.append(running.get(ended(running, job)["result"]))
    assert without_ids(audits[0].content) == without_ids(audits[1].content)
    listed = running.get(f"/v1/datasets/{ids['now']}/audits").json()["audits"]
    assert len(listed) == 2


def test_previews_and_files_later_are_the_same(
    running: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "FILE_ROWS", 300)
    compile_runs()  # not in between: compiled moments may differ in their last bit
    dataset = register(running, mixed_table(250))
    for seed in (1, 2):
        append(running, dataset, mixed_table(250, seed=seed))
    form = {"json": {"privacies": [0.5]}}
    looked = {}
    for kind in ("application/json", "text/html"):
        wish = form | {"headers": {"Accept": kind}}
        now = sent(running, f"/v1/datasets/{dataset}/preview", wish)
        job = sent(running, f"/v1/datasets/{dataset}/preview", wish, **LATER).headers["Location"]
        later = running.get(ended(running, job)["result"])
        assert (now.status_code, later.content) == (200, now.content)
        assert later.headers["cache-control"] == now.headers["cache-control"] == "no-store"
        looked[kind] = later.content
    assert len(json.loads(looked["application/json"])["levels"]) == 1

    copy = issue(running, dataset, level="b")["id"]
    asked = f"/v1/copies/{copy}/files"
    job = sent(running, asked, {"json": {"expires_in_seconds": 600}}, **LATER).headers["Location"]
    shown = ended(running, job)
    assert shown["state"] == "done"
    assert shown["done"] == shown["total"] > 0
    later = running.get(shown["result"])
    assert later.headers["cache-control"] == "no-store"  # addresses are as good as keys
    now = sent(running, asked, {"json": {"expires_in_seconds": 600}})
    lists = [answer.json()["files"] for answer in (now, later)]
    assert len(lists[0]) == 3
    addresses = [[file.pop("url") for file in files] for files in lists]
    assert lists[0] == lists[1]
    # The addresses of the job are of the same host, and end with the key that asked for it.
    assert [one.partition("&se=")[0] for one in addresses[1]] == [
        one.partition("&se=")[0] for one in addresses[0]
    ]
    # Estimates are made again where a key is sent again: they change nothing.
    means = {"json": {"kind": "means", "columns": ["age"]}}
    now = sent(running, f"/v1/copies/{copy}/estimates", means, **{"Idempotency-Key": "once"})
    job = sent(running, f"/v1/copies/{copy}/estimates", means, **LATER).headers["Location"]
    assert running.get(ended(running, job)["result"]).json() == now.json()
    again = sent(running, f"/v1/copies/{copy}/estimates", means, **{"Idempotency-Key": "once"})
    assert (again.json(), again.headers.get("Idempotency-Replayed")) == (now.json(), None)
    with TestClient(running.app) as nobody:
        for address, file in zip(addresses[1], lists[1], strict=True):
            content = nobody.get(address)
            assert content.status_code == 200
            assert hashlib.sha256(content.content).hexdigest() == file["sha256"]


def test_progress_never_goes_back_and_ends_at_its_total(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float]] = []
    report = Progress.report

    def noted(progress: Progress, step: str, done: int, total: int) -> None:
        report(progress, step, done, total)
        told.append((step, progress.current[1] / max(1, progress.current[2])))

    monkeypatch.setattr(Progress, "report", noted)
    with service.client() as running:
        dataset = register(running, mixed_table(250))
        copy = issue(running, dataset, level="b")["id"]
        jobs = dict(STATELESS) | {
            "/v1/datasets?name=x&allow_overlap=true": {"content": PEOPLE, "headers": CSV},
            f"/v1/datasets/{dataset}/preview": {"json": {"privacies": [0.5]}},
            f"/v1/datasets/{dataset}/audits": {"json": {"noise_variances": [1]}},
            f"/v1/copies/{copy}/files": {"json": {}},
        }
        for address, request in jobs.items():
            told.clear()
            shown = ended(running, sent(running, address, request, **LATER).headers["Location"])
            assert shown["state"] == "done", (address, shown)
            assert shown["done"] == shown["total"] > 0, address
            shares = [share for _, share in told]
            assert shares == sorted(shares), (address, told)
            assert max(shares) > 0, address


def test_metrics_count_jobs_by_kind_and_end(running: TestClient) -> None:
    address = "/v1/identifiability?confidential=amount"
    for request in (STATELESS[address], {"content": "a\n1\n", "headers": CSV}):
        ended(running, sent(running, address, request, **LATER).headers["Location"])
    told = running.get("/metrics").text
    assert 'cornerwave_job_attempts_total{end="done",kind="request"} 1.0' in told
    assert 'cornerwave_job_attempts_total{end="failed",kind="request"} 1.0' in told
    assert "cornerwave_jobs_here 0.0" in told
    assert 'cornerwave_jobs{state="queued"}' in told


def test_only_the_principal_of_a_job_reads_its_result(
    running: TestClient, service: Service
) -> None:
    _, owner = service.principal("owner")
    address = "/v1/identifiability?confidential=amount"
    job = sent(owner, address, STATELESS[address], **LATER).headers["Location"]
    result = ended(owner, job)["result"]
    assert owner.get(result).status_code == 200
    assert running.get(job).status_code == 200  # an administrator sees the job
    assert running.get(result).status_code == 404


def test_every_route_that_can_be_long_is_compared_above() -> None:
    marked = {
        route.path
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and reading_share(route.endpoint) is not None
    }
    told = {address.partition("?")[0] for address in STATELESS}
    told = {"/v1/synthesis/{method}" if "primp" in one or "strat" in one else one for one in told}
    stateful = {
        "/v1/datasets",
        "/v1/datasets/{dataset_id}/rows",
        "/v1/datasets/{dataset_id}/audits",
        "/v1/datasets/{dataset_id}/preview",
        "/v1/copies/{copy_id}/files",
        "/v1/copies/{copy_id}/estimates",
        "/v1/copies/{copy_id}/estimates/table",
    }
    assert marked == told | stateful


def test_who_waits_gets_the_answer_itself_when_it_is_there_in_time(running: TestClient) -> None:
    address = "/v1/synthesis/primp?seed=1"
    now = sent(running, address, STATELESS[address])
    waited = sent(running, address, STATELESS[address], Prefer="wait=500")
    assert (waited.status_code, waited.content) == (200, now.content)
    assert waited.headers["Preference-Applied"] == "wait=30"
    table = {"content": PEOPLE, "headers": CSV}
    registered = sent(running, "/v1/datasets?name=x", table, Prefer="respond-async, wait=30")
    assert registered.status_code == 201
    again = sent(running, "/v1/datasets?name=x", table, Prefer="wait=30")
    assert (again.status_code, again.json()["type"]) == (409, "/problems/name-taken")


def test_who_waits_in_vain_gets_the_job(service: Service) -> None:
    # Nobody runs jobs here.
    client = service.client()
    address = "/v1/synthesis/primp?seed=1"
    waited = sent(client, address, STATELESS[address], Prefer="wait=1")
    assert (waited.status_code, waited.json()["state"]) == (202, "queued")
    plain = sent(client, address, STATELESS[address], Prefer="handling=lenient, wait=soon")
    assert plain.status_code == 200
    assert "Preference-Applied" not in plain.headers


def test_what_is_wrong_with_the_address_is_said_at_once_and_with_the_body_by_the_job(
    running: TestClient,
) -> None:
    table = {"content": PEOPLE, "headers": CSV}
    for address in (
        "/v1/synthesis/primp?rows=0",
        "/v1/synthesis/nothing",
        "/v1/synthesis/primp?x=1",
    ):
        assert sent(running, address, table, **LATER).status_code == 422
    broken = {"content": "a,b\n1,2,3\n", "headers": CSV}
    now = sent(running, "/v1/synthesis/primp", broken)
    job = sent(running, "/v1/synthesis/primp", broken, **LATER).headers["Location"]
    shown = ended(running, job)
    assert shown["state"] == "failed"
    problem = {name: value for name, value in shown["problem"].items() if name != "request_id"}
    assert problem | {"errors": []} == {
        name: value for name, value in now.json().items() if name != "request_id"
    } | {"errors": []}
    refused = running.get(f"{job}/result")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/job-unfinished")


def test_a_key_that_was_revoked_meanwhile_is_asked_for_again(service: Service) -> None:
    admin = service.client()
    whose, client = service.principal("owner")
    address = "/v1/synthesis/primp?seed=1"
    job = sent(client, address, STATELESS[address], **LATER).headers["Location"]
    admin.post(f"/v1/principals/{whose}/keys")  # a new key, in place of all before
    with service.client() as running:
        shown = ended(running, job)
    assert (shown["state"], shown["problem"]["type"]) == ("failed", "/problems/unauthenticated")


def test_a_job_with_an_idempotency_key_is_accepted_once(running: TestClient) -> None:
    table = {"content": PEOPLE, "headers": CSV}
    key = {"Idempotency-Key": "once"}
    answers = [sent(running, "/v1/datasets?name=x", table, **LATER, **key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].headers["Location"] == answers[1].headers["Location"]
    assert ended(running, answers[0].headers["Location"])["state"] == "done"
    assert len(running.get("/v1/jobs").json()["jobs"]) == 1


def test_what_was_sent_and_what_is_answered_are_sealed_and_the_body_goes(
    service: Service,
) -> None:
    client = service.client()
    job = sent(client, "/v1/synthesis/primp?seed=1", {"content": PEOPLE, "headers": CSV}, **LATER)
    [waiting] = (service.home / "blobs" / "jobs").iterdir()
    assert b"Oslo" not in waiting.read_bytes()
    with service.client() as running:
        ended(running, job.headers["Location"])
    [answer] = (service.home / "blobs" / "jobs").iterdir()
    assert "answer" in answer.name
    assert b"Oslo" not in answer.read_bytes()
    resources: Resources = service.app.state.resources
    with writing(resources.engine) as connection:
        kept = connection.exec_driver_sql(
            "SELECT payload, outcome FROM jobs WHERE kind = 'request'"
        )
        assert b"synthesis" not in b"".join(kept.one())


def test_a_cancelled_request_leaves_no_file_and_no_data_set(
    service: Service,
) -> None:
    client = service.client()
    job = sent(client, "/v1/datasets?name=x", {"content": PEOPLE, "headers": CSV}, **LATER)
    assert client.delete(job.headers["Location"]).json()["state"] == "cancelled"
    assert list((service.home / "blobs" / "jobs").iterdir()) == []
    with service.client() as running:
        assert running.get("/v1/datasets").json()["datasets"] == []


@pytest.fixture
def large() -> str:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(20_000, 12)) @ rng.normal(size=(12, 12))
    return "\n".join(
        [",".join(f"c{i}" for i in range(12)), *(",".join(f"{x:.4f}" for x in r) for r in rows)]
    )


def test_cancelling_ends_long_mathematics_and_frees_its_threads(
    service: Service, large: str
) -> None:
    resources: Resources = service.app.state.resources
    with service.client() as running:
        address = "/v1/synthesis/compare?seed=1"
        accepted = sent(running, address, {"content": large, "headers": CSV}, **LATER)
        job = accepted.headers["Location"]
        seen: list[float] = []
        while len(seen) < 4:
            shown = running.get(job).json()
            assert shown["state"] in ("queued", "running")
            if shown["total"]:
                seen.append(shown["done"] / shown["total"])
            time.sleep(0.1)
        assert seen == sorted(seen)
        assert resources.jobs.tally.running == 1
        began = time.monotonic()
        cancelling = running.delete(job).json()
        assert cancelling["cancelling"] or cancelling["state"] == "cancelled"
        assert ended(running, job)["state"] == "cancelled"
        while resources.jobs.tally.running:
            time.sleep(0.01)
        print(f"cancelled after {time.monotonic() - began:.2f} s")
    assert (service.home / "blobs" / "jobs").exists()
    assert list((service.home / "blobs" / "jobs").iterdir()) == []
