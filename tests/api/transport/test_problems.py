"""Every error has the same shape, a page, and no value of the principal in it."""

from __future__ import annotations

import html
import logging
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api.transport.problems import PROBLEM_TYPE, problem_types
from tests.api.conftest import Service

SECRET = "do-not-repeat-me"


def assert_problem(response: Any, status: int, slug: str) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM_TYPE
    body = response.json()
    assert body["type"] == f"/problems/{slug}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert SECRET not in response.text


def test_an_unknown_address_is_a_problem(admin: TestClient) -> None:
    assert_problem(admin.get("/v1/nothing"), 404, "not-found")


def test_an_unknown_method_is_a_problem_and_names_the_allowed_ones(admin: TestClient) -> None:
    response = admin.patch("/v1/principals")
    assert_problem(response, 405, "method-not-allowed")
    assert "POST" in response.headers["allow"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/datasets", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("/v1/datasets/ds_1/levels/public", {"PUT", "DELETE", "OPTIONS"}),
        ("/v1/jobs/job_1", {"GET", "HEAD", "DELETE", "OPTIONS"}),
        ("/health", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_allow_names_the_methods_of_all_routes_of_an_address(
    admin: TestClient, path: str, methods: set[str]
) -> None:
    response = admin.patch(path)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == methods


def test_a_rejected_value_is_not_repeated(admin: TestClient) -> None:
    response = admin.post("/v1/principals", json={"name": 3, "role": SECRET, SECRET: 1})
    assert response.status_code == 422
    assert response.json()["type"] == "/problems/invalid-request"
    problems = {place["where"]: place["problem"] for place in response.json()["errors"]}
    assert SECRET not in str(problems.values())
    assert "name" in problems


def test_an_unknown_query_parameter_is_refused_by_name(admin: TestClient) -> None:
    response = admin.get("/v1/datasets?limt=3")
    assert_problem(response, 422, "invalid-parameter")
    assert response.json()["parameter"] == "limt"
    assert "cursor, limit" in response.json()["detail"]
    body = {"columns": {"a": [1.0, 2.0]}}
    assert_problem(admin.post("/v1/swaps?confidentail=a", json=body), 422, "invalid-parameter")
    # Parameters of the things that a route depends on are known too.
    assert admin.get("/v1/datasets?limit=3&cursor=").status_code == 200


def test_an_unknown_part_of_a_form_is_refused_by_name(admin: TestClient) -> None:
    for part in (
        {"files": {"orignal": b"a\n1\n"}},
        {"data": {"orignal": "1"}, "files": {"original": b"a\n1\n"}},
    ):
        response = admin.post("/v1/utility", **part)
        assert_problem(response, 422, "invalid-parameter")
        assert response.json()["parameter"] == "orignal"
        assert "original, released, holdout" in response.json()["detail"]


def test_malformed_json_is_a_problem(admin: TestClient) -> None:
    headers = {"content-type": "application/json"}
    response = admin.post("/v1/principals", content=f'{{"name": "{SECRET}', headers=headers)
    assert_problem(response, 422, "invalid-request")


def test_json_nested_ten_thousand_deep_is_a_problem(admin: TestClient) -> None:
    body = "[" * 10_000 + "]" * 10_000
    response = admin.post(
        "/v1/principals", content=body, headers={"content-type": "application/json"}
    )
    assert 400 <= response.status_code < 500
    assert response.headers["content-type"] == PROBLEM_TYPE


def test_a_json_body_above_a_megabyte_is_a_problem(admin: TestClient) -> None:
    response = admin.post("/v1/principals", json={"name": "x" * 1_100_000})
    assert_problem(response, 413, "too-large")


def test_a_failure_of_the_service_is_a_problem_without_its_message(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("app.service.sharing.principals.list_principals", fail)
    with caplog.at_level(logging.INFO):
        response = service.client().get("/v1/principals")
    assert_problem(response, 500, "internal-error")
    failures = [record for record in caplog.records if record.message == "failed"]
    assert vars(failures[0])["failure"][0] == "RuntimeError"
    assert all(SECRET not in str(vars(record)) for record in caplog.records)


def test_every_problem_type_has_a_page(admin: TestClient) -> None:
    index = admin.get("/problems").text
    for slug, (status, title, _, remedy) in problem_types().items():
        page = admin.get(f"/problems/{slug}")
        assert page.status_code == 200
        assert str(status) in page.text
        assert title in html.unescape(page.text)
        assert remedy
        assert f"/problems/{slug}" in index
    assert_problem(admin.get("/problems/unknown"), 404, "not-found")


def test_every_answer_carries_the_principals_request_id_if_it_is_harmless(
    admin: TestClient,
) -> None:
    kept = admin.get("/health", headers={"X-Request-ID": "trace-7"})
    assert kept.headers["x-request-id"] == "trace-7"
    replaced = admin.get("/health", headers={"X-Request-ID": "a b\tc"})
    assert replaced.headers["x-request-id"] != "a b\tc"
