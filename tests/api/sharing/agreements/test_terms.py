"""Terms that cannot be: each refused with the parameter's name, and nothing kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.agreement import Terms, term_end
from app.service.sharing.agreements.schedules import pause_of
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import FAR, Parties, parties


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


def refused(two: Parties, status: int, **changed: Any) -> Any:
    answer = two.recipient.post("/v1/agreements", json=two.terms(**changed))
    assert answer.status_code == status, answer.text
    assert two.owner.get("/v1/agreements").json()["agreements"] == []
    return answer.json()


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        ({"ends_at": "2030-01-01T00:00:00Z", "starts_at": "2031-01-01T00:00:00Z"}, "ends_at"),
        ({"ends_at": "2020-01-01T00:00:00Z", "starts_at": "2019-01-01T00:00:00Z"}, "ends_at"),
        ({"ends_at": None, "renews": True}, "renews"),
        ({"refresh": "PT1S"}, "refresh"),
        ({"refresh": "PT59M59S"}, "refresh"),
        ({"refresh": "* * * * * *"}, "refresh"),
        ({"refresh": "* * * * *"}, "refresh"),
        ({"refresh": "0,30 6 * * *"}, "refresh"),
        ({"refresh": "0 0 31 2 *"}, "refresh"),
        ({"refresh": "P"}, "refresh"),
        ({"refresh": "sometimes"}, "refresh"),
        ({"deliveries": [{"channel": "push"}]}, "deliveries"),
        ({"deliveries": [{"channel": "pull", "target": "x"}]}, "deliveries"),
        ({"deliveries": [{"channel": "push", "target": "/etc"}]}, "deliveries"),
        ({"deliveries": [{"channel": "pull"}, {"channel": "pull"}]}, "deliveries"),
    ],
)
def test_terms_that_make_no_sense(two: Parties, changed: dict[str, Any], parameter: str) -> None:
    assert refused(two, 422, **changed)["parameter"] == parameter


@pytest.mark.parametrize(
    "changed",
    [
        {"items": []},
        {"purpose": ""},
        {"ends_at": "2099-01-01T00:00:00"},
        {"deliveries": [{"channel": "fax"}]},
        {"unknown": 1},
    ],
)
def test_forms_that_are_malformed(two: Parties, changed: dict[str, Any]) -> None:
    assert refused(two, 422, **changed)["type"] == "/problems/invalid-request"


def test_a_level_below_what_the_owner_allows_is_not_offered(two: Parties) -> None:
    kept = refused(two, 422, items=[{"dataset": two.dataset, "level": "partner"}])
    absent = refused(two, 422, items=[{"dataset": two.dataset, "level": "nobody"}])
    assert kept["parameter"] == absent["parameter"] == "level"
    assert kept["detail"].replace("partner", "nobody") == absent["detail"]


def test_a_data_set_that_is_not_listed_does_not_exist(two: Parties) -> None:
    two.owner.patch(f"/v1/datasets/{two.dataset}", json={"listed": False})
    hidden = refused(two, 404)
    absent = refused(two, 404, items=[{"dataset": "ds_0", "level": "public"}])
    assert hidden["detail"].replace(two.dataset, "ds_0") == absent["detail"]


@pytest.mark.parametrize("columns", [["nobody"], ["person"], [], ["age", "age"]])
def test_columns_must_be_released_ones(two: Parties, columns: list[str]) -> None:
    item = {"dataset": two.dataset, "level": "public", "columns": columns}
    assert refused(two, 422, items=[item])["parameter"] == "columns"


def test_items_are_of_one_owner_and_each_named_once(two: Parties) -> None:
    item = {"dataset": two.dataset, "level": "public"}
    assert refused(two, 422, items=[item, item])["parameter"] == "items"
    other = parties(two.service)
    second = {"dataset": other.dataset, "level": "public"}
    answer = two.recipient.post("/v1/agreements", json=two.terms(items=[item, second]))
    assert answer.status_code == 422
    assert answer.json()["parameter"] == "items"


def test_an_offer_is_of_ones_own_to_a_recipient(two: Parties) -> None:
    _, other = two.service.principal("owner")
    form = two.terms() | {"recipient": two.recipient_id}
    # The data set is listed, and still nobody but its owner can offer it.
    assert other.post("/v1/agreements", json=form).status_code == 404
    auditor, _ = two.service.principal("auditor")
    for who in (auditor, "rc_nobody", two.owner_id):
        answer = two.owner.post("/v1/agreements", json=two.terms() | {"recipient": who})
        assert answer.status_code == 404, who
    assert two.owner.post("/v1/agreements", json=two.terms()).status_code == 422
    level = {"dataset": two.dataset, "level": "nobody"}
    answer = two.owner.post("/v1/agreements", json=two.terms(items=[level]) | form["items"][0])
    assert answer.status_code == 422
    answer = two.recipient.post("/v1/agreements", json=two.terms() | {"recipient": two.owner_id})
    assert answer.status_code == 422


def test_a_level_that_changed_since_the_request_is_not_agreed(two: Parties) -> None:
    agreement = two.request()["id"]
    level = f"/v1/datasets/{two.dataset}/levels/public"
    assert two.owner.put(level, json={"noise_variance": 0.5}).json()["offered"] is True
    said = two.owner.post(f"/v1/agreements/{agreement}/agree", json={})
    assert said.status_code == 409
    assert said.json()["level"] == "public"


def test_a_level_that_was_promised_stays_until_the_agreement_ends(two: Parties) -> None:
    agreement = two.request()["id"]
    level = f"/v1/datasets/{two.dataset}/levels/public"
    two.say(two.owner, agreement, "agree")
    assert two.owner.put(level, json={"noise_variance": 0.5}).status_code == 409
    assert two.owner.delete(level).status_code == 409
    two.say(two.recipient, agreement, "terminate")
    assert two.owner.put(level, json={"noise_variance": 0.5}).status_code == 200
    assert two.owner.delete(level).status_code == 204


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("P1D", timedelta(days=1)),
        ("PT6H", timedelta(hours=6)),
        ("P1W", timedelta(weeks=1)),
        ("P1DT12H30M", timedelta(days=1, hours=12, minutes=30)),
        ("PT", None),
        ("P", None),
        ("1D", None),
        ("P1M", None),
        ("P-1D", None),
    ],
)
def test_pauses(text: str, pause: timedelta | None) -> None:
    assert pause_of(text) == pause


def test_a_term_that_renews_ends_where_the_present_one_does() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    end = start + timedelta(days=30)
    terms = Terms((), "p", "", "", "", start, end, True, "once", (), False)
    assert term_end(terms, start) == end
    assert term_end(terms, end) == end + timedelta(days=30)
    assert term_end(terms, end + timedelta(days=89)) == end + timedelta(days=90)
    assert FAR.startswith("2099")
