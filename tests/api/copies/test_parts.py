"""Rows that come after the first copy: a shape of their own, the newest one, a refusal, or a wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.service.copies.freezing.shape import Shape, open_shapes
from app.store.database.engine import reading
from app.store.database.registered import datasets
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    append,
    content,
    issue,
    register,
    rows_of,
    try_append,
)
from tests.portal.test_administration import made
from tests.portal.test_sessions import signed_in

Matrix = NDArray[np.float64]

NEEDED = 30  # 10·(d+1) for two columns


def table(rows: int, seed: int = 0, centre: float = 0.0, scale: float = 1.0) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = centre + scale * rng.normal(size=rows)
    return pa.table({"x": x, "y": x + scale * rng.normal(size=rows)})


def far(rows: int, seed: int = 1) -> pa.Table:
    return table(rows, seed, centre=1_000.0)


def shapes_of(service: Service, dataset: str) -> list[Shape | None]:
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        parts = datasets.parts(connection, dataset)
        found = open_shapes(resources, connection, dataset, parts)
    return [found.get(part.number) for part in parts]


def matrix(rows: pa.Table) -> Matrix:
    return np.column_stack([rows.column(name).to_numpy() for name in rows.column_names])


@pytest.fixture
def dataset(admin: TestClient) -> str:
    made = register(admin, table(500), columns=None)
    issue(admin, made, level="c")
    return made


def test_a_part_of_many_rows_has_a_shape_that_dominates_both(
    service: Service, admin: TestClient, dataset: str
) -> None:
    more = table(400, seed=2, centre=50.0, scale=7.0)
    append(admin, dataset, more)
    first, own = shapes_of(service, dataset)
    assert first is not None
    assert own is not None
    for below in (first.matrix, np.cov(matrix(more).T)):
        assert np.linalg.eigvalsh(own.matrix - below).min() > -1e-9
    noise = matrix(rows_of(admin, issue(admin, dataset, level="c")["id"]))[500:] - matrix(more)
    np.testing.assert_allclose(np.cov(noise.T), own.matrix, rtol=0.25)


def test_a_small_part_that_is_covered_uses_the_newest_shape(
    service: Service, admin: TestClient, dataset: str
) -> None:
    append(admin, dataset, table(400, seed=2, scale=3.0))
    append(admin, dataset, table(5, seed=3, scale=3.0))
    append(admin, dataset, table(1, seed=4))
    first, second, third, fourth = shapes_of(service, dataset)
    assert first is not None
    assert second is not None
    assert third is not None
    assert fourth is not None
    assert third.hash == second.hash == fourth.hash != first.hash
    assert rows_of(admin, issue(admin, dataset, level="c")["id"]).num_rows == 906


def test_a_small_part_far_outside_is_refused_and_the_answer_says_how_many_would_do(
    service: Service,
) -> None:
    client = service.client()
    dataset = register(client, table(500), columns=None)
    issue(client, dataset, level="c")
    refused = try_append(client, dataset, far(1))
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/rows-uncovered")
    assert refused.json()["rows_needed"] == NEEDED
    assert refused.json()["complete_rows"] == 1
    said = refused.json()["detail"]
    assert f"{NEEDED} rows at once would be accepted" in said
    assert "the column with the fewest values has 1." in said
    assert "Append so many at once, or say uncovered=wait: these are then kept, sealed" in said
    assert "1000" not in refused.text.replace(refused.json()["request_id"], "")
    assert client.get(f"/v1/datasets/{dataset}").json()["rows"] == 500
    assert try_append(client, dataset, far(NEEDED - 1)).status_code == 409
    assert try_append(client, dataset, far(NEEDED)).status_code == 201


def test_incomplete_rows_do_not_count_towards_a_shape(admin: TestClient, dataset: str) -> None:
    rows = matrix(far(100))
    rows[10:, 1] = np.nan
    gappy = pa.table({"x": rows[:, 0], "y": pa.array(rows[:, 1], from_pandas=True)})
    refused = try_append(admin, dataset, gappy)
    assert refused.json()["complete_rows"] == 10


def test_rows_that_wait_are_in_no_advice(admin: TestClient, dataset: str) -> None:
    def advice(level: str) -> Any:
        path = f"/v1/datasets/{dataset}/levels/{level}"
        return admin.put(path, json={"noise_variance": 0.5}).json()["advice"]

    before = advice("before")
    assert try_append(admin, dataset, far(4), uncovered="wait").json()["waiting"] is True
    assert advice("after") == before


def test_rows_that_wait_are_in_no_copy_until_enough_have_come(
    service: Service,
) -> None:
    client = service.client()
    dataset = register(client, table(500), columns=None)
    copy = issue(client, dataset, level="c")["id"]
    before = rows_of(client, copy)
    etag = content(client, copy).headers["etag"]
    waiting = far(NEEDED)
    for row in range(NEEDED - 1):
        answer = try_append(client, dataset, waiting.slice(row, 1), uncovered="wait")
        assert answer.status_code == 201, answer.text
        assert answer.json()["waiting"] is True
    assert answer.json()["waiting_rows"] == NEEDED - 1
    assert answer.json()["rows"] == 500
    assert rows_of(client, copy).equals(before)
    assert content(client, copy).headers["etag"] == etag
    assert client.get(f"/v1/copies/{copy}").json()["rows"] == 500
    assert content(client, copy, rows="500:510").status_code == 200
    # Others are released meanwhile, with ordinals after those that wait.
    beside = table(3, seed=5)
    append(client, dataset, beside)
    assert rows_of(client, copy).num_rows == 503
    last = try_append(client, dataset, waiting.slice(NEEDED - 1, 1), uncovered="wait").json()
    assert (last["waiting"], last["waiting_rows"], last["rows"]) == (False, 0, 533)
    shown = rows_of(client, copy)
    assert shown.slice(0, 500).equals(before)
    assert shown.num_rows == 533
    shapes = shapes_of(service, dataset)
    own = shapes[-1]
    assert own is not None
    assert {shape.hash for shape in shapes[1:NEEDED] if shape is not None} == {own.hash}
    truth = np.vstack([matrix(waiting)[:-1], matrix(beside), matrix(waiting)[-1:]])
    noise = matrix(shown)[500:] - truth
    assert 0.3 < noise.std() < 4


def test_a_recipient_learns_nothing_of_rows_that_are_in_no_copy(service: Service) -> None:
    admin = service.client()
    dataset = register(admin, table(500), columns=None)
    issue(admin, dataset, level="c")
    try_append(admin, dataset, far(2), uncovered="wait")
    admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [0, 1, 2]})
    recipient, reader = service.caller("recipient")
    admin.put(f"/v1/datasets/{dataset}/grants/{recipient}", json={"level": "c"})
    (listed,) = reader.get("/v1/datasets").json()["datasets"]
    shown = reader.get(f"/v1/datasets/{dataset}").json()
    for seen in (listed, shown):
        assert (seen["rows"], seen["waiting_rows"], seen["retired_rows"]) == (497, 0, 0)
        assert {column["because"] for column in seen["columns"]} == {""}
        assert {column["missing"] for column in seen["columns"]} == {None}
    owned = admin.get(f"/v1/datasets/{dataset}").json()
    assert (owned["rows"], owned["waiting_rows"], owned["retired_rows"]) == (497, 2, 3)
    assert all(column["because"] for column in owned["columns"])


def test_nothing_that_a_recipient_reads_moves_while_rows_wait(
    service: Service,
) -> None:
    owner, analyst = service.client(), made(service, "analyst", "recipient")
    whole = np.rint(100 * matrix(table(500)))
    dataset = register(owner, pa.table({"x": whole[:, 0], "y": whole[:, 1]}), columns=None)
    copy = issue(owner, dataset, level="c")["id"]
    owner.put(f"/v1/datasets/{dataset}/grants/{analyst['id']}", json={"level": "c"})
    owner.patch(f"/v1/datasets/{dataset}", json={"listed": True})
    reader, browser = service.client(analyst["key"]), signed_in(service, analyst["key"])

    def seen() -> list[Any]:
        files = reader.post(f"/v1/copies/{copy}/files", json={}).json()["files"]
        expected = browser.get(f"/portal/copies/{copy}/content").headers["x-expected-bytes"]
        pages = [f"/portal/datasets/{dataset}/copies/{copy}/summary", f"/portal/datasets/{dataset}"]
        read = ["/v1/datasets", f"/v1/datasets/{dataset}", f"/v1/copies/{copy}", "/v1/catalogue"]
        return [
            *(reader.get(path).raise_for_status().json() for path in read),
            *(browser.get(path).raise_for_status().text for path in pages),
            [{**file, "url": ""} for file in files],
            expected,
            content(reader, copy).headers["etag"],
        ]

    before = seen()
    gaps = pa.table({"x": [90_000.5, 90_001.5, 90_002.5], "y": pa.array([None] * 3, pa.float64())})
    answer = try_append(owner, dataset, gaps, uncovered="wait")
    assert answer.json()["waiting"] is True, answer.text
    assert seen() == before
    gone = owner.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [501]})
    assert gone.json()["retired_now"] == 1
    assert seen() == before
    told = {one["name"]: one for one in owner.get(f"/v1/datasets/{dataset}").json()["columns"]}
    assert (told["y"]["missing"], told["x"]["integer"]) == (3, False)


def test_waiting_rows_can_be_retired_and_then_do_not_count(admin: TestClient, dataset: str) -> None:
    waiting = far(NEEDED + 1)
    try_append(admin, dataset, waiting.slice(0, NEEDED - 1), uncovered="wait")
    gone = admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [500, 501]})
    assert gone.json() == {"retired_now": 2, "rows": 500}
    shown = admin.get(f"/v1/datasets/{dataset}").json()
    assert (shown["waiting_rows"], shown["retired_rows"]) == (NEEDED - 3, 2)
    one = try_append(admin, dataset, waiting.slice(NEEDED - 1, 1), uncovered="wait").json()
    assert one["waiting"] is True
    assert one["waiting_rows"] == NEEDED - 2
    rest = try_append(admin, dataset, far(2, seed=9), uncovered="wait").json()
    assert rest["waiting"] is False
    copy = issue(admin, dataset, level="c")["id"]
    assert rows_of(admin, copy).num_rows == rest["rows"] == 500 + NEEDED


def test_before_the_first_copy_all_rows_are_taken_and_frozen_together(
    service: Service, admin: TestClient
) -> None:
    made = register(admin, table(1), columns=None)
    assert admin.post(f"/v1/datasets/{made}/copies", json={"level": "a"}).status_code == 409
    append(admin, made, far(1))
    append(admin, made, table(300, seed=3))
    append(admin, made, table(2, seed=4))
    copy = issue(admin, made, level="a")["id"]
    assert rows_of(admin, copy).num_rows == 304
    first, second, third, fourth = (shape for shape in shapes_of(service, made) if shape)
    assert first.hash == second.hash != third.hash == fourth.hash
    assert np.linalg.eigvalsh(third.matrix - first.matrix).min() > -1e-6


def test_rows_retired_before_the_first_copy_leave_no_trace_in_what_is_frozen(
    service: Service, admin: TestClient
) -> None:
    rows = table(300)
    made = register(admin, pa.concat_tables([rows, far(1)]), columns=None)
    admin.request("DELETE", f"/v1/datasets/{made}/rows", json={"rows": [300]})
    issue(admin, made, level="a")
    (shape,) = shapes_of(service, made)
    assert shape is not None
    np.testing.assert_allclose(shape.matrix, np.cov(matrix(rows).T), rtol=0.05)


def test_a_part_never_changes_the_values_of_another(admin: TestClient, dataset: str) -> None:
    append(admin, dataset, table(50, seed=2, scale=3.0))
    copy = issue(admin, dataset, level="a")["id"]
    before = rows_of(admin, copy)
    append(admin, dataset, table(50, seed=3, scale=300.0))
    append(admin, dataset, table(1, seed=4))
    assert rows_of(admin, copy).slice(0, 550).equals(before)


def test_an_unknown_wish_for_uncovered_rows_is_refused(admin: TestClient, dataset: str) -> None:
    assert try_append(admin, dataset, far(1), uncovered="drop").status_code == 422
