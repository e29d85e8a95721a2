"""The owner's rooms, without a browser, on both databases."""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from app.model import Principal, Role
from app.numerics.attacks.releases.findings import (
    Attacker,
    Finding,
    RemainingVariance,
    Risk,
    finding,
    worst_first,
)
from app.service import results
from app.service.attacks.audit import (
    AUDITING,
    AuditParams,
    ask_for_audit,
    list_audits,
    newest_audits,
)
from app.service.attacks.findings import Audit
from app.service.context import RequestContext
from app.service.jobs.retention import tidy
from app.service.progress import NO_PROGRESS
from app.store.database import jobs
from app.store.database.engine import reading, writing
from tests.api.conftest import Service
from tests.browser.people import household_table
from tests.portal.test_administration import made
from tests.portal.test_sessions import OWN, signed_in, token_of

if TYPE_CHECKING:
    from app.job import Job


def sending(client: TestClient) -> dict[str, str]:
    """What a script of a page sends along."""
    return OWN | {"X-Form-Token": token_of(client), "Accept": "application/json"}


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def waiting(client: TestClient, body: bytes) -> str:
    """Send a file that is to be looked at; its id."""
    answer = client.post("/portal/owned/new/file", content=body, headers=sending(client))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["file"])


def test_a_form_in_place_of_a_file_is_refused(service: Service) -> None:
    client = signed_in(service)
    form = {"form_token": token_of(client), "file": "a,b"}
    answer = client.post("/portal/owned/new/file", data=form, headers=OWN | {"Accept": "*/*"})
    assert answer.status_code == 415
    assert answer.json()["type"] == "/problems/unsupported-media-type"


def registered(client: TestClient, name: str, seed: int) -> str:
    file = waiting(client, parquet(household_table(300, seed=seed)))
    params = {"name": name, "key_column": "household", "file": file}
    answer = client.post("/portal/owned/new", params=params, headers=sending(client))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["address"]).rpartition("/")[2].partition("?")[0]


def without_ids(problem: dict[str, Any], *ids: str) -> dict[str, str]:
    """A problem but for the ids that were asked for and that of the request."""
    return {
        name: re.sub("|".join(ids), "", str(said))
        for name, said in problem.items()
        if name != "request_id"
    }


def test_what_was_done_is_told_to_the_owner_alone(service: Service) -> None:
    owner, analyst = made(service, "owner", "owner"), made(service, "analyst", "recipient")
    office = signed_in(service, owner["key"])
    dataset, other = registered(office, "one", 1), registered(office, "two", 2)
    at = f"/portal/owned/{dataset}"
    said = {"name": "partner", "percent": "50"}
    assert office.post(f"{at}/levels", data=said, headers=sending(office)).status_code == 200
    grant = {"recipient": analyst["id"], "level": "partner"}
    assert office.post(f"{at}/people", data=grant, headers=sending(office)).status_code == 200
    issued = office.post(
        f"/portal/datasets/{dataset}/copies", data={"level": "partner"}, headers=sending(office)
    )
    assert issued.status_code < 400
    client = service.client(analyst["key"])
    copy = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "partner"}).json()["id"]
    assert client.get(f"/v1/copies/{copy}/content").status_code == 200
    estimated = {"level": "partner", "kind": "means", "column": "income"}
    answer = office.get(f"/portal/datasets/{dataset}/analyse", params=estimated)
    assert (answer.status_code, answer.text.count('<th scope="row">')) == (200, 1)
    refused = office.get(
        f"/portal/datasets/{dataset}/analyse", params=estimated | {"kind": "shares"}
    )
    assert (refused.status_code, "notice bad" in refused.text) == (200, True)
    history = office.get(f"{at}/history").text
    for action in ("dataset.register", "level.put", "grant.put", "copy.issue", "copy.release"):
        assert history.count(f"<code>{action}</code>") == 1, action
    assert "<code>copy.release" not in office.get(f"/portal/owned/{other}/history").text
    # Who has a copy knows of the data set, and still finds no page of its owner's.
    holder = signed_in(service, analyst["key"])
    assert holder.get(f"/portal/datasets/{dataset}").status_code == 200
    strangers = [
        signed_in(service, made(service, f"stranger {name}", name)["key"])
        for name in ("owner", "recipient")
    ]
    for tab in ("", "/levels", "/people", "/rows", "/audits", "/trace", "/history"):
        assert office.get(at + tab).status_code == 200
        for stranger in (holder, *strangers):
            assert stranger.get(at + tab).status_code == 404
    for stranger in (holder, *strangers):
        for path in ("/preview", "/rows", "/trace", "/remove", "/people/withdraw"):
            sent = stranger.post(at + path, data={"a": "1"}, headers=sending(stranger))
            assert sent.status_code == 404, path
    # What is there and what is not are refused in the same words.
    nothing = "0" * len(dataset.removeprefix("ds_"))
    for path in (
        f"/portal/datasets/{dataset}",
        f"/portal/datasets/{dataset}/copies/{copy}/summary",
        f"/portal/copies/{copy}/content?format=csv",
    ):
        other_path = path.replace(dataset, f"ds_{nothing}").replace(copy, f"cp_{nothing}")
        for stranger in strangers:
            there, absent = (
                stranger.get(one, headers={"Accept": "application/json"})
                for one in (path, other_path)
            )
            assert there.status_code == absent.status_code == 404
            assert without_ids(there.json(), dataset, copy) == without_ids(
                absent.json(), f"ds_{nothing}", f"cp_{nothing}"
            )


def test_a_file_waits_for_its_owner_alone_until_it_is_registered(
    service: Service,
) -> None:
    office, other = (
        signed_in(service, made(service, name, "owner")["key"]) for name in ("one", "two")
    )
    kept = service.app.state.resources.jobs.files
    later = datetime.now(UTC) + timedelta(minutes=1)
    body = parquet(household_table(300, seed=3))
    file = waiting(office, body)
    (name,) = kept.left_before(later)
    assert name.startswith(file)
    look, register = "/portal/owned/new/look", "/portal/owned/new"
    for address in (look, register):
        params = {"file": file, "name": "theirs"}
        assert other.post(address, params=params, headers=sending(other)).status_code == 404
    gone = other.delete(f"{register}/file", params={"file": file}, headers=sending(other))
    assert gone.status_code == 204
    for guess in ("../../x", f"{file}-x", ""):
        answer = office.post(look, params={"file": guess}, headers=sending(office))
        assert answer.status_code == 422
    # A refusal lets it wait on, and so does every look.
    wrong = office.post(look, params={"file": file, "columns": "{"}, headers=sending(office))
    assert wrong.status_code == 422
    for _ in range(2):
        assert office.post(look, params={"file": file}, headers=sending(office)).status_code == 200
    params = {"file": file, "name": "mine"}
    assert office.post(register, params=params, headers=sending(office)).status_code == 201
    assert kept.left_before(later) == set()
    assert office.post(register, params=params, headers=sending(office)).status_code == 409
    assert office.post(look, params={"file": file}, headers=sending(office)).status_code == 404
    # Another file was chosen.
    second = waiting(office, body)
    office.delete(f"{register}/file", params={"file": second}, headers=sending(office))
    assert kept.left_before(later) == set()


def test_a_file_that_nobody_registers_goes_after_a_day(service: Service) -> None:
    office = signed_in(service, made(service, "one", "owner")["key"])
    resources = service.app.state.resources
    file = waiting(office, b"a,b\n")
    (sealed,) = (service.home / "blobs" / "jobs").glob(f"{file}*")
    assert b"a,b" not in sealed.read_bytes()
    for hours, status in ((23, 422), (25, 404)):
        then = (datetime.now(UTC) - timedelta(hours=hours)).timestamp()
        os.utime(sealed, (then, then))
        tidy(resources, cast("Job", None), NO_PROGRESS)  # it looks at all of them
        # Names alone are no table: that is said of a file that is there.
        looked = office.post(
            "/portal/owned/new/look", params={"file": file}, headers=sending(office)
        )
        assert looked.status_code == status, hours


def test_a_bound_is_set_and_cleared_in_the_form_of_the_columns(service: Service) -> None:
    office = signed_in(service, made(service, "owner", "owner")["key"])
    at = f"/portal/owned/{registered(office, 'one', 6)}"

    def age_after(**said: str) -> tuple[object, ...]:
        fields = {f"{name}-1": value for name, value in said.items()}
        sent = office.post(f"{at}/columns", data=fields, headers=sending(office))
        assert sent.status_code == 200, sent.text
        kept = service.client().get(at.replace("/portal/owned", "/v1/datasets")).json()
        age = kept["columns"][1]
        return age["kind"], age["round_to_integer"], age["lower"], age["upper"]

    said = {"kind": "numeric", "round": "on", "lower": "0", "upper": "90"}
    assert age_after(**said) == ("numeric", True, 0, 90)
    assert age_after(**said | {"lower": ""}) == ("numeric", True, None, 90)
    assert age_after(**said | {"lower": "", "upper": " "}) == ("numeric", True, None, None)
    assert age_after(**said) == ("numeric", True, 0, 90)
    assert age_after(kind="identifier") == ("identifier", False, None, None)


def test_agreements_are_listed_with_the_data_set_that_they_are_about(
    service: Service,
) -> None:
    owner, analyst = made(service, "owner", "owner"), made(service, "analyst", "recipient")
    office = signed_in(service, owner["key"])
    dataset, other = registered(office, "one", 3), registered(office, "two", 4)
    for one in (dataset, other):
        said = {"name": "open", "percent": "80", "offered": "true"}
        office.post(f"/portal/owned/{one}/levels", data=said, headers=sending(office))
    offer = {"recipient": analyst["id"], "level": "open", "purpose": "a study of rents"}
    office.post(f"/portal/owned/{dataset}/offers", data=offer, headers=sending(office))
    assert "a study of rents" in office.get(f"/portal/owned/{dataset}/people").text
    assert "a study of rents" not in office.get(f"/portal/owned/{other}/people").text


def test_a_request_is_answered_with_other_terms(service: Service) -> None:
    owner, analyst = made(service, "owner", "owner"), made(service, "analyst", "recipient")
    office = signed_in(service, owner["key"])
    dataset = registered(office, "one", 7)
    at = f"/portal/owned/{dataset}"
    for name, percent in (("open", "80"), ("research", "40")):
        level = {"name": name, "percent": percent, "offered": "true"}
        office.post(f"{at}/levels", data=level, headers=sending(office))
    office.post(f"{at}/description", data={"listed": "true"}, headers=sending(office))
    terms = {"items": [{"dataset": dataset, "level": "research"}], "purpose": "rents"}
    asked = service.client(analyst["key"]).post("/v1/agreements", json=terms).json()
    other = {"version": str(asked["version"]), "level-0": "open", "until": "2099-12-31"}
    address = f"/portal/agreements/{asked['id']}"
    answer = office.post(f"{address}/offer", data=other, headers=sending(office))
    assert answer.status_code == 200, answer.text
    offered = service.client(analyst["key"]).get(f"/v1/agreements/{asked['id']}").json()
    assert (offered["state"], offered["items"][0]["level"]) == ("OFFERED", "open")
    assert offered["ends_at"].startswith("2099-12-31")


def test_a_request_for_a_data_set_that_is_gone_can_still_be_looked_at_and_declined(
    service: Service,
) -> None:
    owner, analyst = made(service, "owner", "owner"), made(service, "analyst", "recipient")
    office = signed_in(service, owner["key"])
    dataset = registered(office, "one", 6)
    at = f"/portal/owned/{dataset}"
    level = {"name": "open", "percent": "80", "offered": "true"}
    office.post(f"{at}/levels", data=level, headers=sending(office))
    office.post(f"{at}/description", data={"listed": "true"}, headers=sending(office))
    terms = {"items": [{"dataset": dataset, "level": "open"}], "purpose": "rents"}
    asked = service.client(analyst["key"]).post("/v1/agreements", json=terms).json()["id"]
    assert "Offer other terms" in office.get(f"/portal/agreements/{asked}").text
    office.post(f"{at}/remove", headers=sending(office))
    left = office.get(f"/portal/agreements/{asked}")
    assert left.status_code == 200
    assert "Offer other terms" not in left.text
    assert "Decline" in left.text


def test_an_audit_that_was_kept_is_not_run_again_when_its_job_is(
    service: Service,
) -> None:
    owner = made(service, "owner", "owner")
    office = signed_in(service, owner["key"])
    dataset = registered(office, "one", 5)
    said = {"name": "partner", "percent": "50"}
    office.post(f"/portal/owned/{dataset}/levels", data=said, headers=sending(office))
    resources: Any = service.app.state.resources
    context = RequestContext(Principal(owner["id"], "owner", Role.OWNER), "request")
    job_id = ask_for_audit(
        resources, context, dataset, AuditParams(levels=("partner",), most_rows=200)
    )
    with reading(resources.engine) as connection:
        job = jobs.one(connection, job_id)
    assert job is not None
    for _ in range(2):
        AUDITING.handler(resources, job, NO_PROGRESS)
    kept = list_audits(resources, context, dataset, after="", limit=10)
    assert [one.copies[0].levels for one in kept] == [("partner",)]
    page = office.get(f"/portal/owned/{dataset}/audits/{kept[0].id}")
    assert page.status_code == 200
    assert kept[0].summary in page.text
    # Kept once more as a later one, it is the first that its owner and an auditor are shown.
    later = replace(kept[0], id="au_later", summary="It came last.")
    with writing(resources.engine) as connection:
        results.keep_result(resources, connection, context, later.id, later, later.dataset)
    newest = newest_audits(resources, context, dataset, limit=10)
    assert [one.id for one in newest] == ["au_later", kept[0].id]
    auditor = signed_in(service, made(service, "auditor", "auditor")["key"])
    assert "It came last." in auditor.get("/portal/audits").text
    assert auditor.get(f"/portal/audits/{dataset}/au_later").status_code == 200
    assert auditor.get(f"/portal/owned/{dataset}/audits").status_code == 404
    assert office.get(f"/portal/audits/{dataset}/au_later").status_code == 403


def found(attacker: Attacker, target: str, left: float) -> Finding:
    return finding(
        Risk.INFERENCE,
        attacker,
        target,
        [target],
        0.5,
        RemainingVariance(left, 0.01),
        "Leave <it> out.",
    )


@pytest.mark.parametrize(
    ("attacker", "left", "verdict"),
    [
        (Attacker.LINEAR, 0.51, "ok"),
        (Attacker.POSTERIOR, 0.3, "look here"),
        (Attacker.LINEAR, 0.3, "do this"),
    ],
)
def test_pages_say_the_verdict_of_an_audit_and_what_to_do(
    service: Service, attacker: Attacker, left: float, verdict: str
) -> None:
    owner = made(service, "owner", "owner")
    office = signed_in(service, owner["key"])
    auditor = signed_in(service, made(service, "auditor", "auditor")["key"])
    dataset = registered(office, "one", 5)
    level = {"name": "partner", "percent": "50"}
    office.post(f"/portal/owned/{dataset}/levels", data=level, headers=sending(office))
    resources: Any = service.app.state.resources
    context = RequestContext(Principal(owner["id"], "owner", Role.OWNER), "request")
    findings = worst_first([found(attacker, "income", left), found(Attacker.LINEAR, "rent", 0.6)])
    kept = Audit(
        id="au_1",
        dataset=dataset,
        created_at=datetime.now(UTC),
        rows=10,
        columns=("rent", "income"),
        measured_on="simulated copies",
        pooling_gain=0.0,
        copies=(),
        by_copies=(),
        verdict=findings[0].verdict,
        summary="So it is.",
        findings=findings,
    )
    with writing(resources.engine) as connection:
        results.keep_result(resources, connection, context, kept.id, kept, kept.dataset)
    page = office.get(f"/portal/owned/{dataset}/audits/au_1").text
    assert page.count(f">{verdict}<") == 2  # beside its remedy or in the head, and among all
    assert ("Leave &lt;it&gt; out." in page) is (verdict != "ok")
    for listed in (office.get(f"/portal/owned/{dataset}/audits"), auditor.get("/portal/audits")):
        assert f">{verdict}<" in listed.text
        assert "So it is." in listed.text


def test_a_column_that_an_audit_found_is_left_out_by_its_button(service: Service) -> None:
    office = signed_in(service, made(service, "owner", "owner")["key"])
    dataset = registered(office, "one", 9)
    at = f"/portal/owned/{dataset}"
    answer = office.post(f"{at}/columns/withhold", data={"column": "rent"}, headers=sending(office))
    assert answer.status_code == 200
    columns = service.client().get(f"/v1/datasets/{dataset}").json()["columns"]
    kinds = {column["name"]: column["kind"] for column in columns}
    assert kinds["rent"] == "identifier"
    assert kinds["income"] == "numeric"
