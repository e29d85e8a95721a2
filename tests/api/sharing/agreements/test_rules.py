"""Requests that a rule of the owner agrees to, and those that wait for a person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import Parties, parties


@pytest.fixture
def both(service: Service) -> Parties:
    return parties(service)


def soon(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def add_rule(both: Parties, **said: Any) -> Any:
    form = {"least_privacy": 0.5, "longest_days": 30, **said}
    made = both.owner.post("/v1/agreement-rules", json=form)
    assert made.status_code == 201, made.text
    return made.json()


def test_a_request_that_fits_is_agreed_and_finalized_without_a_person(both: Parties) -> None:
    rule = add_rule(
        both, dataset=both.dataset, recipients=[both.recipient_id], purposes=["research"]
    )
    made = both.request(ends_at=soon(29))
    assert (made["state"], made["open_to_you"]) == ("AGREED", ["verify", "terminate"])
    # By whose rule is the owner's to know.
    assert made["rule"] is None
    shown = both.owner.get(f"/v1/agreements/{made['id']}").json()
    assert shown["rule"] == rule["id"]
    assert both.say(both.recipient, made["id"], "verify")["state"] == "FINALIZED"
    entries = both.owner.get(f"/v1/agreements/{made['id']}/log").json()["entries"]
    assert [(one["event"], one["facts"].get("rule")) for one in entries] == [
        ("request", None),
        ("agree", rule["id"]),
        ("verify", None),
        ("finalize", rule["id"]),
    ]


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ({}, {"ends_at": soon(31)}),
        ({}, {"ends_at": None}),
        ({}, {"ends_at": soon(2), "renews": True}),
        ({"least_privacy": 0.61}, {"ends_at": soon(1)}),
        ({"purposes": ["teaching"]}, {"ends_at": soon(1)}),
        ({"recipients": "others"}, {"ends_at": soon(1)}),
        ({"dataset": "another"}, {"ends_at": soon(1)}),
    ],
)
def test_everything_else_waits_for_a_person(
    service: Service, rule: dict[str, Any], asked: dict[str, Any]
) -> None:
    two = parties(service)
    said = dict(rule)
    if said.get("recipients") == "others":
        said["recipients"] = [service.principal("recipient")[0]]
    if said.get("dataset") == "another":
        from tests.api.datasets.test_datasets import register

        said["dataset"] = register(two.owner, name="another")["id"]
    add_rule(two, **said)
    assert two.request(**asked)["state"] == "REQUESTED"


def test_an_offer_of_the_owner_needs_no_rule_and_meets_none(both: Parties) -> None:
    add_rule(both)
    assert both.offer(ends_at=soon(1))["state"] == "OFFERED"


def test_a_rule_that_was_taken_back_agrees_to_nothing(both: Parties) -> None:
    rule = add_rule(both)
    assert both.request(ends_at=soon(1))["state"] == "AGREED"
    _, other = both.service.principal("owner")
    assert other.delete(f"/v1/agreement-rules/{rule['id']}").status_code == 404
    assert both.owner.delete(f"/v1/agreement-rules/{rule['id']}").status_code == 204
    assert both.owner.get("/v1/agreement-rules").json()["rules"] == []
    assert both.request(ends_at=soon(1))["state"] == "REQUESTED"


@pytest.mark.parametrize(
    "form",
    [
        {"least_privacy": 0, "longest_days": 1},
        {"least_privacy": 1, "longest_days": 1},
        {"least_privacy": 0.5, "longest_days": 0},
        {"least_privacy": 0.5, "longest_days": 1, "recipients": []},
        {"least_privacy": 0.5, "longest_days": 1, "recipients": ["rc_nobody"]},
        {"least_privacy": 0.5},
    ],
)
def test_a_rule_must_make_sense(service: Service, form: dict[str, Any]) -> None:
    _, owner = service.principal("owner")
    assert owner.post("/v1/agreement-rules", json=form).status_code == 422
    assert owner.get("/v1/agreement-rules").json()["rules"] == []


def test_a_rule_is_an_owners_and_of_its_own_data(service: Service) -> None:
    two = parties(service)
    form = {"least_privacy": 0.5, "longest_days": 1}
    assert two.recipient.post("/v1/agreement-rules", json=form).status_code == 403
    _, other = service.principal("owner")
    answer = other.post("/v1/agreement-rules", json={**form, "dataset": two.dataset})
    assert answer.status_code == 404
