"""Registering, showing, listing, appending, retiring and removing, over HTTP."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service

CSV = "person_id,age,income,city\np1,30,1000.5,Rome\np2,41,,Oslo\np3,29,990.25,Rome\n"
CSV_TYPE = {"content-type": "text/csv"}


def register(client: TestClient, body: str = CSV, name: str = "people", **params: str) -> Any:
    response = client.post(
        "/v1/datasets",
        params={"name": name, "allow_overlap": "true", **params},
        content=body,
        headers=CSV_TYPE,
    )
    assert response.status_code == 201, response.text
    return response.json()


def kinds(dataset: Any) -> dict[str, str]:
    return {column["name"]: column["kind"] for column in dataset["columns"]}


def test_a_table_is_registered_and_its_columns_explained(service: Service) -> None:
    client = service.client()
    made = register(client)
    assert made["rows"] == 3
    assert kinds(made) == {
        "person_id": "identifier",
        "age": "numeric",
        "income": "numeric",
        "city": "categorical",
    }
    assert [column["missing"] for column in made["columns"]] == [0, 0, 1, 0]
    assert [column["integer"] for column in made["columns"]] == [False, True, False, False]
    assert all(column["reason"] for column in made["columns"])
    shown = client.get(f"/v1/datasets/{made['id']}").json()
    assert {name: made[name] for name in shown if name != "columns"} == {
        name: value for name, value in shown.items() if name != "columns"
    }
    for seen, column in zip(made["columns"], shown["columns"], strict=True):
        assert {name: seen[name] for name in column} == column
        assert "examples" not in column
    assert client.get("/v1/datasets").json()["datasets"] == [shown]


def test_the_four_formats_register_the_same_data_set(service: Service) -> None:
    client = service.client()
    table = pa.table(
        {
            "person_id": ["p1", "p2", "p3"],
            "age": [30, 41, 29],
            "income": [1000.5, None, 990.25],
            "city": ["Rome", "Oslo", "Rome"],
        }
    )
    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    arrow = io.BytesIO()
    with pa.ipc.new_stream(arrow, table.schema) as writer:
        writer.write_table(table)
    bodies = {
        "text/csv": CSV.encode(),
        "application/vnd.apache.parquet": parquet.getvalue(),
        "application/vnd.apache.arrow.stream": arrow.getvalue(),
        "application/json": json.dumps({"columns": table.to_pydict()}).encode(),
    }
    seen = []
    for number, (media_type, body) in enumerate(bodies.items()):
        response = client.post(
            f"/v1/datasets?name=d{number}&allow_overlap=true",
            content=body,
            headers={"content-type": media_type},
        )
        assert response.status_code == 201, response.text
        seen.append([(c["name"], c["kind"], c["missing"]) for c in response.json()["columns"]])
    assert seen == [seen[0]] * 4


def test_a_compressed_body_is_unpacked(service: Service) -> None:
    headers = CSV_TYPE | {"content-encoding": "gzip"}
    body = gzip.compress(CSV.encode())
    response = service.client().post("/v1/datasets?name=z", content=body, headers=headers)
    assert response.json()["rows"] == 3


def test_kinds_can_be_said_at_registration_and_until_the_first_copy(service: Service) -> None:
    client = service.client()
    params = {"age": "categorical", "city": {"kind": "passthrough"}}
    made = register(client, columns=json.dumps(params))
    assert kinds(made)["age"] == "categorical"
    assert kinds(made)["city"] == "passthrough"
    form = {"income": {"round_to_integer": True, "lower": 0}, "city": "identifier"}
    changed = client.put(f"/v1/datasets/{made['id']}/columns", json=form)
    assert changed.status_code == 200, changed.text
    assert kinds(changed.json())["city"] == "identifier"
    income = changed.json()["columns"][2]
    assert (income["round_to_integer"], income["lower"], income["upper"]) == (True, 0, None)


def test_a_bound_is_kept_where_nothing_is_said_and_forgotten_with_null_or_another_kind(
    service: Service,
) -> None:
    client = service.client()
    columns = f"/v1/datasets/{register(client)['id']}/columns"

    def bounds(said: dict[str, object]) -> tuple[object, ...]:
        answer = client.put(columns, json={"income": said})
        assert answer.status_code == 200, answer.text
        income = answer.json()["columns"][2]
        return income["round_to_integer"], income["lower"], income["upper"]

    assert bounds({"kind": "numeric", "lower": 0, "upper": 10**6}) == (False, 0, 10**6)
    assert bounds({"round_to_integer": True}) == (True, 0, 10**6)
    assert bounds({"lower": None}) == (True, None, 10**6)
    assert bounds({"upper": None, "lower": 5}) == (True, 5, None)
    assert bounds({"kind": "passthrough"}) == (False, None, None)


@pytest.mark.parametrize(
    "columns",
    ["nonsense", '{"nobody": "numeric"}', '{"age": "secret"}', '{"city": "numeric"}', "[]"],
)
def test_a_wish_that_cannot_be_met_stores_nothing(service: Service, columns: str) -> None:
    client = service.client()
    params = {"name": "x", "columns": columns}
    response = client.post("/v1/datasets", params=params, content=CSV, headers=CSV_TYPE)
    assert response.status_code == 422
    assert client.get("/v1/datasets").json()["datasets"] == []
    assert service.stored() == []


def test_names_are_unique_for_an_owner(service: Service) -> None:
    client = service.client()
    register(client)
    again = client.post("/v1/datasets?name=people", content=CSV, headers=CSV_TYPE)
    assert again.status_code == 409
    assert again.json()["type"] == "/problems/name-taken"
    _, owner = service.principal("owner")
    register(owner)


def test_rows_are_appended_with_ordinals_after_all_before(
    service: Service,
) -> None:
    client = service.client()
    made = register(client)
    more = "person_id,age,income,city\np4,55,3000,Bern\np5,56.5,,\n"
    answer = client.post(f"/v1/datasets/{made['id']}/rows", content=more, headers=CSV_TYPE)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {
        "first_row": 3,
        "appended": 2,
        "pending": None,
        "rows": 5,
        "pending_rows": 0,
        "read_as": {
            "format": "csv",
            "encoding": "utf-8",
            "delimiter": ",",
            "decimal": "point",
            "header": "present",
            "sheet": None,
            "missing": [],
        },
        "warnings": [],
    }
    shown = client.get(f"/v1/datasets/{made['id']}").json()
    assert shown["rows"] == 5
    assert [column["missing"] for column in shown["columns"]] == [0, 0, 2, 1]
    assert shown["columns"][1]["integer"] is False


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("person_id,age,income\np4,5,6\n", "city"),
        ("person_id,age,income,city,extra\np4,5,6,x,1\n", "extra"),
        ("person_id,age,income,city\np4,old,6,x\n", "age"),
    ],
)
def test_rows_of_another_shape_are_refused(service: Service, body: str, named: str) -> None:
    client = service.client()
    made = register(client)
    answer = client.post(f"/v1/datasets/{made['id']}/rows", content=body, headers=CSV_TYPE)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert client.get(f"/v1/datasets/{made['id']}").json()["rows"] == 3


def test_rows_are_retired_by_ordinal_and_by_key(service: Service) -> None:
    client = service.client()
    made = register(client, key_column="person_id")
    url = f"/v1/datasets/{made['id']}/rows"
    assert client.request("DELETE", url, json={"rows": [0, 0]}).json() == {
        "retired_now": 1,
        "rows": 2,
    }
    assert client.request("DELETE", url, json={"keys": ["p3", "p1"]}).json() == {
        "retired_now": 1,
        "rows": 1,
    }
    shown = client.get(f"/v1/datasets/{made['id']}").json()
    assert (shown["rows"], shown["retired_rows"]) == (1, 2)
    assert client.request("DELETE", url, json={"rows": [3]}).status_code == 422
    assert client.request("DELETE", url, json={"keys": ["p9"]}).status_code == 404
    assert client.request("DELETE", url, json={}).status_code == 422


def test_a_removed_data_set_leaves_no_blob(service: Service) -> None:
    client = service.client()
    made = register(client)
    assert service.stored()
    assert client.delete(f"/v1/datasets/{made['id']}").status_code == 204
    assert client.get(f"/v1/datasets/{made['id']}").status_code == 404
    assert service.stored() == []


def test_originals_lie_encrypted(service: Service) -> None:
    register(service.client(), "note\n" + "findme-in-the-clear\n" * 100)
    for file in service.home.rglob("*"):
        if file.is_file():
            assert b"findme-in-the-clear" not in file.read_bytes()


def test_the_same_name_registered_by_many_at_once_is_one_data_set(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database

    def send(_: int) -> int:
        url = "/v1/datasets?name=same"
        return int(service.client().post(url, content=CSV, headers=CSV_TYPE).status_code)

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(send, range(6)))
    assert statuses == [201, 409, 409, 409, 409, 409]
    assert len(service.stored()) == 1


def test_appends_cannot_push_a_category_column_past_the_limit(service: Service) -> None:
    resources = service.app.state.resources
    few = dataclasses.replace(resources.limits, categories=3)
    service.app.state.resources = dataclasses.replace(resources, limits=few)
    client = service.client()
    made = register(client)
    rows = "person_id,age,income,city\np4,5,6,Bern\np5,5,6,Kyiv\n"
    answer = client.post(f"/v1/datasets/{made['id']}/rows", content=rows, headers=CSV_TYPE)
    assert answer.status_code == 422
    assert answer.json()["column"] == "city"
    assert client.get(f"/v1/datasets/{made['id']}").json()["rows"] == 3


@pytest.mark.parametrize("bound", ["Infinity", "-Infinity", "NaN", "1e999"])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_that_are_no_finite_numbers_are_refused(
    service: Service, side: str, bound: str
) -> None:
    admin = service.client()
    wish = f'{{"age": {{"round_to_integer": true, "{side}": {bound}}}}}'
    table, headers = b"age,income\n1,2\n2,5\n3,1\n", {"content-type": "text/csv"}
    answer = admin.post(
        "/v1/datasets", params={"name": "a", "columns": wish}, content=table, headers=headers
    )
    assert answer.status_code == 422
    made = admin.post("/v1/datasets?name=a", content=table, headers=headers).json()["id"]
    json_body = {"content-type": "application/json"}
    answer = admin.put(f"/v1/datasets/{made}/columns", content=wish, headers=json_body)
    assert answer.status_code == 422
