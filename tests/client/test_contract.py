"""Every operation of the API document is reachable from the client, or left out for a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cornerwave
from app.tables.media import CONTENT_TYPES
from cornerwave.copies import Copy
from cornerwave.datasets import Dataset
from cornerwave.transport.calls import Answer, Call
from cornerwave.transport.drivers import Driver
from cornerwave.values import CopyInfo, DatasetInfo

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))

LEFT_OUT = {
    "read_metrics": "for a monitoring system, which reads it by itself",
    "download_file": "the address is the right to the file: any reader of Parquet takes it, without a client",
    "take_back": "done on Ctrl-C and when a task is cancelled, by a request's own Idempotency-Key",
    "issue_event_token": "for an EventSource of a browser, which can send no key",
    "follow_job": "the client looks at the job instead, which needs no connection that is held open",
}

OTHER_CLIENTS = {
    "/delta-sharing": "clients of Delta Sharing speak it, with the profile that `agreement_profile` gives",
    "/dsp": "connectors of data spaces speak it",
}
"""Protocols of others, by how their addresses begin."""

COMING: set[str] = set()
"""Reached where the service has it."""

CSV = b"a,b\n1,2\n"
NOISE = {"kind": "independent", "noise_variance": 4}

REACHED: dict[str, Callable[[cornerwave.Client, Dataset, Copy], object]] = {
    "register_dataset": lambda cw, _d, _c: cw.register(
        CSV,
        name="n",
        columns={"a": "numeric"},
        key_column="a",
        allow_versions=True,
        allow_overlap=True,
        dry_run=True,
        read_options=cornerwave.ReadOptions(
            ",", "point", "utf-8", "present", ["-"], "s", "day_first", 1, [2]
        ),
    ),
    "list_datasets": lambda cw, _d, _c: cw.datasets(),
    "show_dataset": lambda _cw, d, _c: d.refresh(),
    "describe_dataset": lambda _cw, d, _c: d.describe(description="d", listed=True),
    "remove_dataset": lambda _cw, d, _c: d.remove(),
    "put_columns": lambda _cw, d, _c: d.set_columns({"a": "categorical"}),
    "append_rows": lambda _cw, d, _c: d.append(CSV, allow_versions=True, allow_overlap=True),
    "list_pending_rows": lambda _cw, d, _c: d.pending_rows(),
    "withdraw_pending_rows": lambda _cw, d, _c: d.withdraw_rows("pb_1"),
    "close_pending_rows": lambda _cw, d, _c: d.close_rows(),
    "retire_rows": lambda _cw, d, _c: d.retire(rows=[1]),
    "put_level": lambda _cw, d, _c: d.level("l", privacy=0.2, offered=True),
    "remove_level": lambda _cw, d, _c: d.remove_level("l"),
    "show_ledger": lambda _cw, d, _c: d.ledger(),
    "list_levels": lambda _cw, d, _c: d.levels(),
    "put_grant": lambda _cw, d, _c: d.grant("r", "l"),
    "withdraw_grant": lambda _cw, d, _c: d.withdraw("r"),
    "list_grants": lambda _cw, d, _c: d.grants(),
    "issue_copy": lambda _cw, d, _c: d.copy("l"),
    "issue_batch": lambda _cw, d, _c: d.copies(["l", "m"]),
    "read_history": lambda _cw, d, _c: d.history(),
    "show_copy": lambda _cw, _d, c: c.refresh(),
    "show_noise_law": lambda _cw, _d, c: c.noise(),
    "estimate_copy": lambda _cw, _d, c: c.estimate("means", "a"),
    "estimate_table": lambda _cw, _d, c: c.estimate(
        "linear_regression", ["a"], target="b", value="v", table=CSV
    ),
    "download_copy": lambda _cw, _d, c: c.fetch(columns=["a"], rows=(0, 5)),
    "list_files": lambda _cw, _d, c: c.files(),
    "create_principal": lambda cw, _d, _c: cw.create_principal("r"),
    "list_principals": lambda cw, _d, _c: cw.principals(),
    "show_principal": lambda cw, _d, _c: cw.principal("r"),
    "revoke_principal": lambda cw, _d, _c: cw.revoke_principal("r"),
    "rotate_key": lambda cw, _d, _c: cw.rotate_key("r"),
    "revoke_key": lambda cw, _d, _c: cw.revoke_key("r", "k"),
    "read_audit_log": lambda cw, _d, _c: cw.audit_log(most=5),
    "read_report": lambda cw, _d, _c: cw.report("r"),
    "identify_records": lambda cw, _d, _c: cw.identifiability(
        CSV, confidential="a", non_confidential=["b"], bins={}, rows=True
    ),
    "swap_values": lambda cw, _d, _c: cw.swap(
        CSV,
        confidential="a",
        non_confidential="b",
        bins={},
        proportion=1,
        method="optimal",
        group_number=1,
        group_proportion=0.5,
        smoothing=0,
        allowed_deviation=0,
        tree=True,
        seed=1,
    ),
    "score_attacks": lambda cw, _d, _c: cw.score(CSV, [CSV, CSV], noise=NOISE, seed=1),
    "reconstruct_table": lambda cw, _d, _c: cw.reconstruct(CSV, noise=NOISE, original=CSV),
    "run_audit": lambda _cw, d, _c: d.audit(levels=["l"]),
    "list_audits": lambda _cw, d, _c: d.audits(),
    "read_audit": lambda _cw, d, _c: d.read_audit("x"),
    "randomize_table": lambda cw, _d, _c: cw.randomize(
        CSV, noise_variance=1, noise="independent", columns="a", seed=1
    ),
    "estimate_distribution": lambda cw, _d, _c: cw.estimate([1.0], noise=NOISE, bins=3),
    "perturb_values": lambda cw, _d, _c: cw.perturb([1.0], noise=NOISE),
    "measure_perturbations": lambda cw, _d, _c: cw.measures([{"shares": [1.0]}]),
    "create_survey": lambda cw, _d, _c: cw.create_survey("s", perturbation={"kind": "x"}),
    "list_surveys": lambda cw, _d, _c: cw.surveys(),
    "show_survey": lambda cw, _d, _c: cw.survey("s"),
    "remove_survey": lambda cw, _d, _c: cw.remove_survey("s"),
    "add_responses": lambda cw, _d, _c: cw.add_responses("s", [[1]]),
    "estimate_survey": lambda cw, _d, _c: cw.estimate_survey("s"),
    "compare_methods": lambda cw, _d, _c: cw.compare_synthesis(CSV, rows=1, seed=1, target="a"),
    "expect_leakage": lambda cw, _d, _c: cw.expected_leakage(10, 2, rows=5, most=3),
    "synthesise_table": lambda cw, _d, _c: cw.synthesise(
        CSV,
        method="primp",
        rows=1,
        components=2,
        seed=1,
        enforce_types=True,
        target="a",
        distance=0.1,
        inner="primp",
        stratum_records=40,
        accept_risk=False,
    ),
    "measure_utility": lambda cw, _d, _c: cw.utility(
        CSV, CSV, holdout=CSV, target="a", distance=0.1, seed=1
    ),
    "check_health": lambda cw, _d, _c: cw.health(),
    "check_readiness": lambda cw, _d, _c: cw.readiness(),
    "list_catalogue": lambda cw, _d, _c: cw.catalogue(),
    "show_listing": lambda cw, _d, _c: cw.listing("d"),
    "open_agreement": lambda cw, _d, _c: cw.open_agreement(
        [{"dataset": "d", "level": "l"}], purpose="research", ends_at="2027-01-01T00:00:00Z"
    ),
    "list_agreements": lambda cw, _d, _c: cw.agreements(state="FINALIZED"),
    "show_agreement": lambda cw, _d, _c: cw.agreement("a"),
    "read_agreement_log": lambda cw, _d, _c: cw.agreement_log("a"),
    "request_terms": lambda cw, _d, _c: cw.answer_agreement("a", "request", terms={}),
    "offer_terms": lambda cw, _d, _c: cw.answer_agreement("a", "offer", version=2),
    "accept_offer": lambda cw, _d, _c: cw.answer_agreement("a", "accept"),
    "agree_to_terms": lambda cw, _d, _c: cw.answer_agreement("a", "agree"),
    "verify_agreement": lambda cw, _d, _c: cw.answer_agreement("a", "verify"),
    "finalize_agreement": lambda cw, _d, _c: cw.answer_agreement("a", "finalize"),
    "terminate_agreement": lambda cw, _d, _c: cw.answer_agreement("a", "terminate", reason="r"),
    "read_agreement_record": lambda cw, _d, _c: cw.agreement_record("a"),
    "read_agreement_policy": lambda cw, _d, _c: cw.agreement_policy("a"),
    "read_signing_keys": lambda cw, _d, _c: cw.signing_keys(),
    "preview_levels": lambda _cw, d, _c: d.preview(["l"], privacies=[0.5], target="a"),
    "list_rules": lambda cw, _d, _c: cw.agreement_rules(),
    "add_rule": lambda cw, _d, _c: cw.add_agreement_rule(least_privacy=0.5, longest_days=30),
    "remove_rule": lambda cw, _d, _c: cw.remove_agreement_rule("r"),
    "list_jobs": lambda cw, _d, _c: cw.jobs(state="done"),
    "show_job": lambda cw, _d, _c: cw.job("j"),
    "read_result": lambda cw, _d, _c: cw.result("j"),
    "trace_table": lambda _cw, d, _c: d.trace(CSV, read_options=cornerwave.ReadOptions(",")),
    "add_webhook": lambda cw, _d, _c: cw.add_webhook("https://a.example", events=["copy.ready"]),
    "list_webhooks": lambda cw, _d, _c: cw.webhooks(),
    "remove_webhook": lambda cw, _d, _c: cw.remove_webhook("w"),
    "list_messages": lambda cw, _d, _c: cw.webhook_messages("w", most=3),
    "send_again": lambda cw, _d, _c: cw.send_message_again("w", "m"),
    "list_deliveries": lambda cw, _d, _c: cw.agreement_deliveries("a"),
    "give_profile": lambda cw, _d, _c: cw.agreement_profile("a"),
    "name_participant": lambda cw, _d, _c: cw.name_participant("r", "did:web:a.example"),
    "list_transfers": lambda cw, _d, _c: cw.transfers(),
    "show_transfer": lambda cw, _d, _c: cw.transfer("t"),
    "complete_transfer": lambda cw, _d, _c: cw.answer_transfer("t", "complete"),
    "suspend_transfer": lambda cw, _d, _c: cw.answer_transfer("t", "suspend", reason="r"),
    "resume_transfer": lambda cw, _d, _c: cw.answer_transfer("t", "resume"),
    "terminate_transfer": lambda cw, _d, _c: cw.answer_transfer("t", "terminate", reason="r"),
    "cancel_job": lambda cw, _d, _c: cw.cancel_job("j"),
}


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """By id: the method, the address and the rest."""
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
        if "operationId" in operation and not path.startswith(tuple(OTHER_CLIENTS))
    }


THERE = sorted(set(REACHED) - (COMING - set(operations())))


class Sent(Exception):
    """The request that would have been sent."""

    def __init__(self, call: Call) -> None:
        self.call = call


class Recording(Driver):
    """Sends nothing."""

    def answer(self, call: Call) -> Answer:
        raise Sent(call)


def sent_by(name: str) -> Call:
    driver = Recording("http://127.0.0.1:1", "key", cornerwave.Retries())
    dataset = DatasetInfo("d", "n", "o", 1, 0, 0, 0, True, None, False, "", ())
    copy = CopyInfo("c", "d", ("l",), 1.0, 0.5, "", 1, (), "")
    try:
        with pytest.raises(Sent) as sent:
            REACHED[name](cornerwave.Client(driver), Dataset(driver, dataset), Copy(driver, copy))
    finally:
        driver.close()
    return sent.value.call


def test_every_operation_is_reached_or_left_out_with_a_reason() -> None:
    known = set(THERE) | set(LEFT_OUT)
    assert set(operations()) - known == set(), (
        "say how the client reaches these, or why it does not"
    )
    assert known - set(operations()) == set(), "the service has no such operation any more"
    assert not set(REACHED) & set(LEFT_OUT)
    assert all({**LEFT_OUT, **OTHER_CLIENTS}.values())


@pytest.mark.parametrize("name", THERE)
def test_what_the_client_sends_is_what_the_document_describes(name: str) -> None:
    method, path, operation = operations()[name]
    call = sent_by(name)
    template = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path))
    assert call.method == method
    assert re.fullmatch(template, call.path)
    parameters = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"}
    assert {parameter for parameter, _ in call.parameters} <= parameters
    body = operation.get("requestBody", {}).get("content", {})
    if call.body is None:
        assert not operation.get("requestBody", {}).get("required", False)
    else:
        # Bytes may be called by the name of their format, too.
        named = CONTENT_TYPES if "application/octet-stream" in body else {}
        assert call.body.media_type.partition(";")[0] in {*body, *named}
    if "Idempotency-Key" not in str(operation) and method == "GET":
        assert not call.changes
    answers = operation["responses"]
    success = next(answer for status, answer in answers.items() if status.startswith("2"))
    assert call.accept in {"*/*", *success.get("content", [call.accept])}


def example_of(name: str) -> object:
    """What the document shows as the answer to an operation, as JSON; None where it shows nothing."""
    answers = operations()[name][2]["responses"]
    success = next(answer for status, answer in answers.items() if status.startswith("2"))
    for content in success.get("content", {}).values():
        shown = [
            content.get("example"),
            *(e["value"] for e in content.get("examples", {}).values()),
        ]
        if isinstance(shown[-1], dict):
            return shown[-1]
    return None


class Showing(Driver):
    """Gives every call the same answer."""

    shown: object = None

    def answer(self, _call: Call) -> Answer:
        return Answer(200, {"content-type": "application/json"}, json.dumps(self.shown).encode())


SHOWN = [name for name in THERE if sent_by(name).into is None and example_of(name) is not None]


@pytest.mark.parametrize("name", SHOWN)
def test_what_the_document_shows_is_an_answer_that_the_client_takes(name: str) -> None:
    driver = Showing("http://127.0.0.1:1", "key", cornerwave.Retries())
    driver.shown = example_of(name)
    dataset = DatasetInfo("d", "n", "o", 1, 0, 0, 0, True, None, False, "", ())
    copy = CopyInfo("c", "d", ("l",), 1.0, 0.5, "", 1, (), "")
    try:
        REACHED[name](cornerwave.Client(driver), Dataset(driver, dataset), Copy(driver, copy))
    finally:
        driver.close()


def test_most_answers_are_shown() -> None:
    assert len(SHOWN) > 60
