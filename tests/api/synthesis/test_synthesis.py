"""Synthesis over HTTP: tables in four formats, reports, comparison, leakage, and bad input."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from sklearn.datasets import load_iris

from app.numerics.synthesis.leakage import leakage
from app.tables import writer
from tests.api.conftest import Service
from tests.tables.table_bodies import BODIES, as_csv

CSV = {"content-type": "text/csv"}
METHODS = ("primp", "hybrid", "cholesky", "lhs", "normal", "stratified")


def iris() -> pa.Table:
    data = load_iris()
    names = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    columns = {name: pa.array(values) for name, values in zip(names, data.data.T, strict=True)}
    return pa.table(columns | {"species": [str(data.target_names[i]) for i in data.target]})


def post(client: TestClient, method: str, body: bytes | str, **params: Any) -> Any:
    return client.post(f"/v1/synthesis/{method}", params=params, content=body, headers=CSV)


def report_of(client: TestClient, response: Any) -> Any:
    link = response.headers["link"]
    assert link.endswith('; rel="describedby"')
    return client.get(link[1 : link.index(">")]).json()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_a_table_with_a_table_and_a_report(
    admin: TestClient, method: str
) -> None:
    response = post(admin, method, as_csv(iris()), seed=4, rows=80)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/csv")
    assert response.headers["x-cornerwave-seed"] == "4"
    made = pa.csv.read_csv(io.BytesIO(response.content))
    assert made.column_names == iris().column_names
    assert made.num_rows == 80
    lengths = made.column("petal_length").to_numpy()
    np.testing.assert_array_equal(lengths, np.round(lengths, 1))
    report = report_of(admin, response)
    assert (report["method"], report["seed"], report["rows"]) == (method, 4, 80)


@pytest.mark.parametrize("sent", BODIES)
def test_all_formats_in_give_the_same_table(admin: TestClient, sent: str) -> None:
    body = BODIES[sent](iris())  # type: ignore[index]  # the keys are media types
    response = admin.post(
        "/v1/synthesis/primp?seed=1", content=body, headers={"content-type": sent}
    )
    assert response.status_code == 200, response.text
    assert response.content == post(admin, "primp", as_csv(iris()), seed=1).content


def test_all_formats_out_hold_the_same_table(admin: TestClient) -> None:
    def answer(accept: str) -> bytes:
        response = admin.post(
            "/v1/synthesis/hybrid?seed=2", content=as_csv(iris()), headers=CSV | {"accept": accept}
        )
        assert response.headers["content-type"].startswith(accept)
        return response.content

    expected = pa.csv.read_csv(io.BytesIO(answer("text/csv"))).to_pydict()
    parquet = pq.read_table(io.BytesIO(answer("application/vnd.apache.parquet")))
    arrow = pa.ipc.open_stream(answer("application/vnd.apache.arrow.stream")).read_all()
    document = json.loads(answer("application/json"))
    assert parquet.to_pydict() == arrow.to_pydict() == document["columns"] == expected
    assert document["report"]["method"] == "hybrid"


def test_a_table_too_large_for_json_is_a_problem_and_not_a_broken_answer(
    admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "JSON_BYTES", 100)
    response = admin.post(
        "/v1/synthesis/normal",
        content=as_csv(iris()),
        headers=CSV | {"accept": "application/json"},
    )
    assert response.status_code == 406, response.text
    assert "link" not in response.headers


def test_the_report_is_for_the_principal_who_asked(service: Service) -> None:
    _, one = service.principal("recipient")
    _, other = service.principal("recipient")
    response = post(one, "normal", as_csv(iris()))
    link = response.headers["link"]
    address = link[1 : link.index(">")]
    assert one.get(address).status_code == 200
    assert other.get(address).status_code == 404


def test_a_report_tells_theory_measurement_control_and_utility(admin: TestClient) -> None:
    report = report_of(admin, post(admin, "primp", as_csv(iris()), seed=3, target="species"))
    permuted = report["separation"]["permuted"]
    assert report["leakage"]["risk"] == pytest.approx(leakage(150, permuted).risk)
    assert report["control"]["holdout"]["within_distance"]["of"] == 75
    assert report["utility"]["leakage"]["original"]["exactly"]["of"] == 150
    assert report["utility"]["prediction"]["trained_on_release"] > 0.7
    assert [one["measure"] for one in report["utility"]["correlations"]] == [
        "pearson",
        "spearman",
        "kendall",
    ]


def test_types_are_enforced_unless_the_principal_says_otherwise(admin: TestClient) -> None:
    free = post(admin, "hybrid", as_csv(iris()), seed=3, enforce_types="false")
    made = pa.csv.read_csv(io.BytesIO(free.content))
    lengths = made.column("petal_length").to_numpy()
    assert not np.array_equal(lengths, np.round(lengths, 1))
    bias = report_of(admin, free)["utility"]["correlations"][0]["relative_bias"]
    assert bias < 1e-12


def test_methods_are_compared_side_by_side(admin: TestClient) -> None:
    body = as_csv(iris().take(list(range(0, 150, 3))))
    found = post(admin, "compare", body, seed=3).json()
    assert [one["method"] for one in found["methods"]] == list(METHODS)
    assert all(one["report"]["seed"] == 3 for one in found["methods"])
    assert found["recommended"] in METHODS
    assert found["reason"].endswith(".")
    headers = CSV | {"accept": "image/png"}
    drawn = admin.post("/v1/synthesis/compare", content=body, headers=headers)
    assert drawn.headers["content-type"] == "image/png"
    assert drawn.content.startswith(b"\x89PNG")


def test_leakage_is_answered_for_any_size(admin: TestClient) -> None:
    found = admin.get("/v1/synthesis/primp/leakage?records=2&components=3").json()
    assert found["mass"] == pytest.approx([0.75, 0, 0.25])
    assert (found["mean"], found["variance"]) == (0.5, pytest.approx(0.75))
    large = admin.get("/v1/synthesis/primp/leakage?records=1000000000&components=2").json()
    assert large["risk"] == pytest.approx(1 - np.exp(-1))
    fewer = admin.get("/v1/synthesis/primp/leakage?records=50&components=2&rows=10&most=3").json()
    assert fewer["rows"] == 10
    assert len(fewer["mass"]) == 4


ONE_COLUMN = "x\n" + "\n".join(f"{i}.5" for i in range(30))
COLLINEAR = "x,y\n" + "\n".join(f"{i}.5,{2 * i + 1}.5" for i in range(30))
CONSTANT = "x,y\n" + "1,2\n" * 30


WITH_DATES = "number,seen,pay\n" + "".join(
    f"{one},2024-{1 + one % 12:02}-{1 + one % 28:02},{1000.5 + 37 * (one * 23 % 61)}\n"
    for one in range(60)
)


def test_identifiers_are_left_out_unless_they_are_kept_and_dates_stay_dates(
    admin: TestClient,
) -> None:
    found = post(admin, "normal", WITH_DATES, seed=3)
    assert list(report_of(admin, found)["left_out"]) == ["number"]
    made = pa.csv.read_csv(io.BytesIO(found.content))
    assert made.schema.names == ["seen", "pay"]
    assert pa.types.is_date32(made.schema.field("seen").type)
    kept = post(admin, "normal", WITH_DATES, seed=3, keep="number")
    assert report_of(admin, kept)["left_out"] == {}
    assert pa.csv.read_csv(io.BytesIO(kept.content)).schema.names == ["number", "seen", "pay"]


@pytest.mark.parametrize(
    ("method", "body", "params", "slug", "named"),
    [
        ("primp", ONE_COLUMN, {}, "invalid-table", {"rank": 1}),
        ("hybrid", COLLINEAR, {}, "invalid-table", {"rank": 1}),
        ("primp", "x,y\n1,2\n", {}, "invalid-table", {"records": 1}),
        ("normal", "x,y\n1,2\n", {}, "invalid-table", {"records": 1}),
        ("cholesky", CONSTANT, {}, "invalid-table", {}),
        ("lhs", "x,y\n,\n,\n", {"header": "present"}, "invalid-table", {"empty": ["x", "y"]}),
        ("primp", "x,y\n1,2\n2,1\n3,3\n", {"components": 3}, "invalid-parameter", {"most": 2}),
        ("primp", "x,y\n1,2\n2,1\n3,3\n", {"components": 1}, "invalid-parameter", {"least": 2}),
        ("hybrid", "x,y\n1,2\n2,1\n3,4\n", {"rows": 2}, "invalid-parameter", {"least": 3}),
        ("normal", COLLINEAR, {"rows": 10**9}, "invalid-parameter", {"parameter": "rows"}),
        ("stratified", ONE_COLUMN, {}, "invalid-table", {"rank": 1}),
        ("stratified", "x,y\n1,2\n", {}, "invalid-table", {"records": 1}),
        ("stratified", CONSTANT, {}, "invalid-table", {"rank": 0}),
        ("stratified", COLLINEAR, {"stratum_records": 19}, "invalid-parameter", {"least": 20}),
        ("normal", COLLINEAR, {"target": "z"}, "invalid-parameter", {"parameter": "target"}),
        ("normal", "email\nx\ny\n", {}, "invalid-table", {"left_out": ["email"]}),
        ("normal", COLLINEAR, {"keep": "z"}, "invalid-parameter", {"parameter": "keep"}),
    ],
)
def test_bad_tables_and_parameters_are_clear_problems(
    admin: TestClient,
    method: str,
    body: str,
    params: dict[str, object],
    slug: str,
    named: dict[str, object],
) -> None:
    response = post(admin, method, body, **params)
    assert response.status_code == 422, response.text
    problem = response.json()
    assert problem["type"] == f"/problems/{slug}"
    assert named.items() <= problem.items()


@pytest.mark.parametrize(
    "params",
    [
        {"rows": 0},
        {"inner": "lhs"},
        {"stratum_records": 1},
        {"seed": -1},
        {"seed": 2**53},
        {"components": "two"},
        {"distance": -1},
    ],
)
def test_parameters_of_the_wrong_form_are_refused(
    admin: TestClient, params: dict[str, object]
) -> None:
    response = post(admin, "primp", COLLINEAR, **params)
    assert response.status_code == 422
    assert response.json()["type"] == "/problems/invalid-request"


@pytest.mark.parametrize(
    "query",
    ["", "?records=0&components=2", "?records=5&components=1", "?records=5&components=2&rows=0"],
)
def test_leakage_of_impossible_sizes_is_refused(admin: TestClient, query: str) -> None:
    assert admin.get(f"/v1/synthesis/primp/leakage{query}").status_code == 422


def test_an_unknown_method_a_foreign_format_and_no_key_are_refused(
    service: Service, admin: TestClient
) -> None:
    assert post(admin, "magic", COLLINEAR).status_code == 422
    odd = admin.post("/v1/synthesis/primp", content="x", headers={"content-type": "image/png"})
    assert odd.status_code == 415
    picky = admin.post(
        "/v1/synthesis/primp", content=COLLINEAR, headers=CSV | {"accept": "image/png"}
    )
    assert picky.status_code == 406
    stranger = service.client(None)
    assert post(stranger, "primp", COLLINEAR).status_code == 401
    assert stranger.get("/v1/synthesis/primp/leakage?records=5&components=2").status_code == 401


def test_a_singular_covariance_and_fewer_rows_than_columns_are_fallbacks_that_the_report_names(
    admin: TestClient,
) -> None:
    rng = np.random.default_rng(1)
    wide = pa.table({f"x{i}": rng.normal(size=8) for i in range(12)})
    for method in METHODS:
        response = post(admin, method, as_csv(wide), seed=1, rows=30)
        assert response.status_code == 200, response.text
        report = report_of(admin, response)
        assert report["rank"] == 7
        assert any("7 directions" in note for note in report["notes"])


@pytest.mark.parametrize("accept", ["text/csv", "application/vnd.apache.parquet"])
def test_a_stratified_answer_of_many_rows_is_streamed_whole(admin: TestClient, accept: str) -> None:
    response = admin.post(
        "/v1/synthesis/stratified?seed=2&rows=1000&stratum_records=30",
        content=as_csv(iris()),
        headers=CSV | {"accept": accept},
    )
    assert response.status_code == 200, response.text
    body = io.BytesIO(response.content)
    made = pa.csv.read_csv(body) if accept == "text/csv" else pq.read_table(body)
    assert made.num_rows == 1000
    report = report_of(admin, response)
    assert report["strata"]["least_records"] == 30
    assert report["standing"]["target"] == "species"
