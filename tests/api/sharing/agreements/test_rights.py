"""Rights follow from agreements: they begin and end with them, and reach exactly as far."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.csv as pc
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.agreement import Transfer, TransferState
from app.service import unit_of_work
from app.store.database import tables
from app.store.database.engine import moment, reading, writing
from app.store.database.sharing import principals, transfers
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import PEOPLE, Parties, parties

CSV = {"accept": "text/csv"}


@pytest.fixture
def both(service_on_each_database: Service) -> Parties:
    return parties(service_on_each_database)


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


def issued(client: TestClient, dataset: str, level: str = "public") -> Any:
    made = client.post(f"/v1/datasets/{dataset}/copies", json={"level": level})
    assert made.status_code in (200, 201), made.text
    return made.json()


def rows_of(client: TestClient, copy: str, **params: str) -> Any:
    got = client.get(f"/v1/copies/{copy}/content", headers=CSV, params=params)
    assert got.status_code == 200, got.text
    return pc.read_csv(io.BytesIO(got.content))


def test_rights_begin_with_finalizing_and_end_with_terminating(two: Parties) -> None:
    at = f"/v1/datasets/{two.dataset}"
    agreement = two.request()["id"]
    two.say(two.owner, agreement, "agree")
    two.say(two.recipient, agreement, "verify")
    assert two.recipient.get(at).status_code == 404
    refused = two.recipient.post(f"{at}/copies", json={"level": "public"})
    assert refused.status_code == 404
    two.say(two.owner, agreement, "finalize")
    assert [one["id"] for one in two.recipient.get("/v1/datasets").json()["datasets"]] == [
        two.dataset
    ]
    assert two.recipient.get(f"{at}/levels").json()["levels"][0]["name"] == "public"
    copy = issued(two.recipient, two.dataset)["id"]
    mine = two.recipient.get(f"/v1/copies/{copy}/content", headers=CSV)
    owners = two.owner.get(f"/v1/copies/{copy}/content", headers=CSV)
    assert mine.content == owners.content
    # A level below the agreed one does not exist for it.
    lower = issued(two.owner, two.dataset, "partner")["id"]
    assert two.recipient.get(f"/v1/copies/{lower}").status_code == 404
    two.say(two.owner, agreement, "terminate")
    for path in (at, f"/v1/copies/{copy}", f"/v1/copies/{copy}/content"):
        assert two.recipient.get(path).status_code == 404
    assert two.recipient.get("/v1/datasets").json()["datasets"] == []


def test_an_agreement_gives_its_columns_and_rows_and_no_others(two: Parties) -> None:
    item = {"dataset": two.dataset, "level": "public", "columns": ["age"], "rows_since": 30}
    two.finalized(items=[item])
    copy = issued(two.recipient, two.dataset)
    assert (copy["rows"], [one["name"] for one in copy["columns"]]) == (10, ["age"])
    mine = rows_of(two.recipient, copy["id"])
    whole = rows_of(two.owner, copy["id"])
    assert mine.column_names == ["age"]
    assert mine["age"].to_pylist() == whole["age"].to_pylist()[30:]
    assert rows_of(two.recipient, copy["id"], rows="0:32").num_rows == 2
    assert rows_of(two.recipient, copy["id"], rows="0:10").num_rows == 0
    got = two.recipient.get(f"/v1/copies/{copy['id']}/content", params={"columns": "city"})
    assert got.status_code == 422
    at = f"/v1/datasets/{two.dataset}/rows"
    retired = two.owner.request("DELETE", at, json={"rows": [3, 35]})
    assert retired.status_code == 200, retired.text
    assert two.recipient.get(f"/v1/copies/{copy['id']}").json()["rows"] == 9


def test_rights_of_several_agreements_are_never_put_together(two: Parties) -> None:
    """All columns of one and the level of the other were promised by neither."""
    closer = {"dataset": two.dataset, "level": "partner", "columns": ["age"]}
    offer = two.offer(items=[closer])["id"]
    for who, message in (
        (two.recipient, "accept"),
        (two.owner, "agree"),
        (two.recipient, "verify"),
        (two.owner, "finalize"),
    ):
        two.say(who, offer, message)
    two.finalized()
    partner = issued(two.recipient, two.dataset, "partner")
    public = issued(two.recipient, two.dataset, "public")
    assert [one["name"] for one in partner["columns"]] == ["age"]
    assert [one["name"] for one in public["columns"]] == ["age", "income", "city"]
    assert rows_of(two.recipient, partner["id"]).column_names == ["age"]
    assert rows_of(two.recipient, public["id"]).column_names == ["age", "income", "city"]
    levels = two.recipient.get(f"/v1/datasets/{two.dataset}/levels").json()["levels"]
    assert [one["name"] for one in levels] == ["partner", "public"]
    # What the nearer one gave goes with it; the other stays.
    two.say(two.recipient, offer, "terminate")
    assert two.recipient.get(f"/v1/copies/{partner['id']}").status_code == 404
    assert rows_of(two.recipient, public["id"]).num_columns == 3


def test_a_grant_by_hand_stays_when_an_agreement_ends(two: Parties) -> None:
    grant = f"/v1/datasets/{two.dataset}/grants/{two.recipient_id}"
    assert two.owner.put(grant, json={"level": "public"}).status_code == 200
    agreement = two.finalized()["id"]
    two.say(two.owner, agreement, "terminate")
    assert two.recipient.get(f"/v1/datasets/{two.dataset}").status_code == 200
    # And the list of grants by hand never shows what follows from a contract.
    two.finalized()
    listed = two.owner.get(f"/v1/datasets/{two.dataset}/grants").json()["grants"]
    assert [one["agreement"] for one in listed] == [None]


def test_rights_begin_at_the_start_and_end_at_the_end_by_the_databases_clock(
    both: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement = both.finalized()["id"]
    at = f"/v1/datasets/{both.dataset}"
    engine = both.service.app.state.resources.engine
    with reading(engine) as connection:
        now = moment(connection)
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)

    class FarAhead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2150, 1, 1, tzinfo=tz)

    # A process whose clock runs ahead of the end takes nothing away …
    monkeypatch.setattr(unit_of_work, "datetime", FarAhead)
    assert both.recipient.get(at).status_code == 200
    monkeypatch.undo()
    day = timedelta(days=1)
    for starts, ends, renews, status in (
        (now + day, now + 2 * day, False, 404),
        (now - 2 * day, now - day, False, 404),
        (now - 2 * day, now - day, True, 200),
        (now - day, None, False, 200),
    ):
        with writing(engine) as connection:
            connection.execute(
                update(tables.agreements).values(starts_at=starts, ends_at=ends, renews=renews)
            )
        assert both.recipient.get(at).status_code == status
        listed = both.recipient.get("/v1/datasets").json()["datasets"]
        assert len(listed) == (status == 200)
    assert both.owner.get(f"/v1/agreements/{agreement}").json()["state"] == "FINALIZED"


def test_a_key_of_a_transfer_opens_the_copies_of_its_agreement_and_nothing_else(
    two: Parties,
) -> None:
    first = two.finalized()["id"]
    other = parties(two.service, PEOPLE.replace("p", "q").replace("qerson", "person"))
    item = {"dataset": other.dataset, "level": "public"}
    made = two.recipient.post("/v1/agreements", json=two.terms(items=[item])).json()["id"]
    for who, message in ((other.owner, "agree"), (two.recipient, "verify")):
        two.say(who, made, message)
    two.say(other.owner, made, "finalize")
    mine = issued(two.recipient, two.dataset)["id"]
    others = issued(two.recipient, other.dataset)["id"]
    engine = two.service.app.state.resources.engine
    now, holder = datetime.now(UTC), two.recipient_id
    with writing(engine) as connection:
        started = TransferState.STARTED
        transfer = Transfer(
            "tr_1", first, holder, "1", started, "HttpData-PULL", None, "", "", now, now
        )
        transfers.add(connection, transfer)
        key = principals.add_key(connection, holder, now, agreement=first, transfer=transfer.id)
    bound = two.service.client(key)
    assert bound.get(f"/v1/copies/{mine}/content").status_code == 200
    assert bound.get(f"/v1/copies/{others}/content").status_code == 404
    assert two.recipient.get(f"/v1/copies/{others}/content").status_code == 200
    # It has files, and waits for them: there are no jobs for it, nor of its holder's.
    asked = bound.post(f"/v1/copies/{mine}/files", json={}, headers={"Prefer": "respond-async"})
    assert asked.status_code == 200
    assert "Preference-Applied" not in asked.headers
    file = asked.json()["files"][0]["url"]
    assert bound.get(file).status_code == 200
    assert bound.post(f"/v1/copies/{others}/files", json={}).status_code == 404
    for method, path in (
        ("GET", "/v1/jobs"),
        ("GET", "/v1/datasets"),
        ("GET", "/v1/agreements"),
        ("POST", f"/v1/agreements/{first}/terminate"),
        ("POST", f"/v1/principals/{two.recipient_id}/keys"),
    ):
        assert bound.request(method, path, json={}).status_code == 403
    shares = bound.get("/delta-sharing/shares").json()["items"]
    assert [one["name"] for one in shares] == [first]
    # A grant by hand is the holder's, and not this key's.
    by_hand = f"/v1/datasets/{two.dataset}/grants/{two.recipient_id}"
    assert two.owner.put(by_hand, json={"level": "public"}).status_code == 200
    two.say(two.recipient, first, "terminate")
    assert bound.get(f"/v1/copies/{mine}/content").status_code == 403
    assert two.recipient.get(f"/v1/copies/{mine}/content").status_code == 200
    assert bound.get(file).status_code == 403
