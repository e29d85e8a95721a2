"""A session that asks for everything once; what is sent and answered are the document's examples.

`python -m tests.api.story` writes them anew to app/api/examples.json.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fastapi.testclient import TestClient

from app.main import openapi_document
from app.model import Role
from app.service.jobs.enqueue import enqueue
from app.service.jobs.job_types import JobType, Outcome
from app.store.database.engine import writing
from app.store.database.sharing import principals
from tests.api.dsp.transfer_story import told_of_transfers
from tests.api.jobs.single_jobs import run_one

EXAMPLES = Path(__file__).resolve().parents[2] / "app" / "api" / "examples.json"
CSV = "text/csv"
JSON = "application/json"
OCTETS = "application/octet-stream"
PARQUET = "application/vnd.apache.parquet"

PEOPLE = "person,age,income,city\n" + "".join(
    f"p{i},{20 + 3 * i % 41},{1000 + 137 * i % 900},{('Rome', 'Oslo', 'Bern')[i % 3]}\n"
    for i in range(16)
)
MORE = PEOPLE.replace("p", "q").replace("qerson", "person")
NUMBERS = "age,income\n" + "".join(f"{20 + 7 * i % 41},{1000 + 137 * i % 900}\n" for i in range(12))
DISGUISED = "age,income\n" + "".join(
    f"{21 + 7 * i % 41},{990 + 137 * i % 900}\n" for i in range(12)
)
CLAIMS = "gender,place,amount\n" + "".join(
    f"{'fm'[i % 2]},{('north', 'south')[i // 3 % 2]},{('low', 'high', 'none')[i * i % 3]}\n"
    for i in range(12)
)
SETTINGS = {"WEBHOOK_NETWORKS": "203.0.113.0/24"}
"""What the session's service is started with: an address of documentation may be told things."""

LONGEST = 3
"""Items of a list that an example shows."""


class Teller:
    """Sends requests by operation and keeps what was sent and answered."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.examples: dict[str, dict[str, Any]] = {}
        self._operations = dict(_operations(openapi_document()))

    def ask(
        self,
        operation: str,
        *,
        json_body: Any = None,
        table: str | None = None,
        form: dict[str, str] | None = None,
        **parameters: Any,
    ) -> Any:
        """One request; the answer's JSON, or its text."""
        method, path, known = self._operations[operation]
        address = path.format(**parameters)
        query = {name: value for name, value in parameters.items() if f"{{{name}}}" not in path}
        sent: dict[str, Any] = {}
        example: dict[str, Any] = {"parameters": parameters} if parameters else {}
        if json_body is not None:
            sent["json"] = json_body
            example |= {"content_type": JSON, "body": json_body}
        if table is not None:
            sent |= {"content": table, "headers": {"Content-Type": OCTETS}}
            example |= {"content_type": OCTETS, "body": table}
        if form is not None:
            properties = known["requestBody"]["content"]["multipart/form-data"]["schema"]
            tables = {name for name, part in properties["properties"].items() if "format" in part}
            sent["files"] = {n: (f"{n}.csv", t, CSV) for n, t in form.items() if n in tables}
            sent["data"] = {n: t for n, t in form.items() if n not in tables}
            example |= {"content_type": "multipart/form-data", "body": form}
        response = self.client.request(method, address, params=query, **sent)
        assert response.status_code < 300, f"{operation}: {response.text}"
        example["status"] = response.status_code
        kind = response.headers.get("content-type", "").partition(";")[0]
        answer = response.json() if kind.endswith("json") and response.content else response.text
        if kind == PARQUET:
            answer = response.content[:4].decode()  # what every such file begins with
        if response.content:
            example |= {"answer_type": kind, "answer": _shortened(answer)}
        self.examples.setdefault(operation, example)
        self.response = response
        return answer


def told(client: TestClient) -> Teller:
    """Everything once, as an administrator."""
    teller = Teller(client)
    ask = teller.ask
    dataset = ask(
        "register_dataset",
        table=PEOPLE,
        name="people",
        columns='{"person": "identifier"}',
        key_column="person",
    )["id"]
    ask("list_datasets", limit=10)
    ask("show_dataset", dataset_id=dataset)
    ask("put_columns", dataset_id=dataset, json_body={"age": {"round_to_integer": True}})
    ask("put_level", dataset_id=dataset, level="partners", json_body={"noise_variance": 0.25})
    ask("put_level", dataset_id=dataset, level="public", json_body={"privacy": 0.6})
    ask("list_levels", dataset_id=dataset)
    ask("put_level", dataset_id=dataset, level="nobody", json_body={"privacy": 0.9})
    ask("remove_level", dataset_id=dataset, level="nobody")
    ask("preview_levels", dataset_id=dataset, json_body={"levels": ["partners"]})
    recipient = ask("create_principal", json_body={"name": "newspaper"})["id"]
    ask("list_principals", limit=10)
    ask("show_principal", principal_id=recipient)
    ask("put_grant", dataset_id=dataset, recipient=recipient, json_body={"level": "public"})
    ask("list_grants", dataset_id=dataset)
    offer, institute = _told_of_agreements(teller, dataset)
    copy = ask("issue_copy", dataset_id=dataset, json_body={"level": "partners"})["id"]
    ask("issue_batch", dataset_id=dataset, json_body={"levels": ["partners", "public"]})
    ask("show_copy", copy_id=copy)
    ask("show_noise_law", copy_id=copy)
    ask("download_copy", copy_id=copy, rows="0:3")
    means = {"kind": "means", "columns": ["age"]}
    ask("estimate_copy", copy_id=copy, json_body=means)
    rows = client.get(f"/v1/copies/{copy}/content", headers={"Accept": CSV}).text
    ask("estimate_table", copy_id=copy, form={"table": rows, "question": json.dumps(means)})
    file = ask("list_files", copy_id=copy, json_body={"columns": ["age", "city"]})["files"][0]
    signed = dict(parse_qsl(urlsplit(file["url"]).query))
    ask("download_file", file_id=file["id"], **signed)
    ask("read_history", dataset_id=dataset, limit=10)
    _told_of_tracing(teller, dataset, offer, institute)
    told_of_transfers(teller, dataset)
    _told_of_rows(teller, dataset)
    audit = ask(
        "run_audit",
        dataset_id=dataset,
        json_body={"levels": ["partners", "public"]},
    )["id"]
    ask("list_audits", dataset_id=dataset, limit=10)
    ask("read_audit", dataset_id=dataset, audit_id=audit)
    ask("read_audit_log", limit=10)
    job = _answered_later(teller)
    ask("read_result", job_id=job)
    job = _asked_for_later(client)
    ask("list_jobs", limit=10)
    ask("show_job", job_id=job)
    ask("cancel_job", job_id=job)
    ask("issue_event_token", job_id=job)
    ask("follow_job", job_id=job)
    ask("take_back", idempotency_key="1f9c2c5e-2f0e-4f7b-9a52-6a1d2ad0b7c4")
    _told_of_formal_protection(teller)
    _told_of_stateless_methods(teller)
    key = ask("rotate_key", principal_id=recipient)["key"]
    ask("revoke_key", principal_id=recipient, key_id=key.split("_")[1])
    ask("withdraw_grant", dataset_id=dataset, recipient=recipient)
    ask("revoke_principal", principal_id=recipient)
    ask("remove_dataset", dataset_id=dataset)
    ask("check_health")
    ask("check_readiness")
    ask("read_metrics")
    return teller


def _answered_later(teller: Teller) -> str:
    """A job that is done."""
    headers = {"Content-Type": CSV, "Prefer": "respond-async"}
    sent = teller.client.post(
        "/v1/identifiability?confidential=amount", content=CLAIMS, headers=headers
    )
    job: str = sent.json()["id"]
    resources = teller.client.app.state.resources  # type: ignore[attr-defined]  # as below
    run_one(resources, job)
    return job


def _asked_for_later(client: TestClient) -> str:
    """A job that nobody has begun."""
    resources = client.app.state.resources  # type: ignore[attr-defined]  # an app, to the client any
    resources.jobs.job_types.setdefault("example", JobType(lambda *_: Outcome()))
    with writing(resources.engine) as connection:
        [administrator] = principals.with_role(connection, Role.ADMIN)
        job = enqueue(
            connection,
            resources,
            kind="example",
            subject="POST /v1/synthesis/primp",
            payload={},
            principal=administrator,
        )
    assert job is not None
    return job


def _told_of_agreements(teller: Teller, dataset: str) -> tuple[str, TestClient]:
    """An offer and a request, each until it holds; the recipient speaks for itself."""
    ask, owner = teller.ask, teller.client
    described = {"description": "Principals and their incomes, one row each.", "listed": True}
    ask("describe_dataset", dataset_id=dataset, json_body=described)
    ask(
        "put_level",
        dataset_id=dataset,
        level="public",
        json_body={"privacy": 0.6, "offered": True},
    )
    made = ask("create_principal", json_body={"name": "institute"})
    headers = {"Authorization": f"Bearer {made['key']}"}
    recipient = TestClient(owner.app, raise_server_exceptions=False, headers=headers)
    terms = {
        "items": [{"dataset": dataset, "level": "public"}],
        "purpose": "research on incomes",
        "legal_basis": "GDPR Art. 6(1)(e)",
        "ends_at": "2099-01-01T00:00:00Z",
        "refresh": "on_append",
        "traceable": True,
    }
    rule = {"dataset": dataset, "least_privacy": 0.5, "longest_days": 366}
    rule_id = ask("add_rule", json_body=rule)["id"]
    ask("list_rules")
    ask("remove_rule", rule_id=rule_id)
    offer = ask("open_agreement", json_body={**terms, "recipient": made["id"]})["id"]
    teller.client = recipient
    ask("list_catalogue", limit=10)
    ask("show_listing", dataset_id=dataset)
    ask("request_terms", agreement_id=offer, json_body={"terms": {**terms, "refresh": "P1D"}})
    teller.client = owner
    ask("offer_terms", agreement_id=offer, json_body={"version": 2})
    teller.client = recipient
    ask("accept_offer", agreement_id=offer, json_body={})
    teller.client = owner
    ask("agree_to_terms", agreement_id=offer, json_body={})
    teller.client = recipient
    ask("verify_agreement", agreement_id=offer, json_body={})
    teller.client = owner
    ask("finalize_agreement", agreement_id=offer, json_body={})
    ask("list_agreements", limit=10)
    ask("show_agreement", agreement_id=offer)
    ask("read_agreement_log", agreement_id=offer, limit=10)
    ask("list_deliveries", agreement_id=offer, limit=10)
    ask("read_agreement_record", agreement_id=offer)
    ask("read_agreement_policy", agreement_id=offer)
    teller.client = recipient
    ask("give_profile", agreement_id=offer)
    teller.client = owner
    ask("read_signing_keys")
    return offer, recipient


def _told_of_tracing(teller: Teller, dataset: str, offer: str, recipient: TestClient) -> None:
    """A found table, and the end of the agreement by which its copy was had, told by webhook."""
    ask = teller.ask
    copy = recipient.post(f"/v1/datasets/{dataset}/copies", json={"level": "public"}).json()["id"]
    found = recipient.get(f"/v1/copies/{copy}/content", headers={"Accept": CSV}).text
    ask("trace_table", dataset_id=dataset, table=found)
    hook = ask("add_webhook", json_body={"url": "https://203.0.113.9/told"})["id"]
    ask("list_webhooks")
    ask("terminate_agreement", agreement_id=offer, json_body={"reason": "the research is done"})
    message = ask("list_messages", webhook_id=hook, limit=10)["messages"][0]["id"]
    ask("send_again", webhook_id=hook, message_id=message)
    ask("remove_webhook", webhook_id=hook)
    recipient.close()


def _told_of_rows(teller: Teller, dataset: str) -> None:
    batch = teller.ask("append_rows", dataset_id=dataset, table=MORE)["pending"]
    teller.ask("list_pending_rows", dataset_id=dataset)
    teller.ask("withdraw_pending_rows", dataset_id=dataset, batch_id=batch)
    teller.ask("append_rows", dataset_id=dataset, table=MORE)
    teller.ask("close_pending_rows", dataset_id=dataset)
    teller.ask("retire_rows", dataset_id=dataset, json_body={"keys": ["p3"]})


def _told_of_formal_protection(teller: Teller) -> None:
    dataset = teller.ask(
        "register_dataset",
        table=PEOPLE,
        name="people, formal",
        columns='{"age": {"kind": "numeric", "lower": 0, "upper": 110}}',
        key_column="person",
        protection="formal",
        allow_overlap=True,
    )["id"]
    teller.ask("put_level", dataset_id=dataset, level="public", json_body={"mu": 1})
    teller.ask("issue_copy", dataset_id=dataset, json_body={"level": "public"})
    teller.ask("show_ledger", dataset_id=dataset)


def _told_of_stateless_methods(teller: Teller) -> None:
    ask = teller.ask
    noise = '{"kind": "independent", "noise_variance": 4}'
    options = '{"attacks": ["be-dr"], "seed": 1}'
    form = {"original": NUMBERS, "disguised": DISGUISED, "noise": noise, "options": options}
    ask("score_attacks", form=form)
    ask("reconstruct_table", form=form)
    ask("randomize_table", table=NUMBERS, noise_variance=0.5, seed=1)
    ask("synthesise_table", table=PEOPLE, method="primp", seed=1)
    link = teller.response.headers["link"]
    ask("read_report", report_id=link[link.index("rp_") : link.index(">")])
    ask("compare_methods", table=PEOPLE, seed=1)
    ask("expect_leakage", records=1000, components=3)
    ask("measure_utility", form={"original": PEOPLE, "released": PEOPLE}, seed=1)
    ask("identify_records", table=CLAIMS, confidential="amount")
    ask("swap_values", table=CLAIMS, confidential="amount", seed=1)
    normal = {"kind": "normal", "variance": 4}
    values = [1.5, 2.5, 2.0, 4.0, 3.5, 7.0, 2.2, 3.1]
    ask("estimate_distribution", json_body={"values": values, "noise": normal, "bins": 5})
    ask("perturb_values", json_body={"values": values, "noise": normal, "seed": 1})
    poisson = {"kind": "poisson", "rate": 2, "gamma": 1}
    setting = {"perturbation": poisson, "shares": [0.5, 0.3, 0.2]}
    ask("measure_perturbations", json_body={"settings": [setting], "seed": 1})
    survey = ask(
        "create_survey",
        json_body={"name": "votes", "categories": ["yes", "no"], "perturbation": poisson},
    )["id"]
    ask("list_surveys", limit=10)
    ask("show_survey", survey_id=survey)
    ask("add_responses", survey_id=survey, json_body={"vectors": [[1, 0], [0, 1], [2, 0]]})
    ask("estimate_survey", survey_id=survey)
    ask("remove_survey", survey_id=survey)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, tuple[str, str, dict[str, Any]]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], (method, path, operation)


def _shortened(answer: Any) -> Any:
    """The same with the first items of every list, and the first lines of a text."""
    if isinstance(answer, dict):
        return {name: _shortened(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [_shortened(item) for item in answer[:LONGEST]]
    if isinstance(answer, str) and answer.count("\n") > LONGEST:
        return "".join(answer.splitlines(keepends=True)[: LONGEST + 1])
    return answer


def main() -> None:
    from tests.api.conftest import Service

    with tempfile.TemporaryDirectory() as home:
        service = Service(f"sqlite:///{home}/story.sqlite", Path(home), **SETTINGS)
        examples = told(service.client()).examples
        service.close()
    EXAMPLES.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
