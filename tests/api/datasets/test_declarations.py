"""What owners declare of columns: bounds, values, and what stands for others and for missing cells."""

from __future__ import annotations

import pytest

from tests.api.conftest import Service

CSV = {"content-type": "text/csv"}
TABLE = b"age,born,city\n20,1990-01-01,Oslo\n30,1980-05-05,Lima\n41,1970-12-12,\n"


def registered(service: Service) -> str:
    answer = service.client().post("/v1/datasets?name=d", content=TABLE, headers=CSV)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["id"]
    return made


def test_a_declaration_is_kept_and_shown(service: Service) -> None:
    columns = f"/v1/datasets/{registered(service)}/columns"
    city = {"kind": "categorical", "categories": ["Lima", "Oslo", "else"], "other": "else"}
    form = {"age": {"lower": 0, "upper": 100, "weight": 2}, "born": {"lower": "1970-01-11"}}
    answer = service.client().put(columns, json={**form, "city": city})
    assert answer.status_code == 200, answer.text
    age, born, shown = answer.json()["columns"]
    assert (age["weight"], born["lower"]) == (2.0, 10.0)
    assert {key: shown[key] for key in city} == city
    forgotten = service.client().put(columns, json={"city": "identifier"}).json()["columns"][2]
    assert (forgotten["categories"], forgotten["other"]) == (None, None)


@pytest.mark.parametrize(
    "said",
    [
        {"city": {"kind": "categorical", "categories": []}},
        {"city": {"kind": "categorical", "categories": ["a", "a"]}},
        {"city": {"kind": "categorical", "categories": ["a"], "other": "b"}},
        {"city": {"kind": "categorical", "categories": ["a"], "missing_as": "b"}},
        {"city": {"kind": "categorical", "categories": [str(i) for i in range(10_001)]}},
        {"city": {"kind": "categorical", "weight": 2}},
        {"age": {"kind": "numeric", "categories": ["1"]}},
        {"age": {"weight": 0}},
        {"age": {"lower": 3, "upper": 2}},
    ],
)
def test_a_declaration_that_cannot_be_is_refused(service: Service, said: dict[str, object]) -> None:
    answer = service.client().put(f"/v1/datasets/{registered(service)}/columns", json=said)
    assert answer.status_code == 422, answer.text
