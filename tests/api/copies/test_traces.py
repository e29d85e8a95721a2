"""Traceable agreements: a copy of each recipient's own, and a found table that names its recipient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.copies.attackers import left, matrix
from tests.api.copies.copy_tables import PARQUET, as_parquet, rows_of
from tests.api.sharing.agreements.negotiations import FAR

ROWS = 4_000
NAMES = ["age", "income", "score"]


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    age = rng.normal(45, 12, ROWS)
    return pa.table(
        {
            "age": age,
            "income": 1_000 + 30 * age + rng.gamma(2.0, 300.0, ROWS),
            "score": rng.normal(size=ROWS) + age / 50,
            "city": rng.choice(["Rome", "Oslo", "Bern"], ROWS),
        }
    )


class Sharing:
    """A data set, and recipients who have its level by agreement."""

    def __init__(self, service: Service) -> None:
        self.service = service
        _, self.owner = service.principal("owner")
        made = self.owner.post(
            "/v1/datasets",
            params={"name": "people"},
            content=as_parquet(people()),
            headers={"content-type": PARQUET},
        )
        assert made.status_code == 201, made.text
        self.dataset = made.json()["id"]
        for level, variance in (("near", 0.25), ("far", 4.0)):
            url = f"/v1/datasets/{self.dataset}/levels/{level}"
            put = self.owner.put(url, json={"noise_variance": variance})
            assert put.status_code == 200, put.text

    def recipient(self, *, traceable: bool = True) -> tuple[str, TestClient]:
        """A recipient with a finalized agreement on the level `near`."""
        recipient_id, client = self.service.principal("recipient")
        form = {
            "recipient": recipient_id,
            "items": [{"dataset": self.dataset, "level": "near"}],
            "purpose": "research",
            "legal_basis": "contract",
            "terms": "Keep it to yourself.",
            "ends_at": FAR,
            "traceable": traceable,
        }
        offered = self.owner.post("/v1/agreements", json=form)
        assert offered.status_code == 201, offered.text
        for who, message in (
            (client, "accept"),
            (self.owner, "agree"),
            (client, "verify"),
            (self.owner, "finalize"),
        ):
            said = who.post(f"/v1/agreements/{offered.json()['id']}/{message}", json={})
            assert said.status_code == 200, said.text
        return recipient_id, client

    def issue(self, client: TestClient, level: str = "near") -> Any:
        url = f"/v1/datasets/{self.dataset}/copies"
        answer = client.post(url, json={"level": level})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def trace(self, found: pa.Table, client: TestClient | None = None) -> Any:
        return (client or self.owner).post(
            f"/v1/datasets/{self.dataset}/traces",
            content=as_parquet(found),
            headers={"content-type": PARQUET},
        )


def table_of(values: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(NAMES, values.T, strict=True)))


def test_a_found_table_names_those_whose_copies_it_was_made_of(
    service: Service,
) -> None:
    sharing = Sharing(service)
    rng = np.random.default_rng(2)
    holders = [sharing.recipient() for _ in range(8)]
    copies = [matrix(rows_of(one, sharing.issue(one)["id"]), NAMES) for _, one in holders]
    rows = rng.permutation(ROWS)[:1_500]
    one = sharing.trace(table_of(np.round(copies[3][rows], 3)))
    assert one.status_code == 200, one.text
    told = one.json()
    assert [copy["recipient"] for copy in told["copies"] if copy["named"]] == [holders[3][0]]
    assert told["copies"][0]["weight"] == pytest.approx(1.0, abs=0.1)
    assert told["copies"][0]["error_chance"] < 1e-6
    assert holders[3][0] in told["verdict"]
    assert (told["rows"], told["columns"]) == (1_500, NAMES)
    mixed = sharing.trace(table_of((copies[0][rows] + copies[6][rows]) / 2)).json()
    named = {copy["recipient"]: copy["weight"] for copy in mixed["copies"] if copy["named"]}
    assert named == pytest.approx({holders[0][0]: 0.5, holders[6][0]: 0.5}, abs=0.05)
    truth = matrix(people(), NAMES)
    stranger = truth[rows] + np.sqrt(0.25) * rng.normal(size=(1_500, 3)) * truth.std(axis=0)
    nobody = sharing.trace(table_of(stranger)).json()
    assert not any(copy["named"] for copy in nobody["copies"])
    assert nobody["verdict"].startswith("The table is not made of any copy")
    # Pooling all of them gains nothing over the best.
    for place in range(3):
        best = min(left(truth[:, place], copy) for copy in copies)
        assert left(truth[:, place], np.hstack(copies)) > 0.97 * best


def test_each_recipient_has_its_own_copy_and_no_others(service: Service) -> None:
    sharing = Sharing(service)
    (_, first), (_, second) = sharing.recipient(), sharing.recipient()
    own, other = sharing.issue(first), sharing.issue(second)
    assert own["id"] != other["id"]
    assert sharing.issue(first)["id"] == own["id"]
    # What is promised is the level's; nothing tells the slot.
    for copy in (own, other):
        assert (copy["noise_variance"], copy["levels"]) == (0.25, ["near"])
    for url in (f"/v1/copies/{other['id']}", f"/v1/copies/{other['id']}/content"):
        assert first.get(url).status_code == 404
        assert sharing.owner.get(url).status_code == 200
    history = sharing.owner.get(f"/v1/datasets/{sharing.dataset}/history").json()["entries"]
    level, *slots = (entry["noise_variance"] for entry in history)
    assert level == 0.25
    assert len(set(slots)) == 2
    assert all(0.25 < slot <= 0.25 * 1.01 for slot in slots)
    # The level's own copy, and those of other levels, are in slots too.
    common = sharing.issue(sharing.owner)["id"]
    assert first.get(f"/v1/copies/{common}/content").status_code == 404
    assert sharing.issue(first, "far")["id"] != sharing.issue(second, "far")["id"]
    _, plain = sharing.recipient(traceable=False)
    assert sharing.issue(plain)["id"] == common
    assert plain.get(f"/v1/copies/{own['id']}").status_code == 404
    values = rows_of(first, own["id"]), rows_of(plain, common)
    assert not values[0].column("age").equals(values[1].column("age"))


def test_tracing_is_for_owners_and_auditors(service: Service) -> None:
    sharing = Sharing(service)
    found = people().select(NAMES)
    nothing = sharing.trace(found)
    assert (nothing.status_code, nothing.json()["type"]) == (409, "/problems/conflict")
    _, recipient = sharing.recipient()
    sharing.issue(recipient)
    assert sharing.trace(found).status_code == 200
    assert sharing.trace(found, service.principal("auditor")[1]).status_code == 200
    assert sharing.trace(found, recipient).status_code == 403
    assert sharing.trace(found, service.principal("owner")[1]).status_code == 404
    log = service.client().get("/v1/audit-log").json()["entries"]
    assert sum(entry["action"] == "copy.trace" for entry in log) == 2


def test_a_found_table_without_a_column_in_common_is_a_clear_problem(service: Service) -> None:
    sharing = Sharing(service)
    _, recipient = sharing.recipient()
    sharing.issue(recipient)
    for found in (pa.table({"height": [1.0, 2.0]}), pa.table({"city": ["Rome", "Oslo"]})):
        answer = sharing.trace(found)
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-table")
        assert "in common" in answer.json()["detail"]
    few = sharing.trace(table_of(matrix(people(), NAMES)[:3])).json()
    assert not any(copy["named"] for copy in few["copies"])
    assert np.isfinite([copy["weight"] for copy in few["copies"]]).all()
