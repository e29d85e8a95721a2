"""Rows that come after the first copy: pending until they are enough for a part, which is measured on its own."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from app.service.datasets.protection.part_protection import PartProtection, open_protections
from app.service.startup.orphaned_blobs import quarantine_orphaned_blobs
from app.store.database.datasets import datasets
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    append,
    content,
    issue,
    register,
    rows_of,
    try_append,
)

NEEDED = 30  # 10·(d+1) values for two columns


def table(rows: int, seed: int = 0, centre: float = 0.0, scale: float = 1.0) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = centre + scale * rng.normal(size=rows)
    return pa.table({"x": x, "y": x + scale * rng.normal(size=rows)})


def protections_of(service: Service, dataset: str) -> list[PartProtection]:
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        parts = datasets.parts(connection, dataset)
        found = open_protections(resources, connection, dataset, parts)
    return [found[part.number] for part in parts]


def appended(client: TestClient, dataset: str, rows: pa.Table, **params: str) -> Any:
    answer = try_append(client, dataset, rows, **params)
    assert answer.status_code == 201, answer.text
    return answer.json()


def pending_of(client: TestClient, dataset: str) -> Any:
    answer = client.get(f"/v1/datasets/{dataset}/rows/pending")
    assert answer.status_code == 200, answer.text
    return answer.json()


def close(client: TestClient, dataset: str) -> Any:
    return client.post(f"/v1/datasets/{dataset}/rows/close")


def register_keyed(client: TestClient) -> str:
    """A data set of 200 keyed rows with a number, of which a copy was issued."""
    said = {"name": "keyed", "key_column": "person", "columns": '{"x": "numeric"}'}
    rows = b"".join(b"p%d,%d\n" % (row, row % 17) for row in range(200))
    made: str = client.post(
        "/v1/datasets",
        params=said,
        content=b"person,x\n" + rows,
        headers={"content-type": "text/csv"},
    ).json()["id"]
    issue(client, made, noise_variance=1.0)
    return made


@pytest.fixture
def dataset(admin: TestClient) -> str:
    made = register(admin, table(500), columns=None)
    issue(admin, made, level="c")
    return made


def test_parts_before_the_first_copy_share_one_protection(
    admin: TestClient, service: Service
) -> None:
    dataset = register(admin, table(300), columns=None)
    append(admin, dataset, table(1, seed=1, centre=1_000.0))
    append(admin, dataset, table(200, seed=2, scale=3.0))
    issue(admin, dataset, level="c")
    found = protections_of(service, dataset)
    assert len({one.hash for one in found}) == 1
    assert found[0].rows == 501
    assert found[0].means[0] == pytest.approx(np.mean(found[0].means[0]))
    assert pending_of(admin, dataset)["rows"] == 0


def test_few_rows_are_pending_and_form_one_part_when_they_are_enough(
    admin: TestClient, service: Service, dataset: str
) -> None:
    copy = issue(admin, dataset, level="c")["id"]
    before = rows_of(admin, copy)
    first = appended(admin, dataset, table(20, seed=1))
    assert (first["first_row"], first["rows"], first["pending_rows"]) == (None, 500, 20)
    waiting = pending_of(admin, dataset)
    assert [batch["id"] for batch in waiting["batches"]] == [first["pending"]]
    assert (waiting["values_needed"], waiting["fewest_values"]) == (NEEDED, 20)
    assert rows_of(admin, copy).equals(before)
    second = appended(admin, dataset, table(10, seed=2))
    assert (second["first_row"], second["pending"]) == (520, None)
    assert (second["rows"], second["pending_rows"]) == (530, 0)
    assert pending_of(admin, dataset)["batches"] == []
    after = rows_of(admin, copy)
    assert after.num_rows == 530
    assert after.slice(0, 500).equals(before)
    found = protections_of(service, dataset)
    assert [one.rows for one in found] == [500, 30]


def test_values_count_by_column_and_not_rows(admin: TestClient, dataset: str) -> None:
    gaps = table(40, seed=1).set_column(1, "y", pa.array([None] * 35 + [1.0] * 5, pa.float64()))
    assert appended(admin, dataset, gaps)["pending"] is not None
    assert pending_of(admin, dataset)["fewest_values"] == 5
    only_x = table(30, seed=2).set_column(1, "y", pa.nulls(30, pa.float64()))
    other = register(admin, table(500, seed=9), columns=None, name="other")
    issue(admin, other, level="c")
    assert appended(admin, other, only_x)["pending"] is None


def test_an_append_of_enough_rows_is_a_part_at_once_and_leaves_others_pending(
    admin: TestClient, service: Service, dataset: str
) -> None:
    appended(admin, dataset, table(5, seed=1))
    now = appended(admin, dataset, table(NEEDED, seed=2))
    assert (now["first_row"], now["rows"], now["pending_rows"]) == (500, 530, 5)
    assert [one.rows for one in protections_of(service, dataset)] == [500, NEEDED]


def test_the_noise_of_a_part_dominates_its_own_rows_and_the_first_and_no_part_between(
    admin: TestClient, service: Service, dataset: str
) -> None:
    append(admin, dataset, table(100, seed=1, centre=1_000.0, scale=50.0))
    append(admin, dataset, table(100, seed=2))
    first, wide, narrow = protections_of(service, dataset)
    for rows, one in ((table(100, 1, 1_000.0, 50.0), wide), (table(100, 2), narrow)):
        own = np.cov(np.column_stack([rows["x"], rows["y"]]).T)
        for below in (first.matrix, own):
            assert np.linalg.eigvalsh(one.matrix - below).min() > -1e-9 * np.trace(one.matrix)
    assert np.trace(wide.matrix) > 1_000 * np.trace(first.matrix)
    assert np.trace(narrow.matrix) < 2 * np.trace(first.matrix)


@pytest.mark.parametrize("centre", [1e6, 1e12, 1e18])
def test_rows_are_never_refused_for_their_values_and_never_lose_their_noise(
    admin: TestClient, dataset: str, centre: float
) -> None:
    copy = issue(admin, dataset, level="c")["id"]
    same = table(NEEDED).set_column(0, "x", pa.array([centre] * NEEDED))
    answer = appended(admin, dataset, same)
    assert [(one["type"], one["column"]) for one in answer["warnings"]] == [("other-scale", "x")]
    released = rows_of(admin, copy).slice(500)["x"].to_numpy()
    assert len(np.unique(released)) == NEEDED
    again = issue(admin, dataset, level="a")["id"]
    assert len(np.unique(rows_of(admin, again).slice(500)["x"].to_numpy())) == NEEDED


def test_rows_in_another_unit_are_told_and_withdrawn_without_a_trace(
    admin: TestClient, service: Service
) -> None:
    keyed = register_keyed(admin)
    blobs = {path.name for path in service.stored()}

    def view() -> Any:
        shown = admin.get(f"/v1/datasets/{keyed}").json()
        return shown, pending_of(admin, keyed)

    before = view()
    wrong = pa.table({"person": ["n0", "n1", "n2"], "x": [5_000.0, 6_000.0, 7_000.0]})
    told = appended(admin, keyed, wrong)
    assert [one["type"] for one in told["warnings"]] == ["other-scale"]
    again = try_append(admin, keyed, wrong)
    assert again.json()["type"].endswith("/duplicate-key")
    gone = admin.delete(f"/v1/datasets/{keyed}/rows/pending/{told['pending']}")
    assert gone.status_code == 204, gone.text
    assert view() == before
    assert {path.name for path in service.stored()} == blobs
    right = pa.table({"person": ["n0", "n1", "n2"], "x": [5.0, 6.0, 7.0]})
    assert appended(admin, keyed, right)["warnings"] == []
    log = admin.get("/v1/audit-log").json()["entries"]
    assert {"rows.append", "rows.withdraw"} <= {entry["action"] for entry in log}
    missing = admin.delete(f"/v1/datasets/{keyed}/rows/pending/{told['pending']}")
    assert missing.status_code == 404


def test_the_owner_closes_pending_rows_early_and_is_told_what_that_means(
    admin: TestClient, service: Service, dataset: str
) -> None:
    assert close(admin, dataset).status_code == 409
    appended(admin, dataset, table(1, seed=1, centre=5.0))
    answer = close(admin, dataset)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert (told["first_row"], told["closed"], told["rows"]) == (500, 1, 501)
    (warning,) = told["warnings"]
    assert warning["type"] == "few-rows"
    assert "guarantee 3" in warning["detail"]
    first, alone = protections_of(service, dataset)
    np.testing.assert_allclose(alone.matrix, first.matrix, rtol=1e-9)
    copy = issue(admin, dataset, level="c")["id"]
    assert rows_of(admin, copy).num_rows == 501
    assert pending_of(admin, dataset)["batches"] == []


def test_the_owner_may_want_more_rows_in_a_part(admin: TestClient, dataset: str) -> None:
    said = admin.patch(f"/v1/datasets/{dataset}", json={"part_rows": 50})
    assert said.json()["part_rows"] == 50
    assert appended(admin, dataset, table(NEEDED, seed=1))["pending"] is not None
    assert pending_of(admin, dataset)["rows_needed"] == 50
    assert appended(admin, dataset, table(20, seed=2))["first_row"] == 530


def test_equal_rows_appended_one_by_one_have_noise_of_their_own(
    admin: TestClient, dataset: str
) -> None:
    copy = issue(admin, dataset, level="c")["id"]
    for _ in range(3):
        appended(admin, dataset, table(1, seed=7), allow_versions="true")
        assert close(admin, dataset).status_code == 201
    released = rows_of(admin, copy).slice(500)
    for name in ("x", "y"):
        assert len(set(released[name].to_pylist())) == 3
    assert rows_of(admin, copy).slice(500).equals(released)


def test_pending_rows_are_retired_by_key_and_never_get_an_ordinal(admin: TestClient) -> None:
    made = register_keyed(admin)
    keys = [f"n{number}" for number in range(15)]
    rows = pa.table({"person": keys, "x": np.arange(15.0)})
    appended(admin, made, rows)
    answer = admin.request("DELETE", f"/v1/datasets/{made}/rows", json={"keys": ["n3", "p7"]})
    assert answer.json() == {"retired_now": 2, "rows": 199}
    twice = admin.request("DELETE", f"/v1/datasets/{made}/rows", json={"keys": ["n3"]})
    assert twice.json()["retired_now"] == 0
    assert pending_of(admin, made)["rows"] == 14
    more = pa.table({"person": ["n3", *(f"m{n}" for n in range(5))], "x": np.arange(6.0)})
    assert appended(admin, made, more)["first_row"] == 214
    shown = admin.get(f"/v1/datasets/{made}").json()
    assert (shown["rows"], shown["retired_rows"], shown["pending_rows"]) == (219, 1, 0)
    every = admin.request("DELETE", f"/v1/datasets/{made}/rows", json={"keys": keys[:1]})
    assert every.json()["retired_now"] == 1


def test_a_batch_of_which_all_rows_are_retired_is_gone(admin: TestClient) -> None:
    made = register_keyed(admin)
    appended(admin, made, pa.table({"person": ["n0"], "x": [1.0]}))
    admin.request("DELETE", f"/v1/datasets/{made}/rows", json={"keys": ["n0"]})
    assert pending_of(admin, made)["batches"] == []
    assert close(admin, made).status_code == 409


def test_recipients_see_nothing_of_pending_rows(
    admin: TestClient, service: Service, dataset: str
) -> None:
    recipient, reader = service.principal("recipient")
    admin.put(f"/v1/datasets/{dataset}/grants/{recipient}", json={"level": "c"})
    copy = issue(reader, dataset, level="c")["id"]

    def seen() -> Any:
        shown = reader.get(f"/v1/copies/{copy}")
        etag = content(reader, copy).headers["etag"]
        return reader.get(f"/v1/datasets/{dataset}").json(), shown.json(), etag

    before = seen()
    appended(admin, dataset, table(20, seed=1, centre=1_000.0))
    assert seen() == before
    for method, path in (("GET", "pending"), ("POST", "close"), ("DELETE", "pending/pb_1")):
        answer = reader.request(method, f"/v1/datasets/{dataset}/rows/{path}")
        assert answer.status_code == 403, answer.text


def test_pending_rows_go_with_their_data_set(
    admin: TestClient, service: Service, dataset: str
) -> None:
    appended(admin, dataset, table(3, seed=1))
    assert len(service.stored()) == 2
    assert admin.delete(f"/v1/datasets/{dataset}").status_code == 204
    assert service.stored() == []


def test_only_the_owner_freezes(admin: TestClient, service: Service) -> None:
    dataset = register(admin, table(100), columns=None)
    recipient, reader = service.principal("recipient")
    admin.put(f"/v1/datasets/{dataset}/grants/{recipient}", json={"level": "c"})
    early = reader.post(f"/v1/datasets/{dataset}/copies", json={"level": "c"})
    assert early.status_code == 409
    assert "owner" in early.json()["detail"]
    assert not admin.get(f"/v1/datasets/{dataset}").json()["frozen"]
    issue(admin, dataset, level="a")
    issue(reader, dataset, level="c")


def test_later_rows_that_spread_further_keep_the_promise_over_http(admin: TestClient) -> None:
    """15 rows at a time, each part 1.5 times as wide as the one before; the best linear attacker on a download."""
    rng = np.random.default_rng(3)
    dataset = register(admin, table(400), columns=None)
    copy = issue(admin, dataset, level="c")["id"]
    sent = []
    for part in range(4):
        for _ in range(2):
            x = 1.5**part * rng.normal(size=15)
            rows = pa.table({"x": x, "y": x + 1.5**part * rng.normal(size=15)})
            appended(admin, dataset, rows)
            sent.append(np.column_stack([rows["x"], rows["y"]]))
    shown = rows_of(admin, copy).slice(400)
    released = np.column_stack([shown["x"], shown["y"]])
    X = np.concatenate(sent)
    assert len(released) == len(X) == 120
    left = []
    for part in range(4):
        rows = slice(30 * part, 30 * part + 30)
        truth, seen = X[rows] - X[rows].mean(axis=0), released[rows] - X[rows].mean(axis=0)
        K = truth.T @ truth / 29
        # The noise alone, in units of the part: by the law of the copy it is S_p at least.
        noise = np.linalg.solve(np.linalg.cholesky(K), (seen - truth).T)
        left.append((noise**2).mean())
    # Of 60 squares of variance 1 or more: the mean is below 1 - 2·√(2/60) by chance in one of 40 parts.
    assert min(left) > 1 - 3 * np.sqrt(2 / 60)


def test_rows_appended_at_once_are_neither_lost_nor_doubled(
    service_on_each_database: Service,
) -> None:
    """Eight who append seven rows each: parts of what had come together, and every row once."""
    service = service_on_each_database
    client = service.client()
    made = register(client, table(200), columns=None)
    issue(client, made, level="c")

    def send(number: int) -> int:
        rows = pa.table({"x": 1_000.0 * number + np.arange(7.0), "y": np.arange(7.0)})
        return int(try_append(service.client(), made, rows).status_code)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(send, range(1, 9))) == {201}
    shown = client.get(f"/v1/datasets/{made}").json()
    assert shown["rows"] + shown["pending_rows"] == 200 + 8 * 7
    assert shown["pending_rows"] < NEEDED
    assert shown["rows"] >= 200 + NEEDED
    if shown["pending_rows"]:
        assert close(client, made).status_code == 201
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        parts = datasets.parts(connection, made)
    kept = [
        value
        for part in parts[1:]
        for batch in resources.blobs.read_rows(part.blob, 0, part.rows, ["x"])
        for value in batch.column(0).to_pylist()
    ]
    assert sorted(kept) == [1_000.0 * n + row for n in range(1, 9) for row in range(7)]
    copy = issue(client, made, level="c")["id"]
    assert rows_of(client, copy).num_rows == 256


@pytest.mark.parametrize("fails", ["add_part", "commit"])
def test_a_crash_between_forming_a_part_and_its_commit_leaves_rows_pending(
    admin: TestClient,
    service: Service,
    dataset: str,
    monkeypatch: pytest.MonkeyPatch,
    fails: str,
) -> None:
    appended(admin, dataset, table(20, seed=1))
    before = pending_of(admin, dataset)
    kept = {path.name for path in service.stored()}
    protections = len(protections_of(service, dataset))
    engine = service.app.state.resources.engine

    def fail(*_: object) -> None:
        raise OSError("the power is gone")

    if fails == "commit":
        event.listen(engine, "commit", fail)
    else:
        monkeypatch.setattr("app.store.database.datasets.datasets.add_part", fail)
    assert try_append(admin, dataset, table(20, seed=2)).status_code >= 500
    assert close(admin, dataset).status_code >= 500
    monkeypatch.undo()
    if fails == "commit":
        event.remove(engine, "commit", fail)
    assert pending_of(admin, dataset) == before
    assert len(protections_of(service, dataset)) == protections
    quarantine_orphaned_blobs(service.app.state.resources, datetime.now(UTC) + timedelta(days=30))
    quarantine_orphaned_blobs(service.app.state.resources, datetime.now(UTC) + timedelta(days=60))
    assert {path.name for path in service.stored()} == kept
    assert appended(admin, dataset, table(20, seed=2))["first_row"] == 520
    assert len(protections_of(service, dataset)) == protections + 1


BAD: dict[str, pa.Table] = {
    "one column": pa.table({"x": np.arange(30.0)}),
    "all equal rows": pa.table({"x": [1.0] * 29 + [2.0], "y": [3.0] * 29 + [4.0]}),
    "only categories": pa.table({"city": ["Rome", "Oslo", "Bern"] * 10}),
    "no complete row": pa.table(
        {
            "x": pa.array([float(n) if n % 2 else None for n in range(40)]),
            "y": pa.array([None if n % 2 else float(n) for n in range(40)]),
        }
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_odd_tables_are_issued_and_take_later_rows(admin: TestClient, name: str) -> None:
    rows = BAD[name]
    kinds = {
        column: "categorical" if column == "city" else "numeric" for column in rows.schema.names
    }
    dataset = register(admin, rows, columns=json.dumps(kinds))
    copy = issue(admin, dataset, level="c")["id"]
    one = appended(admin, dataset, rows.slice(0, 1), allow_versions="true")
    assert one["pending"] is not None
    assert close(admin, dataset).status_code == 201
    many = pa.concat_tables([rows] * 3)
    assert appended(admin, dataset, many, allow_versions="true")["pending"] is None
    assert rows_of(admin, copy).num_rows == 4 * rows.num_rows + 1


def test_one_row_and_rows_that_are_all_equal_have_nothing_to_be_hidden_in(
    admin: TestClient,
) -> None:
    for name, rows in (("one", table(1)), ("equal", pa.concat_tables([table(1)] * 20))):
        dataset = register(admin, rows, columns='{"x": "numeric", "y": "numeric"}', name=name)
        answer = admin.post(f"/v1/datasets/{dataset}/copies", json={"level": "c"})
        assert answer.status_code == 409
        assert answer.json()["type"].endswith("/not-releasable")
        assert not admin.get(f"/v1/datasets/{dataset}").json()["frozen"]


def test_a_later_part_with_a_new_category_in_every_row_never_shows_one(admin: TestClient) -> None:
    rng = np.random.default_rng(1)
    first = pa.table({"x": rng.normal(size=200), "city": ["Rome", "Oslo"] * 100})
    dataset = register(admin, first, columns=None)
    copy = issue(admin, dataset, level="a")["id"]
    later = pa.table({"x": rng.normal(size=40), "city": [f"city {row}" for row in range(40)]})
    appended(admin, dataset, later)
    shown = rows_of(admin, copy)
    assert set(shown["city"].to_pylist()) == {"Rome", "Oslo"}
    assert shown.num_rows == 240


@pytest.mark.slow
def test_a_thousand_columns_come_in_parts_that_are_closed_early(admin: TestClient) -> None:
    """Each part has fewer rows than columns, and yet noise in every cell."""
    rng = np.random.default_rng(2)
    tables = [pa.table({f"x{j}": rng.normal(size=40) for j in range(1_000)}) for _ in range(3)]
    dataset = register(admin, tables[0], columns=None)
    copy = issue(admin, dataset, level="c")["id"]
    for rows in tables[1:]:
        assert appended(admin, dataset, rows)["pending"] is not None
        assert close(admin, dataset).json()["warnings"][0]["type"] == "few-rows"
    shown = rows_of(admin, copy)
    assert shown.shape == (120, 1_000)
    originals = np.array([column.to_numpy() for column in pa.concat_tables(tables).columns])
    noise = np.array([column.to_numpy() for column in shown.columns]) - originals
    for part, own in zip(np.split(noise, 3, axis=1), np.split(originals, 3, axis=1), strict=True):
        assert (part.std(axis=1) > 0.5 * own.std(axis=1)).all()
    # The control: of a smaller level there is less.
    less = rows_of(admin, issue(admin, dataset, level="a")["id"])
    calmer = np.array([column.to_numpy() for column in less.columns]) - originals
    assert calmer.std() < 0.6 * noise.std()
