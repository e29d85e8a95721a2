"""Forms that were not sent from a page of the session, and addresses that lead away."""

from __future__ import annotations

import pytest

from app.portal.route import own_address
from tests.api.conftest import Service
from tests.portal.test_sessions import OWN, lets_in, signed_in, token_of


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://testserver.example"},
        {"Origin": "http://other.example"},
        {"Origin": "http://testserver:81"},
        {**OWN, "Sec-Fetch-Site": "cross-site"},
        {**OWN, "Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_origin_is_refused(service: Service, headers: dict[str, str]) -> None:
    client = signed_in(service)
    form = {"form_token": token_of(client)}
    answer = client.post("/portal/sign-out", data=form, headers=headers)
    assert answer.status_code == 403
    assert "Invalid form token" in answer.text
    assert lets_in(client)
    answer = service.client(None).post("/portal/sign-in", data={"key": "any"}, headers=headers)
    assert answer.status_code == 403


def test_a_form_without_the_sessions_own_token_is_refused(service: Service) -> None:
    client, other = signed_in(service), signed_in(service)
    for form in ({}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": token_of(other)}):
        answer = client.post("/portal/sign-out", data=form, headers=OWN)
        assert answer.status_code == 403
    assert lets_in(client)
    sent = client.post("/portal/sign-out", headers={**OWN, "X-Form-Token": token_of(client)})
    assert sent.status_code == 200
    assert not lets_in(client)


@pytest.mark.parametrize(
    "address",
    [
        "https://other.example/portal",
        "//other.example/portal",
        "/\\other.example",
        "/portal/../v1",
        "javascript:alert(1)",
        "/portalx",
        "",
        "/v1/datasets",
    ],
)
def test_signing_in_never_leads_away(address: str) -> None:
    assert own_address(address) == "/portal"


def test_signing_in_leads_to_where_one_wanted_to_go(service: Service) -> None:
    asked = service.client(None).get(
        "/portal/account?x=1", headers={"Accept": "text/html"}, follow_redirects=False
    )
    assert asked.status_code == 303
    assert asked.headers["location"] == "/portal/sign-in?next=/portal/account%3Fx%3D1"
    assert own_address("/portal/account?x=1") == "/portal/account?x=1"


def test_every_answer_of_the_portal_carries_the_policy(service: Service) -> None:
    client = signed_in(service)
    paths = ("/portal", "/portal/sign-in", "/portal/nowhere", "/portal/sign-in/once/x")
    for path in paths:
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert "<script>" not in answer.text
        assert "style=" not in answer.text
        assert " on" + "click=" not in answer.text


def test_a_script_gets_the_problem_document_where_a_person_gets_a_page(service: Service) -> None:
    client = signed_in(service)
    assert client.get("/portal/nowhere").headers["content-type"].startswith("text/html")
    answer = client.get("/portal/nowhere", headers={"Accept": "application/json"})
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "/problems/not-found"
