"""Copies that are not given: each refusal is a clear problem, and nothing is drawn or released."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.store.database import tables
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    ARROW,
    append,
    content,
    issue,
    mixed_table,
    register,
    rows_of,
)

ABSENT = "cp_00000000000000000000"


@pytest.fixture
def owner(service: Service) -> TestClient:
    return service.principal("owner")[1]


@pytest.fixture
def dataset(owner: TestClient) -> str:
    return register(owner, mixed_table(100))


def drawn(client: TestClient, dataset: str) -> list[float]:
    entries = client.get(f"/v1/datasets/{dataset}/history").json()["entries"]
    return [entry["noise_variance"] for entry in entries]


def ask(client: TestClient, dataset: str, body: str) -> Any:
    return client.post(
        f"/v1/datasets/{dataset}/copies",
        content=body,
        headers={"content-type": "application/json"},
    )


@pytest.mark.parametrize(
    "variance",
    ["0", "-1", "NaN", "Infinity", "-Infinity", '"inf"', '"nan"', "1e-300", "1e300", "1e999"],
)
def test_a_variance_that_no_copy_can_have(owner: TestClient, dataset: str, variance: str) -> None:
    answer = ask(owner, dataset, f'{{"noise_variance": {variance}}}')
    assert answer.status_code == 422
    assert answer.json()["type"] in ("/problems/invalid-parameter", "/problems/invalid-request")
    assert drawn(owner, dataset) == []
    assert owner.get(f"/v1/datasets/{dataset}").json()["frozen"] is False


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"level": "a", "noise_variance": 0.5}',
        '{"level": 3}',
        '{"noise_variance": "much"}',
        '{"sigma": 1}',
        "nonsense",
    ],
)
def test_a_form_that_does_not_name_one_copy(owner: TestClient, dataset: str, body: str) -> None:
    assert ask(owner, dataset, body).status_code == 422
    assert drawn(owner, dataset) == []


def test_a_level_nobody_defined(owner: TestClient, dataset: str) -> None:
    answer = ask(owner, dataset, '{"level": "nobody"}')
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
    assert drawn(owner, dataset) == []


@pytest.mark.parametrize(
    ("table", "columns", "words"),
    [
        (pa.table({"city": ["Rome", "Oslo"]}), {"city": "passthrough"}, "there is neither"),
        (pa.table({"city": ["Rome"]}), None, "append more rows first"),
        (pa.table({"x": [1.0]}), None, "append more rows first"),
        (pa.table({"x": [1.0, 2.0], "y": [3.0, 3.0]}), None, "'y' is constant"),
        (pa.table({"x": [0.1] * 7, "y": np.arange(7.0)}), None, "'x'"),
        (pa.table({"x": [1.0, 2.0], "y": [1.0, None]}), None, "'y' is constant"),
        (pa.table({"x": [1e15, 1e15 + 1]}), None, "lost to rounding; subtract a constant"),
        (pa.table({"x": [1e-300, 2e-300, 5e-300]}), None, "in another unit"),
        (
            pa.table({"x": [1.0, 2.0], "z": pa.array([None, None], pa.float64())}),
            {"z": "numeric"},
            "'z' is constant",
        ),
    ],
)
def test_a_table_for_which_no_noise_can_be_shaped(
    owner: TestClient, table: pa.Table, columns: dict[str, str] | None, words: str
) -> None:
    dataset = register(owner, table, columns=json.dumps(columns) if columns is not None else None)
    answer = ask(owner, dataset, '{"level": "a"}')
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/not-releasable")
    assert words in answer.json()["detail"]
    assert drawn(owner, dataset) == []
    assert owner.get(f"/v1/datasets/{dataset}").json()["frozen"] is False


@pytest.mark.parametrize(
    ("table", "columns", "column"),
    [
        (pa.table({"city": ["Rome", "Oslo"]}), {"city": "passthrough"}, None),
        (pa.table({"x": [1.0]}), None, None),
        (pa.table({"x": [1.0, 2.0], "y": [3.0, 3.0]}), None, "y"),
        (
            pa.table({"x": [1.0, 2.0], "z": pa.array([None, None], pa.float64())}),
            {"z": "numeric"},
            "z",
        ),
    ],
)
def test_who_defines_a_level_is_told_that_its_copy_would_be_refused(
    owner: TestClient, table: pa.Table, columns: dict[str, str] | None, column: str | None
) -> None:
    dataset = register(owner, table, columns=json.dumps(columns) if columns is not None else None)
    level = owner.put(f"/v1/datasets/{dataset}/levels/a", json={"noise_variance": 0.25})
    assert level.status_code == 200, level.text
    assert level.json()["advice"] is None
    [warning] = level.json()["warnings"]
    assert (warning["type"], warning["column"]) == ("not-releasable", column)
    refused = ask(owner, dataset, '{"level": "a"}').json()["detail"]
    assert warning["detail"] == f"A copy would be refused as the data set is now. {refused}"


def test_a_level_of_a_table_that_can_be_released_has_no_warning(owner: TestClient) -> None:
    dataset = register(owner, pa.table({"x": [1.0, 2.0, 4.0], "y": [3.0, 3.5, 7.0]}), columns=None)
    path = f"/v1/datasets/{dataset}/levels/a"
    before = owner.put(path, json={"noise_variance": 0.25}).json()
    assert (before["warnings"], before["advice"]["applied_variance"]) == ([], 0.25)
    issue(owner, dataset, level="a")
    after = owner.put(path, json={"noise_variance": 0.25}).json()
    assert (after["warnings"], after["advice"]["applied_variance"]) == ([], 0.25)


def test_a_constant_column_set_aside_no_longer_stands_in_the_way(owner: TestClient) -> None:
    dataset = register(owner, pa.table({"x": [1.0, 2.0], "y": [3.0, 3.0]}), columns=None)
    assert ask(owner, dataset, '{"level": "a"}').status_code == 409
    owner.put(f"/v1/datasets/{dataset}/columns", json={"y": "passthrough"})
    copy = issue(owner, dataset, level="a")["id"]
    assert rows_of(owner, copy).column("y").to_pylist() == [3, 3]


def test_columns_that_depend_on_each_other_are_no_obstacle(owner: TestClient) -> None:
    """And no direction is without noise: the sum of the copy is not the sum of its columns."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    dataset = register(owner, pa.table({"x": x, "y": y, "sum": x + y}), columns=None)
    table = rows_of(owner, issue(owner, dataset, level="a")["id"])
    total = table.column("x").to_numpy() + table.column("y").to_numpy()
    expected = np.sqrt(0.25 * 3 / 50 * (1 + 1 + 2))
    assert (table.column("sum").to_numpy() - total).std() == pytest.approx(expected, rel=0.4)


def test_more_columns_than_rows_are_no_obstacle(owner: TestClient) -> None:
    dataset = register(owner, pa.table({name: [1.0, 2.0] for name in "uvw"}), columns=None)
    assert rows_of(owner, issue(owner, dataset, level="a")["id"]).num_rows == 2


@pytest.fixture
def grant(owner: TestClient, dataset: str, service: Service) -> Callable[..., TestClient]:
    def make(level: str, **more: Any) -> TestClient:
        recipient, client = service.principal("recipient")
        form = {"level": level, **more}
        answer = owner.put(f"/v1/datasets/{dataset}/grants/{recipient}", json=form)
        assert answer.status_code == 200, answer.text
        return client

    return make


def test_a_recipient_asking_below_its_grant(
    owner: TestClient, dataset: str, grant: Callable[..., TestClient]
) -> None:
    recipient = grant("c")
    below = ask(recipient, dataset, '{"level": "b"}')
    unknown = ask(recipient, dataset, '{"level": "x"}')
    assert (below.status_code, below.json()["type"]) == (404, "/problems/not-found")
    assert below.json()["detail"] == unknown.json()["detail"].replace("'x'", "'b'")
    by_variance = ask(recipient, dataset, '{"noise_variance": 4.0}')
    assert (by_variance.status_code, by_variance.json()["type"]) == (403, "/problems/forbidden")
    batch = recipient.post(f"/v1/datasets/{dataset}/copies/batch", json={"levels": ["d", "c", "b"]})
    assert batch.status_code == 404
    assert drawn(owner, dataset) == []
    better = issue(owner, dataset, level="b")["id"]
    for path in (f"/v1/copies/{better}", f"/v1/copies/{better}/content"):
        real, absent = recipient.get(path), recipient.get(path.replace(better, ABSENT))
        assert real.status_code == absent.status_code == 404
        assert real.json()["detail"] == absent.json()["detail"].replace(ABSENT, better)
    assert rows_of(recipient, issue(recipient, dataset, level="d")["id"]).num_rows == 100


def test_a_recipient_has_its_columns_and_no_others(
    owner: TestClient, dataset: str, grant: Callable[..., TestClient]
) -> None:
    issue(owner, dataset, level="a")
    recipient = grant("b", columns=["income", "city"])
    copy = issue(recipient, dataset, level="b")
    assert [column["name"] for column in copy["columns"]] == ["income", "city"]
    table = rows_of(recipient, copy["id"])
    assert table.equals(rows_of(owner, copy["id"]).select(["income", "city"]))
    for name in ("age", "person", "nobody's"):
        refused = content(recipient, copy["id"], ARROW, columns=name)
        assert (refused.status_code, refused.json()["column"]) == (422, name)
    shown = [client.get(f"/v1/copies/{copy['id']}").json() for client in (owner, recipient)]
    assert shown[0]["checksum"] != shown[1]["checksum"]


def test_identifiers_never_leave_not_even_for_the_owner(owner: TestClient, dataset: str) -> None:
    copy = issue(owner, dataset, level="a")["id"]
    assert "person" not in rows_of(owner, copy).column_names
    assert content(owner, copy, ARROW, columns="person").status_code == 422


def test_an_expired_grant(
    service: Service, owner: TestClient, dataset: str, grant: Callable[..., TestClient]
) -> None:
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    issue(owner, dataset, level="a")
    recipient = grant("b", expires_at=later)
    copy = issue(recipient, dataset, level="b")["id"]
    with writing(service.app.state.resources.engine) as connection:
        past = datetime.now(UTC) - timedelta(seconds=1)
        connection.execute(update(tables.grants).values(expires_at=past))
    assert content(recipient, copy).status_code == 404
    assert recipient.get(f"/v1/copies/{copy}").status_code == 404
    assert ask(recipient, dataset, '{"level": "b"}').status_code == 404
    assert content(owner, copy).status_code == 200


def test_a_stranger_an_auditor_and_nobody(
    service: Service, owner: TestClient, dataset: str
) -> None:
    copy = issue(owner, dataset, level="a")["id"]
    _, stranger = service.principal("recipient")
    _, other = service.principal("owner")
    for client in (stranger, other):
        assert client.get(f"/v1/copies/{copy}").status_code == 404
        assert content(client, copy).status_code == 404
        assert client.get(f"/v1/datasets/{dataset}/history").status_code == 404
        assert ask(client, dataset, '{"level": "a"}').status_code == 404
    _, auditor = service.principal("auditor")
    assert len(auditor.get(f"/v1/datasets/{dataset}/history").json()["entries"]) == 1
    assert auditor.get(f"/v1/copies/{copy}").json()["checksum"] is None
    assert content(auditor, copy).status_code == 403
    assert ask(auditor, dataset, '{"level": "a"}').status_code == 403
    nobody = service.client(None)
    assert nobody.get(f"/v1/copies/{copy}").status_code == 401
    assert content(nobody, copy).status_code == 401


@pytest.mark.parametrize("rows", ["5", "a:b", "-1:3", "1:2:3", "9:3", "1e3:", "9" * 30 + ":"])
def test_rows_that_are_no_range(owner: TestClient, dataset: str, rows: str) -> None:
    copy = issue(owner, dataset, level="a")["id"]
    assert content(owner, copy, ARROW, rows=rows).status_code == 422


def test_a_format_that_nobody_writes(owner: TestClient, dataset: str) -> None:
    copy = issue(owner, dataset, level="a")["id"]
    assert content(owner, copy, "image/png").status_code == 406


def test_a_removed_data_set_has_no_copies(owner: TestClient, dataset: str) -> None:
    copy = issue(owner, dataset, level="a")["id"]
    assert owner.delete(f"/v1/datasets/{dataset}").status_code == 204
    assert owner.get(f"/v1/copies/{copy}").status_code == 404
    assert content(owner, copy).status_code == 404


def test_releases_and_refusals_are_in_the_audit_log(
    service: Service, owner: TestClient, dataset: str
) -> None:
    copy = issue(owner, dataset, level="a")["id"]
    content(owner, copy)
    _, auditor = service.principal("auditor")
    content(auditor, copy)
    entries = auditor.get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    told = [(entry["action"], entry["outcome"]) for entry in entries]
    assert ("copy.issue", "done") in told
    assert ("copy.release", "done") in told
    assert ("refusal", "refused") in told


def others(rows: int) -> list[float]:
    """Rows like those before them, and none of them."""
    return [float(one) for one in np.random.default_rng(1).normal(size=rows)]


def test_a_level_that_could_not_carry_its_noise_is_not_drawn(owner: TestClient) -> None:
    """A later row may be so large that a smaller noise than any so far would be lost beside it."""
    x = np.random.default_rng(0).normal(size=200)
    dataset = register(owner, pa.table({"x": x}), columns=None)
    issue(owner, dataset, noise_variance=1.0)
    append(owner, dataset, pa.table({"x": [2.0**30] * 26}))
    refused = ask(owner, dataset, '{"noise_variance": 1e-9}')
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/not-releasable")
    assert drawn(owner, dataset) == [1.0]
    assert content(owner, issue(owner, dataset, noise_variance=0.5)["id"]).status_code == 200


def test_a_row_that_would_lose_its_noise_does_not_leave(
    owner: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where nobody noticed before."""
    x = np.random.default_rng(0).normal(size=200)
    dataset = register(owner, pa.table({"x": x}), columns=None)
    copy = issue(owner, dataset, noise_variance=1e-9)["id"]
    nothing = "app.service.datasets.protection.freeze._carried_variances"
    monkeypatch.setattr(nothing, lambda magnitudes, _: 0.0 * magnitudes)
    append(owner, dataset, pa.table({"x": [2.0**45] * 26}))
    assert content(owner, copy).json()["type"] == "/problems/not-releasable"


@pytest.mark.parametrize(("scale", "variance"), [(1e150, 1e9), (1e-160, 1e-9)])
def test_noise_beyond_the_doubles(owner: TestClient, scale: float, variance: float) -> None:
    table = pa.table({"x": np.array([1.0, 2.0, 4.0, 9.0]) * scale})
    dataset = register(owner, table, columns=None)
    refused = ask(owner, dataset, json.dumps({"noise_variance": variance}))
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/not-releasable")
    assert drawn(owner, dataset) == []


@pytest.mark.parametrize("variance", ["true", '"0.5"'])
def test_a_variance_is_a_number(owner: TestClient, dataset: str, variance: str) -> None:
    refused = ask(owner, dataset, f'{{"noise_variance": {variance}}}')
    assert refused.status_code == 422
    assert drawn(owner, dataset) == []


def test_a_grant_of_which_no_column_is_left(
    owner: TestClient, dataset: str, grant: Callable[..., TestClient]
) -> None:
    recipient = grant("c", columns=["batch"])
    made = owner.put(f"/v1/datasets/{dataset}/columns", json={"batch": "identifier"})
    assert made.status_code == 200
    copy = issue(owner, dataset, level="c")["id"]
    assert content(recipient, copy).status_code == 403
