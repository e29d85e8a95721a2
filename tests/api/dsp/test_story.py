"""From the catalogue to the data: negotiated, agreed by rule, pulled, stopped, resumed, completed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import select

from app.service.sharing.agreements.verification import verified
from app.service.sharing.dataspace import callbacks
from app.service.sharing.outbox import outbox
from app.store.database import tables
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.api.dsp.consumer import AT, Consumer, consuming
from tests.api.jobs.single_jobs import run_one
from tests.api.sharing.agreements.receiving import LOOPBACK, until

PARQUET = {"Accept": "application/vnd.apache.parquet"}
PURPOSE = {"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "DELAY", timedelta(0))


@pytest.fixture
def consumer(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> Iterator[Consumer]:
    target = tmp_path / "out"
    target.mkdir()
    service = start_service(sqlite_database, **LOOPBACK, DELIVERY_TARGETS=f"lake={target}")
    with consuming(service) as consumer:
        yield consumer


@pytest.fixture
def quick(sqlite_database: str, start_service: Callable[..., Service]) -> Iterator[Consumer]:
    with consuming(start_service(sqlite_database, **LOOPBACK)) as consumer:
        yield consumer


def actions(consumer: Consumer, subject: str) -> list[tuple[str, str]]:
    """What the audit log tells of a subject: who did what."""
    log = consumer.two.service.client().get("/v1/audit-log", params={"limit": 1000}).json()
    who = {consumer.two.owner_id: "owner", consumer.two.recipient_id: "consumer"}
    return [
        (who.get(entry["principal"], entry["principal"]), entry["action"])
        for entry in log["entries"]
        if entry["subject"] == subject
    ]


def test_the_whole_story(consumer: Consumer, tmp_path: Path) -> None:
    negotiation = consumer.request(by_rule=True)
    agreed = negotiation.hears("ContractAgreementMessage")["agreement"]
    assert agreed["assignee"] == f"did:web:{consumer.two.recipient_id}.example"
    assert agreed["target"] == consumer.dataset()["@id"]
    assert PURPOSE in agreed["permission"][0]["constraint"]
    negotiation.verify()
    negotiation.hears("ContractNegotiationEventMessage")
    # The same agreement at our own door, with the rule that agreed, its log and its signature.
    seen = consumer.two.owner.get(f"/v1/agreements/{negotiation.id}").json()
    assert (seen["state"], seen["rule"]) == ("FINALIZED", consumer.rule)
    record = consumer.client.get(f"/v1/agreements/{negotiation.id}/record").content
    keys = consumer.client.get("/.well-known/cornerwave-keys.json").content
    assert verified(record, keys)["id"] == negotiation.id

    transfer = consumer.transfer(agreed["@id"])
    transfer.hears("TransferStartMessage")
    url, headers = transfer.address()
    anyone = consumer.two.service.client(None)
    whole = anyone.get(url, headers={**headers, **PARQUET})
    assert whole.status_code == 200, whole.text
    table = pq.read_table(io.BytesIO(whole.content))
    assert (table.num_rows, table.column_names) == (40, ["age", "income", "city"])
    # The token is good for this, and for nothing else.
    assert anyone.get("/v1/datasets", headers=headers).status_code == 403
    assert anyone.get(f"{AT}/catalog/datasets/x", headers=headers).status_code == 403

    # In the middle of a download, read in ranges, the owner stops it.
    half = len(whole.content) // 2
    part = {**headers, **PARQUET, "Range": f"bytes=0-{half - 1}"}
    rest = {**headers, **PARQUET, "Range": f"bytes={half}-"}
    first = anyone.get(url, headers=part)
    assert first.status_code == 206
    transfer.owner("suspend")
    stopped = anyone.get(url, headers=rest)
    assert (stopped.status_code, stopped.json()["type"]) == (403, "/problems/forbidden")
    transfer.hears("TransferSuspensionMessage")
    transfer.owner("resume")
    transfer.hears("TransferStartMessage", 2)
    assert transfer.address() == (url, headers)
    second = anyone.get(url, headers=rest)
    assert first.content + second.content == whole.content

    assert transfer.complete().status_code == 200
    assert anyone.get(url, headers={**headers, **PARQUET}).status_code == 401
    assert actions(consumer, transfer.id) == [
        ("consumer", "transfer.request"),
        ("service", "transfer.start"),
        ("owner", "transfer.suspension"),
        ("owner", "transfer.start"),
        ("consumer", "transfer.completion"),
    ]
    assert [action for _, action in actions(consumer, negotiation.id)] == [
        "agreement.request",
        "agreement.verify",
    ]
    log = consumer.two.owner.get(f"/v1/agreements/{negotiation.id}/log").json()["entries"]
    events = [entry["event"] for entry in log if entry["event"] != "delivery"]
    assert events == [
        "request",
        "agree",
        "verify",
        "finalize",
        "transfer-request",
        "transfer-start",
        "transfer-suspension",
        "transfer-start",
        "transfer-completion",
    ]
    _require_secret(consumer, headers["Authorization"].removeprefix("Bearer "))

    pushed = consumer.transfer(
        agreed["@id"],
        format="Storage-PUSH",
        dataAddress={"@type": "DataAddress", "endpointType": "target", "endpoint": "lake"},
    )
    pushed.hears("TransferCompletionMessage")
    assert [one["@type"] for one in pushed.heard] == [
        "TransferStartMessage",
        "TransferCompletionMessage",
    ]
    assert "dataAddress" not in pushed.heard[0]
    [file] = (tmp_path / "out").glob("*/*.parquet")
    assert file.read_bytes() == whole.content


def _require_secret(consumer: Consumer, token: str) -> None:
    """Nothing that is kept has the token in it: not in a log, nor in a message that was sent."""
    resources = consumer.two.service.app.state.resources
    with reading(resources.engine) as connection:
        for table in (tables.outbox, tables.transfers, tables.agreement_log):
            rows = [tuple(row) for row in connection.execute(select(table))]
            assert token.split("_", 2)[2] not in repr(rows)
        messages = connection.execute(select(tables.outbox)).all()
    assert all(
        one.body is None
        for one in messages
        if one.delivered_at is not None or one.given_up_at is not None
    )


def test_what_ends_the_agreement_ends_its_transfers(quick: Consumer) -> None:
    agreement = quick.agreed()
    running, over = quick.transfer(agreement), quick.transfer(agreement)
    running.hears("TransferStartMessage")
    over.hears("TransferStartMessage")
    over.complete()
    url, headers = running.address()
    quick.two.say(quick.two.owner, agreement.rpartition(":")[2], "terminate")
    running.hears("TransferTerminationMessage")
    assert (running.state(), over.state()) == ("TERMINATED", "COMPLETED")
    assert quick.two.service.client(None).get(url, headers=headers).status_code == 401
    refused = quick.post(
        "/transfers/request",
        quick.message(
            "TransferRequestMessage",
            consumerPid="urn:example:late",
            agreementId=agreement,
            format="HttpData-PULL",
            callbackAddress=quick.told.url,
        ),
    )
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid-state")


def test_a_transfer_by_delta_sharing_opens_the_share_while_it_runs(quick: Consumer) -> None:
    agreement = quick.agreed()
    share = agreement.rpartition(":")[2]
    transfer = quick.transfer(agreement, format="DeltaSharing-PULL")
    transfer.hears("TransferStartMessage")
    url, headers = transfer.address()
    assert url.endswith("/delta-sharing/")
    client = quick.two.service.client(None)

    def tables() -> int:
        return client.get(f"{url}shares/{share}/all-tables", headers=headers).status_code

    (table,) = client.get(f"{url}shares/{share}/all-tables", headers=headers).json()["items"]
    at = f"{url}shares/{share}/schemas/{table['schema']}/tables/{table['name']}/query"
    answered = client.post(at, headers=headers, json={})
    file = json.loads(answered.text.splitlines()[-1])["file"]["url"]
    assert client.get(file).status_code == 200
    owner = quick.two.owner
    assert owner.post(f"/v1/transfers/{transfer.id}/suspend", json={}).status_code == 200
    assert tables() == 403
    assert client.get(file).status_code == 403
    assert owner.post(f"/v1/transfers/{transfer.id}/resume", json={}).status_code == 200
    assert (tables(), client.get(file).status_code) == (200, 200)
    transfer.complete()
    assert tables() == 401


def test_one_request_sent_twice_is_one(quick: Consumer) -> None:
    negotiation = quick.request(by_rule=True)
    again = quick.message(
        "ContractRequestMessage",
        consumerPid=negotiation.pid,
        offer=negotiation.offer,
        callbackAddress=quick.told.url,
    )
    answered = quick.post("/negotiations/request", again)
    assert (answered.status_code, answered.json()["providerPid"]) == (201, negotiation.provider_pid)
    other = {**again, "callbackAddress": f"{quick.told.url}elsewhere"}
    assert quick.post("/negotiations/request", other).status_code == 400
    negotiation.hears("ContractAgreementMessage")
    negotiation.verify()
    agreement = negotiation.provider_pid.replace(":negotiation:", ":agreement:")
    transfer = quick.transfer(agreement)
    twice = quick.transfer(agreement, consumerPid=transfer.pid)
    assert twice.provider_pid == transfer.provider_pid
    assert len(quick.client.get("/v1/agreements").json()["agreements"]) == 1
    assert len(quick.client.get("/v1/transfers").json()["transfers"]) == 1


def test_a_message_waits_for_the_one_before_it(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(sqlite_database, **LOOPBACK)
    with consuming(service, workers=False) as consumer:
        negotiation = consumer.request()
        negotiation.owner("offer")
        negotiation.owner("terminate")
        resources = service.app.state.resources
        jobs = tables.jobs.c
        with reading(resources.engine) as connection:
            found = select(jobs.id).where(jobs.kind == outbox.SEND)
            first, second = connection.execute(found.order_by(jobs.created_at)).scalars()
        # Whichever worker is faster: the end is not told before the offer.
        run_one(resources, second)
        assert negotiation.heard == []
        run_one(resources, first)
        assert [one["@type"] for one in negotiation.heard] == [
            "ContractOfferMessage",
            "ContractNegotiationTerminationMessage",
        ]


def test_messages_come_in_order_however_often_they_are_tried(quick: Consumer) -> None:
    quick.told.status = 404
    negotiation = quick.request()
    negotiation.owner("offer")
    until(lambda: len(negotiation.heard) >= 2)
    negotiation.owner("terminate")
    quick.told.status = 200
    negotiation.hears("ContractNegotiationTerminationMessage")
    kinds = [one["@type"] for one in negotiation.heard]
    first_end = kinds.index("ContractNegotiationTerminationMessage")
    assert set(kinds[:first_end]) == {"ContractOfferMessage"}
    # One that is refused is not sent again, and the agreement's log says so.
    quick.told.status = 400
    refused = quick.request()
    refused.owner("offer")
    refused.owner("terminate")
    refused.hears("ContractNegotiationTerminationMessage")
    at = f"/v1/agreements/{refused.id}/log"

    def silences() -> list[Any]:
        entries = quick.two.owner.get(at).json()["entries"]
        return [one["facts"] for one in entries if one["event"] == "callback-refused"]

    until(lambda: len(silences()) == 2)
    quick.told.status = 200  # not before: what is heard is answered a moment later
    assert [one["answer"] for one in silences()] == ["status 400", "status 400"]
    # One may come twice, by its own job and by that of the one before it; never out of order.
    assert [kind for kind, _ in groupby(one["@type"] for one in refused.heard)] == [
        "ContractOfferMessage",
        "ContractNegotiationTerminationMessage",
    ]


def test_who_may_do_what(quick: Consumer) -> None:
    negotiation = quick.request(by_rule=True)
    negotiation.hears("ContractAgreementMessage")
    negotiation.verify()
    agreement = negotiation.provider_pid.replace(":negotiation:", ":agreement:")
    transfer = quick.transfer(agreement)
    transfer.hears("TransferStartMessage")
    service = quick.two.service
    stranger_id, stranger = service.principal("recipient")
    for path in (f"negotiations/{negotiation.provider_pid}", f"transfers/{transfer.provider_pid}"):
        assert service.client(None).get(f"{AT}/{path}").status_code == 401
        # Others' do not exist, for whoever asks: not for a stranger, the owner or an administrator.
        for other in (stranger, quick.two.owner, service.client()):
            assert other.get(f"{AT}/{path}").status_code == 404
    assert stranger.get(f"/v1/transfers/{transfer.id}").status_code == 404
    assert stranger.post(f"/v1/transfers/{transfer.id}/suspend", json={}).status_code == 404
    assert stranger.get("/v1/transfers").json()["transfers"] == []
    # A recipient that is in no data space is told so.
    request = quick.message(
        "ContractRequestMessage",
        consumerPid="urn:example:stranger",
        offer=negotiation.offer,
        callbackAddress=quick.told.url,
    )
    refused = stranger.post(f"{AT}/negotiations/request", json=request)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    taken = {"participant_id": f"did:web:{quick.two.recipient_id}.example"}
    at = f"/v1/principals/{stranger_id}/participant"
    assert service.client().put(at, json=taken).status_code == 409
    assert stranger.put(at, json={"participant_id": "did:web:me.example"}).status_code == 403
    assert service.client().put(at, json={"participant_id": "did:x:1"}).status_code == 200
    assert stranger.post(f"{AT}/negotiations/request", json=request).status_code == 201
    assert json.dumps(stranger.get(f"/v1/principals/{stranger_id}").json()["participant_id"])


def test_nothing_is_reachable_under_a_proposed_participant_id(quick: Consumer) -> None:
    service, owner = quick.two.service, quick.two.owner
    _, other = service.principal("owner")
    made = owner.post("/v1/principals", json={"name": "connector"}).json()
    recipient, at = service.client(made["key"]), f"/v1/principals/{made['id']}/participant"
    known = {"participant_id": f"did:web:{quick.two.recipient_id}.example"}
    dataset = quick.dataset()
    request = quick.message(
        "ContractRequestMessage",
        consumerPid="urn:example:connector",
        offer={**dataset["hasPolicy"][0], "target": dataset["@id"]},
        callbackAddress=quick.told.url,
    )

    def reachable() -> bool:
        return recipient.post(f"{AT}/negotiations/request", json=request).status_code == 201

    # Proposing does not say whether somebody else has the id.
    proposed = owner.put(at, json=known)
    assert proposed.status_code == 200
    assert (proposed.json()["participant_id"], proposed.json()["proposed_participant_id"]) == (
        None,
        known["participant_id"],
    )
    assert not reachable()
    own = {"participant_id": "did:web:own.example"}
    assert owner.put(at, json=own).status_code == 200
    assert other.put(at, json=own).status_code == 404
    assert recipient.put(at, json=own).status_code == 403
    assert not reachable()
    # An administrator confirms it; a later proposal changes nothing.
    confirmed = service.client().put(at, json=own).json()
    assert confirmed["participant_id"] == own["participant_id"]
    assert confirmed["proposed_participant_id"] is None
    owner.put(at, json=known)
    assert (
        owner.get(f"/v1/principals/{made['id']}").json()["participant_id"] == "did:web:own.example"
    )
    assert reachable()


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/x",
        "https://10.0.0.1/x",
        "ftp://example.org/x",
        "nothing",
        "https://a@b/",
    ],
)
def test_callbacks_go_only_where_webhooks_may(service: Service, address: str) -> None:
    with consuming(service) as consumer:
        dataset = consumer.dataset()
        offer = {**dataset["hasPolicy"][0], "target": dataset["@id"]}
        message = consumer.message(
            "ContractRequestMessage",
            consumerPid="urn:example:1",
            offer=offer,
            callbackAddress=address,
        )
        refused = consumer.post("/negotiations/request", message)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid-parameter")
