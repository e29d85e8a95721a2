"""From an offer or a request to an agreement that holds, and everything that is refused on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, update
from sqlalchemy.exc import DatabaseError

from app.agreement import TRANSITIONS, Message, State
from app.service.maintenance.verify import verify
from app.store.database import chained_logs, tables
from app.store.database.engine import reading, writing
from app.store.database.sharing import agreements
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import Parties, parties


@pytest.fixture
def both(service_on_each_database: Service) -> Parties:
    return parties(service_on_each_database)


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


def test_an_offer_is_negotiated_until_it_holds(two: Parties) -> None:
    made = two.offer(items=[{"dataset": two.dataset, "level": "partner", "columns": ["age"]}])
    assert made["state"] == "OFFERED"
    assert made["provider"] == two.owner_id
    assert made["recipient"] == two.recipient_id
    assert made["items"][0] == {
        "dataset": two.dataset,
        "level": "partner",
        "noise_variance": 0.25,
        "privacy": 0.2,
        "columns": ["age"],
        "rows_since": 0,
    }
    # The recipient answers with other terms, also of a level that only this offer shows to it.
    other = two.terms(items=[{"dataset": two.dataset, "level": "partner"}])
    agreement = made["id"]
    asked = two.say(two.recipient, agreement, "request", terms=other)
    assert asked["state"] == "REQUESTED"
    assert asked["items"][0]["columns"] is None
    assert two.say(two.owner, agreement, "offer")["state"] == "OFFERED"
    assert two.say(two.recipient, agreement, "accept")["state"] == "ACCEPTED"
    assert two.say(two.owner, agreement, "agree")["state"] == "AGREED"
    assert two.say(two.recipient, agreement, "verify")["state"] == "VERIFIED"
    final = two.say(two.owner, agreement, "finalize")
    assert final["state"] == "FINALIZED"
    assert final["version"] == 7
    assert final["finalized_at"] is not None
    entries = two.recipient.get(f"/v1/agreements/{agreement}/log").json()["entries"]
    assert [(one["party"], one["event"], one["state"]) for one in entries] == [
        ("provider", "offer", "OFFERED"),
        ("consumer", "request", "REQUESTED"),
        ("provider", "offer", "OFFERED"),
        ("consumer", "accept", "ACCEPTED"),
        ("provider", "agree", "AGREED"),
        ("consumer", "verify", "VERIFIED"),
        ("provider", "finalize", "FINALIZED"),
    ]
    assert entries[-1]["hash"] == final["log_hash"]
    assert len({one["facts"]["terms"] for one in entries}) == 2
    ended = two.say(two.recipient, agreement, "terminate", reason="done")
    assert (ended["state"], ended["open_to_you"]) == ("TERMINATED", [])
    log = two.service.client().get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    assert [one["action"] for one in log if one["subject"] == agreement][-1] == (
        "agreement.terminate"
    )


def test_every_message_in_every_state_is_done_or_a_409(two: Parties) -> None:
    """The whole table over HTTP: what is not in it changes nothing and says what can be said."""
    ways: dict[State, list[tuple[str, str]]] = {
        State.REQUESTED: [],
        State.OFFERED: [("owner", "offer")],
        State.ACCEPTED: [("owner", "offer"), ("recipient", "accept")],
        State.AGREED: [("owner", "agree")],
        State.VERIFIED: [("owner", "agree"), ("recipient", "verify")],
        State.FINALIZED: [("owner", "agree"), ("recipient", "verify"), ("owner", "finalize")],
        State.TERMINATED: [("owner", "terminate")],
    }
    sides = {"provider": two.owner, "consumer": two.recipient}
    clients = {"owner": two.owner, "recipient": two.recipient}
    for state, way in ways.items():
        agreement = two.request()["id"]
        for who, message in way:
            two.say(clients[who], agreement, message)
        for party, client in sides.items():
            can = [m for (s, p, m) in TRANSITIONS if (s, p) == (state, party)]
            shown = client.get(f"/v1/agreements/{agreement}").json()
            assert (shown["state"], shown["open_to_you"]) == (state, [m.value for m in can])
            for message in Message:
                if message in can:
                    continue
                said = client.post(f"/v1/agreements/{agreement}/{message}", json={})
                assert said.status_code == 409, (state, party, message)
                assert said.json()["type"] == "/problems/invalid-state"
                assert said.json()["open_to_you"] == [m.value for m in can]
        assert two.owner.get(f"/v1/agreements/{agreement}").json()["state"] == state


def test_of_two_parties_that_act_at_once_one_wins(both: Parties) -> None:
    """The provider agrees while the consumer gives up: either may, not both."""
    outcomes = set()
    for _ in range(6):
        agreement = both.request()["id"]
        barrier = Barrier(2)

        def act(client: TestClient, message: str, at: Barrier, to: str) -> int:
            at.wait()
            return client.post(f"/v1/agreements/{to}/{message}", json={}).status_code

        with ThreadPoolExecutor(2) as pool:
            agreed = pool.submit(act, both.owner, "offer", barrier, agreement)
            ended = pool.submit(act, both.recipient, "terminate", barrier, agreement)
            answers = (agreed.result(), ended.result())
        shown = both.owner.get(f"/v1/agreements/{agreement}").json()
        # An offer may be followed by the end; after the end there is no offer.
        assert answers in ((409, 200), (200, 409), (200, 200))
        assert shown["version"] == 1 + answers.count(200)
        outcomes.add(answers)
    assert outcomes


def test_of_two_who_saw_the_same_version_one_wins(both: Parties) -> None:
    for _ in range(4):
        agreement = both.request()["id"]
        barrier = Barrier(2)

        def act(client: TestClient, message: str, at: Barrier, to: str) -> Any:
            at.wait()
            return client.post(f"/v1/agreements/{to}/{message}", json={"version": 1})

        with ThreadPoolExecutor(2) as pool:
            said = [
                pool.submit(act, both.owner, "offer", barrier, agreement),
                pool.submit(act, both.recipient, "terminate", barrier, agreement),
            ]
            answers = [one.result() for one in said]
        assert sorted(one.status_code for one in answers) == [200, 409]
        lost = next(one for one in answers if one.status_code == 409)
        assert lost.json()["type"] == "/problems/invalid-state"
        assert both.owner.get(f"/v1/agreements/{agreement}").json()["version"] == 2


def test_a_version_is_changed_once(two: Parties) -> None:
    """Compare and set by the store itself, whoever looked at the same version before."""
    agreement = two.request()["id"]
    engine = two.service.app.state.resources.engine
    with reading(engine) as connection:
        seen = agreements.one(connection, agreement)
    assert seen is not None
    for purpose, changed in (("first", True), ("second", False)):
        terms = replace(seen.terms, purpose=purpose)
        with writing(engine) as connection:
            wanted = replace(seen, terms=terms, version=2)
            assert agreements.change(connection, wanted) is changed
    with reading(engine) as connection:
        kept = agreements.one(connection, agreement)
    assert kept is not None
    assert (kept.terms.purpose, len(kept.terms.items)) == ("first", 1)


def test_others_see_nothing_and_auditors_look_on(two: Parties) -> None:
    agreement = two.request()["id"]
    _, stranger = two.service.principal("recipient")
    _, other_owner = two.service.principal("owner")
    _, auditor = two.service.principal("auditor")
    for client in (stranger, other_owner):
        for path in ("", "/log"):
            real = client.get(f"/v1/agreements/{agreement}{path}")
            absent = client.get(f"/v1/agreements/ag_0{path}")
            assert real.status_code == absent.status_code == 404
            assert real.json()["detail"].replace(agreement, "ag_0") == absent.json()["detail"]
        assert client.post(f"/v1/agreements/{agreement}/agree", json={}).status_code == 404
        assert client.get("/v1/agreements").json()["agreements"] == []
    assert auditor.get(f"/v1/agreements/{agreement}").json()["open_to_you"] == []
    assert auditor.post(f"/v1/agreements/{agreement}/agree", json={}).status_code == 403
    assert auditor.post("/v1/agreements", json=two.terms()).status_code == 403
    assert len(auditor.get("/v1/agreements").json()["agreements"]) == 1
    listed = two.owner.get("/v1/agreements", params={"state": "FINALIZED"}).json()
    assert listed["agreements"] == []


def test_an_administrator_stands_in_for_the_provider_and_never_for_the_recipient(
    two: Parties,
) -> None:
    agreement = two.offer()["id"]
    admin = two.service.client()
    assert admin.post(f"/v1/agreements/{agreement}/accept", json={}).status_code == 409
    two.say(two.recipient, agreement, "accept")
    assert two.say(admin, agreement, "agree")["state"] == "AGREED"


def test_the_log_is_a_chain_that_cannot_be_changed(both: Parties) -> None:
    agreement = both.finalized()["id"]
    engine = both.service.app.state.resources.engine
    log = tables.agreement_log
    for statement in (update(log).values(event="x"), delete(log)):
        with pytest.raises(DatabaseError), writing(engine) as connection:
            connection.execute(statement)
    with reading(engine) as connection:
        known = agreements.one(connection, agreement)
        assert known is not None
        assert list(chained_logs.agreement_faults(connection, known)) == []
        entries = chained_logs.agreement_page(connection, agreement, after=0, limit=100)
    assert [one.sequence for one in entries] == [1, 2, 3, 4]
    assert entries[0].previous_hash == chained_logs.first_hash(agreement)


def test_an_altered_log_shows(two: Parties) -> None:
    agreement = two.finalized()["id"]
    engine = two.service.app.state.resources.engine
    with writing(engine) as connection:
        connection.exec_driver_sql("DROP TRIGGER agreement_log_no_update")
        connection.execute(
            update(tables.agreement_log)
            .where(tables.agreement_log.c.sequence == 2)
            .values(principal="rc_other")
        )
    with reading(engine) as connection:
        known = agreements.one(connection, agreement)
        assert known is not None
        assert list(chained_logs.agreement_faults(connection, known)) == ["entry 2 was altered"]
    found = verify(two.service.app.state.resources, lambda *_: None, quick=True).findings
    assert [(one.where, one.problem) for one in found] == [(agreement, "entry 2 was altered")]


def test_a_request_with_an_idempotency_key_is_made_once(two: Parties) -> None:
    key = {"Idempotency-Key": "one"}
    first = two.recipient.post("/v1/agreements", json=two.terms(), headers=key)
    again = two.recipient.post("/v1/agreements", json=two.terms(), headers=key)
    assert first.json() == again.json()
    assert len(two.recipient.get("/v1/agreements").json()["agreements"]) == 1
