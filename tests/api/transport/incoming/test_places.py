"""What is wrong with a request is told in the names of the request, not in those of the framework."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import openapi_document

EXAMPLES = json.loads((files("app.api") / "examples.json").read_text(encoding="utf-8"))
BODIES = {
    name: example
    for name, example in EXAMPLES.items()
    if example.get("content_type") == "application/json" and isinstance(example["body"], dict)
}
UNFIT: Any = {"?": {"?": []}}


def places(said: Any, so_far: str = "") -> set[str]:
    """Every place of a JSON value, by names and numbers joined with dots."""
    inside = said.items() if isinstance(said, dict) else enumerate(said)
    found = {so_far}
    for name, value in inside:
        place = f"{so_far}.{name}" if so_far else str(name)
        found |= places(value, place) if isinstance(value, dict | list) else {place}
    return found


def spoilt(body: Any) -> Iterator[Any]:
    """The body with one member of it unfit or left out, at every depth, and of a list the first."""
    steps = list(body) if isinstance(body, dict) else list(range(min(len(body), 1)))
    for step in steps:
        yield {**body, step: UNFIT} if isinstance(body, dict) else [UNFIT]
        without = copy.deepcopy(body)
        del without[step]
        yield without
        if isinstance(body[step], dict | list):
            for inner in spoilt(body[step]):
                changed = copy.deepcopy(body)
                changed[step] = inner
                yield changed


def addresses() -> dict[str, tuple[str, str]]:
    """Method and address of every operation."""
    return {
        operation["operationId"]: (method, path)
        for path, operations in openapi_document()["paths"].items()
        for method, operation in operations.items()
    }


def test_every_place_told_is_one_of_the_body_or_missing_from_it(admin: TestClient) -> None:
    told = 0
    known = addresses()
    for name, example in BODIES.items():
        method, path = known[name]
        path = path.format(**example.get("parameters", {}))
        for body in spoilt(example["body"]):
            answer = admin.request(method, path, json=body)
            if answer.status_code != 422 or "errors" not in answer.json():
                continue
            there = places(body)
            for wrong in answer.json()["errors"]:
                where = wrong["where"]
                parent = where.rpartition(".")[0]
                is_missing = wrong["problem"] == "Field required" and parent in there
                assert where in there or is_missing or where == "body", (name, where, wrong)
                told += 1
    assert told > 50


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"income": "numerical"}, {"income"}),
        ({"income": {"kind": "numeric", "lower": "low"}}, {"income", "income.lower"}),
        ({"income": {"kind": 3, "uper": 1}}, {"income", "income.kind", "income.uper"}),
        (["income"], {"body"}),
    ],
)
def test_a_column_is_named_and_not_the_forms_that_were_tried_on_it(
    admin: TestClient, body: Any, where: set[str]
) -> None:
    answer = admin.put("/v1/datasets/ds_none/columns", json=body)
    assert answer.status_code == 422
    assert {wrong["where"] for wrong in answer.json()["errors"]} == where
    assert not re.search(r"enum|Form|dictionary|\[", answer.text.replace("[{", "").lower())


def test_forms_that_one_place_could_have_had_are_told_together(admin: TestClient) -> None:
    answer = admin.put("/v1/datasets/ds_none/columns", json={"income": "numerical"}).json()
    (wrong,) = answer["errors"]
    assert "'numeric'" in wrong["problem"]
    assert wrong["problem"].endswith(", or Input should be an object")
    assert answer["detail"] == f"This cannot be used: income: {wrong['problem']}."


def test_a_choice_of_forms_is_not_a_step_of_the_way(admin: TestClient) -> None:
    body = {"values": [1.0, 2.0], "noise": {"kind": "normal", "variance": "wide"}}
    wrong = admin.post("/v1/distributions/estimate", json=body).json()["errors"]
    assert "noise.variance" in {one["where"] for one in wrong}


def test_parameters_of_the_address_are_told_by_their_names(admin: TestClient) -> None:
    wrong = admin.get("/v1/datasets?limit=many").json()["errors"]
    assert [one["where"] for one in wrong] == ["limit"]
    later = {"Prefer": "respond-async"}
    answer = admin.post("/v1/synthesis/primp?seed=many", content="a\n1\n", headers=later)
    assert [one["where"] for one in answer.json()["errors"]] == ["seed"]


def test_json_that_breaks_off_is_told_with_its_place(admin: TestClient) -> None:
    json_type = {"content-type": "application/json"}
    answer = admin.post("/v1/principals", content='{"name": ', headers=json_type).json()
    assert answer["errors"] == [{"where": "body", "problem": "no JSON at character 9"}]


def test_a_part_of_a_form_is_told_in_the_same_names(admin: TestClient) -> None:
    parts = {"original": ("a.csv", b"a,b\n1,2\n3,4\n"), "disguised": ("b.csv", b"a,b\n1,2\n3,4\n")}
    noise = json.dumps({"kind": "proportional", "noise_variance": "much"})
    answer = admin.post("/v1/attacks/score", files=parts, data={"noise": noise})
    assert answer.status_code == 422
    assert "noise.noise_variance" in answer.json()["detail"]
