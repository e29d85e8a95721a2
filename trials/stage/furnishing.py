"""Things to be asked for, made anew in a service: one of every kind that an address can name."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.api.dsp.told import agreed, requested
from trials.crowd import COLUMNS, CSV, principal, table
from trials.verdicts import expect

SETTINGS = {"WEBHOOK_NETWORKS": "127.0.0.0/8"}
"""What a service is started with in which everything can be made."""

NOBODY = "https://127.0.0.1:9/told"
"""Where webhooks and callbacks go: no one listens there."""

ROWS = 100
STEPS = ("accept", "agree", "verify", "finalize")
"""An offer until it holds; the recipient's word and the owner's in turn."""


@dataclass(frozen=True)
class Furnished:
    """Ids by the names of path parameters, and the key of the recipient among them."""

    ids: Mapping[str, str]
    recipient_key: str


def furnished(url: str, chance: random.Random) -> Furnished:
    """A data set with a level, a copy and all that can hang on them, and a recipient who may have it."""
    with ExitStack() as opened:
        owner = opened.enter_context(principal(url))
        name = f"met-{chance.randrange(10**12)}"
        made = _made(owner, "/v1/principals", json={"name": name})
        recipient = opened.enter_context(principal(url))
        recipient.headers["Authorization"] = f"Bearer {made['key']}"
        ids = _dataset(owner, name, made["id"], chance)
        at = f"/v1/datasets/{ids['dataset_id']}"
        ids |= _shared(owner, recipient, ids, chance)
        ids |= _asked_for(owner, at, ids["copy_id"], chance)
        ids["key_id"] = made["key"].split("_")[1]
    return Furnished({**ids, "method": "primp"}, made["key"])


def _dataset(
    owner: httpx2.Client, name: str, recipient: str, chance: random.Random
) -> dict[str, str]:
    dataset = _made(
        owner,
        "/v1/datasets",
        params={"name": name, "columns": COLUMNS, "allow_overlap": "true", "key_column": "person"},
        content=table(chance, ROWS).encode(),
        headers={"Content-Type": CSV},
    )["id"]
    at, level = f"/v1/datasets/{dataset}", {"noise_variance": 1, "offered": True}
    described = {"listed": True, "description": "People."}
    owner.patch(at, json=described).raise_for_status()
    owner.put(f"{at}/levels/met", json=level).raise_for_status()
    owner.put(f"{at}/grants/{recipient}", json={"level": "met"}).raise_for_status()
    copy = _made(owner, f"{at}/copies", json={"level": "met"})["id"]
    few, csv = table(chance, 3).encode(), {"Content-Type": CSV}
    pending = _made(
        owner, f"{at}/rows", params={"allow_overlap": "true"}, content=few, headers=csv
    )["pending"]
    return {
        "dataset_id": dataset,
        "level": "met",
        "recipient": recipient,
        "copy_id": copy,
        "batch_id": pending,
    }


def _shared(
    owner: httpx2.Client, recipient: httpx2.Client, ids: dict[str, str], chance: random.Random
) -> dict[str, str]:
    """An offer that has come so far or so far, and a transfer under an agreement by rule."""
    terms = {
        "items": [{"dataset": ids["dataset_id"], "level": "met"}],
        "purpose": "research",
        "legal_basis": "GDPR Art. 6(1)(e)",
        "ends_at": "2099-01-01T00:00:00Z",
        "recipient": ids["recipient"],
    }
    agreement = _made(owner, "/v1/agreements", json=terms)["id"]
    for number, step in enumerate(STEPS[: chance.randrange(len(STEPS) + 1)]):
        who = owner if number % 2 else recipient
        who.post(f"/v1/agreements/{agreement}/{step}", json={}).raise_for_status()
    # Those of earlier times would be told of all that follows, again and again.
    for earlier in owner.get("/v1/webhooks").raise_for_status().json()["webhooks"]:
        owner.delete(f"/v1/webhooks/{earlier['id']}").raise_for_status()
    hook = _made(owner, "/v1/webhooks", json={"url": NOBODY})["id"]
    rule = {"dataset": ids["dataset_id"], "least_privacy": 0.01, "longest_days": 366}
    rule_id = _made(owner, "/v1/agreement-rules", json=rule)["id"]
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


def _asked_for(owner: httpx2.Client, at: str, copy: str, chance: random.Random) -> dict[str, str]:
    """What methods leave behind: an audit, a report, a job, a survey, a file."""
    rows = table(chance, ROWS).encode()
    as_csv, later = {"Content-Type": CSV}, {"Prefer": "respond-async"}
    audit = _made(owner, f"{at}/audits", json={"levels": ["met"]})["id"]
    synthetic = owner.post("/v1/synthesis/primp", content=rows, headers=as_csv).raise_for_status()
    link = synthetic.headers["link"]
    address = "/v1/identifiability?confidential=city"
    job = _made(owner, address, content=rows, headers=as_csv | later)["id"]
    survey = {
        "name": f"met-{chance.randrange(10**12)}",
        "categories": ["yes", "no"],
        "perturbation": {"kind": "poisson", "rate": 2, "gamma": 1},
    }
    files = owner.post(f"/v1/copies/{copy}/files", json={}).raise_for_status().json()["files"]
    return {
        "audit_id": audit,
        "report_id": link[link.index("rp_") : link.index(">")],
        "job_id": job,
        "survey_id": _made(owner, "/v1/surveys", json=survey)["id"],
        "file_id": files[0]["id"],
    }


def _made(client: httpx2.Client, address: str, **request: Any) -> Any:
    answer = client.post(address, **request)
    said = answer.text[:300]
    expect(answer.status_code in (201, 202), f"{address}: {answer.status_code} {said}")
    return answer.json()
