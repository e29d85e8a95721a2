"""A connector's transfers, as the session of the examples (`tests/api/story.py`) tells of them."""

from __future__ import annotations

from typing import Any, Protocol

from fastapi.testclient import TestClient
from sqlalchemy import select

from app.service.sharing.dataspace.transfer_state import TRANSFER_JOB_KIND
from app.store.database import tables
from app.store.database.engine import reading
from tests.api.jobs.single_jobs import run_one

CONTEXT = ["https://w3id.org/dspace/2025/1/context.jsonld"]
AT, CALLBACK = "/dsp/2025-1", "https://203.0.113.9/callback"


class Speaker(Protocol):
    """Whoever sends messages with a connector's key, over a socket or without."""

    def post(self, url: str, *, json: Any) -> Any: ...


class Teller(Protocol):
    """Whoever sends requests by operation, and keeps the examples."""

    client: TestClient

    def ask(self, operation: str, *, json_body: Any = None, **parameters: Any) -> Any: ...


def told_of_transfers(teller: Teller, dataset: str) -> None:
    """An agreement by rule, and two transfers under it: completed, and ended."""
    ask, owner = teller.ask, teller.client
    made = ask("create_principal", json_body={"name": "connector"})
    named = {"participant_id": "did:web:connector.example"}
    ask("name_participant", principal_id=made["id"], json_body=named)
    rule = {"dataset": dataset, "least_privacy": 0.5, "longest_days": 366}
    rule_id = ask("add_rule", json_body=rule)["id"]
    headers = {"Authorization": f"Bearer {made['key']}"}
    connector = TestClient(owner.app, headers=headers)
    agreement = agreed(connector)
    first, second = (started(connector, agreement, pid) for pid in ("first", "second"))
    connector.close()
    ask("list_transfers", limit=10)
    ask("show_transfer", transfer_id=first)
    ask("suspend_transfer", transfer_id=first, json_body={"reason": "a question came up"})
    ask("resume_transfer", transfer_id=first, json_body={})
    ask("complete_transfer", transfer_id=first, json_body={})
    ask("terminate_transfer", transfer_id=second, json_body={"reason": "the wrong level"})
    ask("terminate_agreement", agreement_id=agreement.rpartition(":")[2], json_body={})
    ask("remove_rule", rule_id=rule_id)


def agreed(connector: Speaker, dataset: str = "", callback: str = CALLBACK) -> str:
    """The id of an agreement under the first offer of a data set, which a rule agrees to."""
    catalog = _said(connector, "catalog/request", "CatalogRequestMessage")
    listed = next(one for one in catalog["dataset"] if dataset in one["@id"])
    asked = {**listed["hasPolicy"][0], "target": listed["@id"]}
    pids = {"consumerPid": "urn:example:negotiation"}
    negotiation = _said(
        connector,
        "negotiations/request",
        "ContractRequestMessage",
        **pids,
        offer=asked,
        callbackAddress=callback,
    )
    pids["providerPid"] = negotiation["providerPid"]
    path = f"negotiations/{pids['providerPid']}/agreement/verification"
    _said(connector, path, "ContractAgreementVerificationMessage", **pids)
    return str(pids["providerPid"].replace(":negotiation:", ":agreement:"))


def started(connector: TestClient, agreement: str, pid: str) -> str:
    """A transfer that a worker has started; our id of it."""
    begun = requested(connector, agreement, pid)
    resources = connector.app.state.resources  # type: ignore[attr-defined]  # an app, to the client any
    jobs = tables.jobs.c
    with reading(resources.engine) as connection:
        query = select(jobs.id).where(jobs.kind == TRANSFER_JOB_KIND, jobs.subject == begun)
        job = connection.execute(query).scalar_one()
    run_one(resources, job)
    return begun


def requested(connector: Speaker, agreement: str, pid: str, callback: str = CALLBACK) -> str:
    """A transfer that is asked for; our id of it."""
    transfer = _said(
        connector,
        "transfers/request",
        "TransferRequestMessage",
        consumerPid=f"urn:example:{pid}",
        agreementId=agreement,
        format="HttpData-PULL",
        callbackAddress=callback,
    )
    begun: str = transfer["providerPid"].rpartition(":")[2]
    return begun


def _said(connector: Speaker, path: str, kind: str, **members: Any) -> Any:
    answered = connector.post(f"{AT}/{path}", json={"@context": CONTEXT, "@type": kind, **members})
    assert answered.status_code in (200, 201), answered.text
    return answered.json()
