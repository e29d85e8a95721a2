"""Formal protection over HTTP: declarations, levels, copies, appends and the ledger."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from app.model import Column, Kind, Storage
from app.service.datasets.protection.guarantee import _cell, _pair
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    CSV,
    PARQUET,
    as_csv,
    as_parquet,
    content,
    issue,
    rows_of,
)

CITIES = ["Rome", "Oslo", "Bern", "elsewhere"]
DECLARED = {
    "age": {"kind": "numeric", "lower": 0, "upper": 128},
    "income": {"kind": "numeric", "lower": 0, "upper": 2**18, "weight": 0.25},
    "city": {"kind": "categorical", "categories": CITIES, "other": "elsewhere"},
    "country": {"kind": "passthrough", "categories": ["Norway"]},
    "note": "identifier",
}


def table(rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, rows).astype(float),
            "income": rng.integers(0, 200, rows) * 1024.0,
            "city": rng.choice(CITIES[:3], rows),
            "country": ["Norway"] * rows,
            "note": [f"n{row}" for row in range(rows)],
        }
    )


def register(
    client: TestClient,
    rows: pa.Table,
    declared: dict[str, Any] | None = None,
    **params: str,
) -> Any:
    said = {"columns": json.dumps(DECLARED if declared is None else declared), **params}
    answer = client.post(
        "/v1/datasets",
        params={"name": "people", "protection": "formal", "allow_overlap": "true", **said},
        content=as_csv(rows),
        headers={"content-type": CSV},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def put_level(client: TestClient, dataset: str, **form: float) -> Any:
    answer = client.put(f"/v1/datasets/{dataset}/levels/c", json=form)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_noise_follows_from_the_declaration(service: Service) -> None:
    owner, rows = service.client(), table(4_000)
    dataset = register(owner, rows)["id"]
    level = put_level(owner, dataset, mu=4)
    v = level["noise_variance"]
    copy = issue(owner, dataset, level="c")
    shown = rows_of(owner, copy["id"])
    assert shown.column_names == ["age", "income", "city", "country"]
    assert set(shown["country"].to_pylist()) == {"Norway"}
    for name, reach in (("age", 128.0), ("income", 2**18 / 2)):
        noise = shown[name].to_numpy() - rows[name].to_numpy()
        assert noise.var() == pytest.approx(v * reach**2, rel=4 * np.sqrt(2 / 4_000))
        assert shown[name].null_count == 0
    own = np.array(shown["city"].to_pylist()) == np.array(rows["city"].to_pylist())
    q = 1 / (1 + v)
    assert own.mean() == pytest.approx(q + (1 - q) / 4, abs=4 * np.sqrt(0.25 / 4_000))
    law = owner.get(f"/v1/copies/{copy['id']}/noise").json()
    assert (law["record_event_rate"], law["column_event_rate"]) == (0, 1)
    assert law["categories"] == {"city": CITIES}
    assert np.array(law["parts"][0]["covariance"]).tolist() == [
        [pytest.approx(v * 128**2), 0.0],
        [0.0, pytest.approx(v * 2**34)],
    ]


@pytest.mark.parametrize(
    ("form", "measure"),
    [({"mu": 2.0}, "mu"), ({"rho": 1.5}, "rho"), ({"epsilon": 4.0, "delta": 1e-5}, "epsilon")],
)
def test_a_level_is_declared_in_any_measure_and_answered_in_all(
    service: Service, form: dict[str, float], measure: str
) -> None:
    owner = service.client()
    dataset = register(owner, table(5))["id"]
    said = put_level(owner, dataset, **form)["guarantee"]
    assert said[measure] == pytest.approx(form[measure], rel=1e-3)
    assert said[measure] <= form[measure]
    assert said["delta"] == form.get("delta", 1e-6)
    by_column = {cell["column"]: cell for cell in said["cells"]}
    v = owner.get(f"/v1/datasets/{dataset}/levels").json()["levels"][0]["noise_variance"]
    assert by_column["age"]["standard_deviation"] == pytest.approx(128 * np.sqrt(v))
    assert by_column["income"]["mu"] == pytest.approx(2 / np.sqrt(v))
    assert by_column["city"]["epsilon"] == pytest.approx(np.log1p(4 / v), rel=1e-5)
    assert "certainty" in said["sentence"]
    assert put_level(owner, dataset, noise_variance=v)["guarantee"] == said


@pytest.mark.parametrize(
    "bounds", [(1_995.0, 2_005.0), (1e6, 1e6 + 10), (-1e-9, 1e-9), (0.0, 9e13)]
)
def test_the_sentence_names_two_values_that_differ(bounds: tuple[float, float]) -> None:
    column = Column("x", Kind.NUMERIC, Storage.NUMBER, "", lower=bounds[0], upper=bounds[1])
    pair = _pair(column, _cell(column, 1 / 16, 1e-6))
    assert pair is not None
    one, other, known = pair
    assert float(one.replace(",", "")) < float(other.replace(",", ""))
    assert 0.6 < known < 0.75


def test_rows_are_held_to_the_declaration_and_no_gap_is_visible(service: Service) -> None:
    owner = service.client()
    rows = pa.table(
        {
            "age": pa.array([-50.0, 500.0, None, 20.0] * 500),
            "city": pa.array(["Rome", "Atlantis", None, "Oslo"] * 500),
        }
    )
    city = {**DECLARED["city"], "missing_as": "Bern"}  # type: ignore[dict-item]
    made = register(owner, rows, {"age": DECLARED["age"], "city": city})
    shares = {one["column"]: one["share"] for one in made["warnings"] if one["share"]}
    assert shares == {"age": 0.5, "city": 0.25}
    put_level(owner, made["id"], noise_variance=1e-4)
    shown = rows_of(owner, issue(owner, made["id"], level="c")["id"])
    assert shown["age"].null_count == shown["city"].null_count == 0
    means = shown["age"].to_numpy().reshape(-1, 4).mean(0)
    assert means == pytest.approx([0, 128, 64, 20], abs=0.5)
    assert shown["city"].to_pylist()[:4] == ["Rome", "elsewhere", "Bern", "Oslo"]


def test_moments_and_dates_are_declared_by_days(service: Service) -> None:
    owner = service.client()
    days = {"lower": "2020-01-01", "upper": "2020-01-11"}
    rows = pa.table(
        {
            "seen": ["2020-01-03T12:00:00", "2031-01-01T00:00:00"] * 500,
            "born": ["2020-01-03", "1999-12-31"] * 500,
        }
    )
    dataset = register(
        owner, rows, {"seen": {"kind": "datetime", **days}, "born": {"kind": "date", **days}}
    )["id"]
    cells = put_level(owner, dataset, noise_variance=1e-6)["guarantee"]["cells"]
    assert [cell["standard_deviation"] for cell in cells] == pytest.approx([864.0, 0.01])
    shown = rows_of(owner, issue(owner, dataset, level="c")["id"])
    assert set(shown["born"].cast("string").to_pylist()) == {"2020-01-03", "2020-01-01"}
    seen = shown["seen"].cast(pa.timestamp("s")).to_numpy().reshape(-1, 2)
    since = (seen - np.datetime64("2020-01-01", "s")).astype(float).mean(0)
    assert since == pytest.approx([2.5 * 86_400, 10 * 86_400], abs=200)


def test_of_categories_alone_the_sentence_is_their_total_variation(service: Service) -> None:
    owner = service.client()
    dataset = register(owner, table(5), {"city": DECLARED["city"]})["id"]
    said = put_level(owner, dataset, noise_variance=3)["guarantee"]["sentence"]
    assert "'Rome' and 'Oslo' in 'city' cannot be told apart with more than 62%" in said


def test_a_copy_that_would_be_refused_is_told_with_the_level(service: Service) -> None:
    owner = service.client()
    far = {"age": {"kind": "numeric", "lower": 1e15, "upper": 1e15 + 1}}
    dataset = register(owner, table(5), far)["id"]
    (warning,) = put_level(owner, dataset, mu=1)["warnings"]
    assert warning["column"] == "age"
    assert owner.post(f"/v1/datasets/{dataset}/copies", json={"level": "c"}).status_code == 409


def test_on_a_log_scale_the_range_is_measured_there(service: Service) -> None:
    owner, rows = service.client(), table(2_000)
    said = {"kind": "numeric", "scale": "log", "scale_unit": 1, "lower": 1, "upper": 2**20}
    dataset = register(owner, rows, {"income": said})["id"]
    level = put_level(owner, dataset, noise_variance=0.01)
    (cell,) = level["guarantee"]["cells"]
    assert (cell["mu"], cell["standard_deviation"]) == (pytest.approx(10), pytest.approx(2))
    shown = rows_of(owner, issue(owner, dataset, level="c")["id"])["income"].to_numpy()
    income = np.maximum(rows["income"].to_numpy(), 1)
    octaves = np.log2(np.maximum(shown, 1) / income)
    assert np.median(np.abs(octaves)) == pytest.approx(0.6745 * 2, rel=0.1)


def test_every_append_is_released_at_once_by_the_same_law(service: Service) -> None:
    owner = service.client()
    dataset = register(owner, table(1))["id"]
    put_level(owner, dataset, mu=1)
    copy = issue(owner, dataset, level="c")["id"]
    url, law = f"/v1/datasets/{dataset}/rows", owner.get(f"/v1/copies/{copy}/noise").json()
    for number in range(6):
        # The same row again and again: each has noise of its own.
        answer = owner.post(url, content=as_csv(table(1)), headers={"content-type": CSV})
        assert (answer.status_code, answer.json()["pending"]) == (201, None), answer.text
        assert answer.json()["first_row"] == number + 1
    shown = rows_of(owner, copy)
    assert shown.num_rows == 7
    assert len(set(shown["age"].to_pylist())) == 7
    later = owner.get(f"/v1/copies/{copy}/noise").json()
    assert later["parts"] == [{**law["parts"][0], "rows": [[row, row + 1] for row in range(7)]}]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("age", {"kind": "numeric", "lower": 3, "upper": 3}),
        ("age", {"kind": "numeric", "lower": 5, "upper": 3}),
        ("age", {"kind": "numeric", "lower": 3}),
        ("age", "numeric"),
        ("age", {"kind": "numeric", "lower": -1e308, "upper": 1e308}),
        ("age", {"kind": "numeric", "lower": 0, "upper": 1, "weight": 1e300}),
        ("age", {"kind": "numeric", "lower": 0, "upper": 1, "weight": 1e-300}),
        ("city", "categorical"),
        ("city", {"kind": "categorical", "categories": []}),
        ("city", {"kind": "categorical", "categories": ["Rome"]}),
        ("city", {"kind": "categorical", "categories": ["Rome"], "other": "Oslo"}),
        ("country", "passthrough"),
        ("country", {"kind": "passthrough", "categories": ["Norway", "Peru"]}),
    ],
)
def test_a_declaration_that_noise_cannot_follow_from_is_a_clear_problem(
    service: Service, column: str, said: object
) -> None:
    owner = service.client()
    dataset = register(owner, table(5), {})["id"]
    answer = owner.put(f"/v1/datasets/{dataset}/columns", json={column: said})
    assert answer.status_code == 422, answer.text
    assert answer.json()["column"] == column
    params = {"name": "b", "protection": "formal", "columns": json.dumps({column: said})}
    rows = as_csv(table(5))
    again = owner.post("/v1/datasets", params=params, content=rows, headers={"content-type": CSV})
    assert again.status_code == 422, again.text


def test_infinite_bounds_and_long_lists_are_refused(service: Service) -> None:
    owner = service.client()
    url = f"/v1/datasets/{register(owner, table(5), {})['id']}/columns"
    headers = {"content-type": "application/json"}
    infinite = b'{"age": {"kind": "numeric", "lower": 0, "upper": Infinity}}'
    assert owner.put(url, content=infinite, headers=headers).status_code == 422
    many = {"kind": "categorical", "categories": [str(one) for one in range(10**5)], "other": "1"}
    assert owner.put(url, json={"city": many}).status_code in (413, 422)


def test_without_a_declaration_a_column_is_proposed_and_left_out(service: Service) -> None:
    owner = service.client()
    made = register(owner, table(50), {"age": DECLARED["age"]})
    kinds = {column["name"]: column["kind"] for column in made["columns"]}
    assert kinds == {"age": "numeric"} | dict.fromkeys(
        ("income", "city", "country", "note"), "identifier"
    )
    proposals = {column["name"]: column["proposals"] for column in made["columns"]}
    assert proposals["age"] == []
    assert proposals["city"][0]["value"]["city"]["categories"] == ["Bern", "Oslo", "Rome", "other"]
    answer = owner.put(f"/v1/datasets/{made['id']}/columns", json=proposals["income"][0]["value"])
    assert answer.status_code == 200, answer.text
    empty = register(owner, table(50), {}, name="none")["id"]
    refused = owner.post(f"/v1/datasets/{empty}/copies", json={"noise_variance": 1})
    assert refused.status_code == 409, refused.text


def test_a_level_over_the_cap_is_refused(service: Service) -> None:
    owner = service.client()
    dataset = register(owner, table(5), least_variance="2")["id"]
    url = f"/v1/datasets/{dataset}"
    refused = owner.put(f"{url}/levels/c", json={"noise_variance": 1.99})
    assert (refused.status_code, refused.json()["least_variance"]) == (422, 2)
    assert owner.post(f"{url}/copies", json={"noise_variance": 1.99}).status_code == 422
    assert owner.post(f"{url}/copies", json={"noise_variance": 2}).status_code == 201


def test_the_ledger_counts_the_best_copy_of_each_data_set_of_a_person(service: Service) -> None:
    _, owner = service.principal("owner")
    declared = {**DECLARED, "note": "identifier"}
    sets = [
        register(owner, table(5), declared, name=name, key_column="note", person_rows=str(k))["id"]
        for name, k in (("a", 1), ("b", 4))
    ]
    for dataset, variances in zip(sets, ((9.0, 4.0, 30.0), (1.0,)), strict=True):
        for v in variances:
            issue(owner, dataset, noise_variance=v)
    ledger = owner.get(f"/v1/datasets/{sets[0]}/ledger").json()
    first, second = ledger["entries"]
    assert (first["dataset"], first["noise_variance"]) == (sets[0], 4.0)
    assert second["person_mu"] == pytest.approx(2 * second["mu"])
    assert second["person_rho"] == pytest.approx(4 * second["rho"])
    assert ledger["rho"] == pytest.approx(first["rho"] + 4 * second["rho"])
    assert ledger["mu"] ** 2 == pytest.approx(first["mu"] ** 2 + 4 * second["mu"] ** 2)
    stranger = service.principal("recipient")[1]
    assert stranger.get(f"/v1/datasets/{sets[0]}/ledger").status_code == 404


def test_a_key_has_as_many_rows_as_are_declared(service: Service) -> None:
    owner = service.client()
    dataset = register(owner, table(3), key_column="note", person_rows="2")["id"]
    url, headers = f"/v1/datasets/{dataset}/rows", {"content-type": CSV}
    assert owner.post(url, content=as_csv(table(3, seed=1)), headers=headers).status_code == 201
    third = owner.post(
        url, content=as_csv(table(3, seed=2)), headers=headers, params={"allow_versions": True}
    )
    assert (third.status_code, third.json()["parameter"]) == (409, "person_rows")


def test_what_measures_rows_refuses_and_what_does_not_works(service: Service) -> None:
    owner = service.client()
    dataset = register(owner, table(60))["id"]
    level = put_level(owner, dataset, mu=1)
    assert level["advice"] is None
    copy = issue(owner, dataset, level="c")["id"]
    url = f"/v1/datasets/{dataset}"
    audit = owner.post(f"{url}/audits", json={"levels": ["c"]})
    assert audit.status_code == 409, audit.text
    assert "guarantee" in audit.json()["detail"]
    assert owner.post(f"{url}/preview", json={"levels": ["c"]}).status_code == 409
    assert owner.post(f"/v1/copies/{copy}/files", json={}).is_success
    assert owner.post(f"{url}/rows/close").status_code == 409
    assert content(owner, copy, CSV).text.startswith("age,income,city,country")


@pytest.mark.parametrize("params", [{"least_variance": "1"}, {"person_rows": "2"}])
def test_options_of_formal_protection_are_refused_elsewhere(
    service: Service, params: dict[str, str]
) -> None:
    answer = service.client().post(
        "/v1/datasets",
        params={"name": "x", **params},
        content=as_parquet(table(5)),
        headers={"content-type": PARQUET},
    )
    assert answer.status_code == 422, answer.text
