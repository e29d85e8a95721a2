"""Resources for fuzzed requests: one of every kind that a path parameter can name."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.api.dsp.transfer_story import agreed, requested
from trials.errors import expect
from trials.workload import COLUMNS, CSV, admin_client, table

SETTINGS = {"WEBHOOK_NETWORKS": "127.0.0.0/8"}
"""Settings under which every resource can be created."""

NOBODY = "https://127.0.0.1:9/told"
"""Unreachable target of webhooks and callbacks."""

ROWS = 100
STEPS = ("accept", "agree", "verify", "finalize")
"""Messages of a negotiation, by recipient and owner in turn."""


@dataclass(frozen=True)
class Fixtures:
    """Ids by path parameter, and the recipient's key."""

    ids: Mapping[str, str]
    recipient_key: str


def create_fixtures(url: str, rng: random.Random) -> Fixtures:
    """Create a data set with a level, a copy, everything that depends on them, and a recipient with access."""
    with ExitStack() as opened:
        owner = opened.enter_context(admin_client(url))
        name = f"met-{rng.randrange(10**12)}"
        made = _create(owner, "/v1/principals", json={"name": name})
        recipient = opened.enter_context(admin_client(url))
        recipient.headers["Authorization"] = f"Bearer {made['key']}"
        ids = _create_dataset(owner, name, made["id"], rng)
        at = f"/v1/datasets/{ids['dataset_id']}"
        ids |= _create_agreement(owner, recipient, ids, rng)
        ids |= _create_results(owner, at, ids["copy_id"], rng)
        ids["key_id"] = made["key"].split("_")[1]
    return Fixtures({**ids, "method": "primp"}, made["key"])


def _create_dataset(
    owner: httpx2.Client, name: str, recipient: str, rng: random.Random
) -> dict[str, str]:
    dataset = _create(
        owner,
        "/v1/datasets",
        params={"name": name, "columns": COLUMNS, "allow_overlap": "true", "key_column": "person"},
        content=table(rng, ROWS).encode(),
        headers={"Content-Type": CSV},
    )["id"]
    at, level = f"/v1/datasets/{dataset}", {"noise_variance": 1, "offered": True}
    described = {"listed": True, "description": "People."}
    owner.patch(at, json=described).raise_for_status()
    owner.put(f"{at}/levels/met", json=level).raise_for_status()
    owner.put(f"{at}/grants/{recipient}", json={"level": "met"}).raise_for_status()
    copy = _create(owner, f"{at}/copies", json={"level": "met"})["id"]
    few, csv = table(rng, 3).encode(), {"Content-Type": CSV}
    pending = _create(
        owner, f"{at}/rows", params={"allow_overlap": "true"}, content=few, headers=csv
    )["pending"]
    return {
        "dataset_id": dataset,
        "level": "met",
        "recipient": recipient,
        "principal_id": recipient,
        "copy_id": copy,
        "batch_id": pending,
    }


def _create_agreement(
    owner: httpx2.Client, recipient: httpx2.Client, ids: dict[str, str], rng: random.Random
) -> dict[str, str]:
    """Create an offer in a random state, and a transfer under an agreement made by rule."""
    terms = {
        "items": [{"dataset": ids["dataset_id"], "level": "met"}],
        "purpose": "research",
        "legal_basis": "GDPR Art. 6(1)(e)",
        "ends_at": "2099-01-01T00:00:00Z",
        "recipient": ids["recipient"],
    }
    agreement = _create(owner, "/v1/agreements", json=terms)["id"]
    for number, step in enumerate(STEPS[: rng.randrange(len(STEPS) + 1)]):
        who = owner if number % 2 else recipient
        who.post(f"/v1/agreements/{agreement}/{step}", json={}).raise_for_status()
    # Earlier webhooks would receive all later events.
    for earlier in owner.get("/v1/webhooks").raise_for_status().json()["webhooks"]:
        owner.delete(f"/v1/webhooks/{earlier['id']}").raise_for_status()
    hook = _create(owner, "/v1/webhooks", json={"url": NOBODY})["id"]
    rule = {"dataset": ids["dataset_id"], "least_privacy": 0.01, "longest_days": 366}
    rule_id = _create(owner, "/v1/agreement-rules", json=rule)["id"]
    participant = {"participant_id": f"did:web:{ids['recipient']}.example"}
    at = f"/v1/principals/{ids['recipient']}/participant"
    owner.put(at, json=participant).raise_for_status()
    held = agreed(recipient, dataset=ids["dataset_id"], callback=NOBODY)
    transfer = requested(recipient, held, "transfer", callback=NOBODY)
    listed = owner.get(f"/v1/webhooks/{hook}/messages").raise_for_status().json()["messages"]
    return {
        "agreement_id": agreement,
        "webhook_id": hook,
        "rule_id": rule_id,
        "transfer_id": transfer,
        **({"message_id": listed[0]["id"]} if listed else {}),
    }


def _create_results(owner: httpx2.Client, at: str, copy: str, rng: random.Random) -> dict[str, str]:
    """Create an audit, a report, a job, a survey and a file."""
    rows = table(rng, ROWS).encode()
    as_csv, later = {"Content-Type": CSV}, {"Prefer": "respond-async"}
    audit = _create(owner, f"{at}/audits", json={"levels": ["met"]})["id"]
    synthetic = owner.post("/v1/synthesis/primp", content=rows, headers=as_csv).raise_for_status()
    link = synthetic.headers["link"]
    address = "/v1/identifiability?confidential=city"
    job = _create(owner, address, content=rows, headers=as_csv | later)["id"]
    survey = {
        "name": f"met-{rng.randrange(10**12)}",
        "categories": ["yes", "no"],
        "perturbation": {"kind": "poisson", "rate": 2, "gamma": 1},
    }
    files = owner.post(f"/v1/copies/{copy}/files", json={}).raise_for_status().json()["files"]
    return {
        "audit_id": audit,
        "report_id": link[link.index("rp_") : link.index(">")],
        "job_id": job,
        "survey_id": _create(owner, "/v1/surveys", json=survey)["id"],
        "file_id": files[0]["id"],
    }


def _create(client: httpx2.Client, address: str, **request: Any) -> Any:
    answer = client.post(address, **request)
    text = answer.text[:300]
    expect(answer.status_code in (201, 202), f"{address}: {answer.status_code} {text}")
    return answer.json()
