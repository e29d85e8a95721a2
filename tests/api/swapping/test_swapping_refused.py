"""What /v1/identifiability and /v1/swaps refuse, and how."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.swapping.test_swapping import CSV_TYPE, INSURANCE, post, swap


def refused(client: TestClient, body: str = INSURANCE, **params: Any) -> Any:
    answers = [post(client, path, body, **params) for path in ("identifiability", "swaps")]
    for answer in answers:
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    return answers[1].json()


def refused_swap(client: TestClient, body: str = INSURANCE, **params: Any) -> Any:
    answer = post(client, "swaps", body, **params)
    assert answer.status_code == 422, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"confidential": "salary"}, "confidential"),
        ({"confidential": ["amount", "amount"]}, "confidential"),
        ({"non_confidential": ["agee"]}, "non_confidential"),
        ({"non_confidential": ["age", "amount"]}, "non_confidential"),
        ({"bins": '{"nothing": {"equal_width": 3}}'}, "bins"),
        ({"bins": '{"age": {"equal_width": 3}}'}, "bins"),
        ({"bins": '{"age": {"equal_width": 1}}'}, "bins"),
        ({"bins": '{"age": {"equal_width": 3, "equal_frequency": 3}}'}, "bins"),
        ({"bins": '{"age": {"edges": [2, 1]}}'}, "bins"),
        ({"bins": '{"age": {"edges": []}}'}, "bins"),
        ({"bins": '{"age": {"quantiles": 3}}'}, "bins"),
        ({"bins": "[1]"}, "bins"),
        ({"bins": "{"}, "bins"),
        (
            {"non_confidential": ["place"], "bins": '{"age": {"equal_width": 3}}'},
            "bins",
        ),
    ],
)
def test_columns_and_bins_that_make_no_sense_are_refused(
    admin: TestClient, params: dict[str, Any], parameter: str
) -> None:
    problem = refused(admin, **params)
    assert problem["type"] == "/problems/invalid-parameter"
    assert problem["parameter"] == parameter


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("a,y\n1,p\n2,p\n", "constant"),
        ("a,y\n1,p\n2,q\n", "every row"),
        ("a,y\n1,p\n2,\n3,q\n4,q\n", "missing"),
        ("a,y\n", "no rows"),
    ],
)
def test_confidential_columns_that_cannot_be_swapped_are_refused(
    admin: TestClient, body: str, word: str
) -> None:
    problem = refused(admin, body, confidential="y")
    assert problem["type"] == "/problems/invalid-table"
    assert word in problem["detail"]


def test_missing_confidential_cells_are_counted_and_located(admin: TestClient) -> None:
    problem = refused(admin, "a,y\n1,p\n2,\n3,q\n4,\n", confidential="y")
    assert (problem["column"], problem["missing"], problem["row"]) == ("y", 2, 2)


def test_no_problem_repeats_a_value(admin: TestClient) -> None:
    body = "a,y\n1,hush-hush\n2,hush-hush\n"
    for answer in (
        post(admin, "swaps", body, confidential="y"),
        post(admin, "swaps", "a,y\nx,1\n", confidential="y", bins='{"a": {"equal_width": 2}}'),
    ):
        assert answer.status_code == 422
        assert "hush" not in answer.text


def test_without_another_column_nothing_can_identify(admin: TestClient) -> None:
    assert (
        refused(admin, "y\np\nq\nq\n", confidential="y", header="present")["parameter"]
        == "non_confidential"
    )


@pytest.mark.parametrize("proportion", [0, -0.5, 1.01, "nan", "inf"])
def test_a_proportion_outside_0_to_1_is_refused(admin: TestClient, proportion: object) -> None:
    assert refused_swap(admin, proportion=proportion)["parameter"] == "proportion"


def test_flipping_every_value_is_refused(admin: TestClient) -> None:
    problem = refused_swap(admin, confidential="gender", proportion=1)
    assert (problem["parameter"], problem["column"]) == ("proportion", "gender")
    assert swap(admin, proportion=1)["report"]["attributes"][0]["changed"] == 9


@pytest.mark.parametrize(
    "params",
    [
        {"method": "best"},
        {"proportion": "half"},
        {"group_number": 0},
        {"group_number": 10**30},
        {"allowed_deviation": 10**30},
        {"group_proportion": 0},
        {"group_proportion": 1.5},
        {"group_number": 1, "group_proportion": 0.5},
        {"smoothing": -1},
        {"smoothing": "nan"},
        {"allowed_deviation": -1},
        {"seed": -1},
        {"seed": 2**53},
        {"report": "json"},
    ],
)
def test_parameters_outside_their_range_are_refused(
    admin: TestClient, params: dict[str, Any]
) -> None:
    problem = refused_swap(admin, **params)
    assert problem["type"] in ("/problems/invalid-request", "/problems/invalid-parameter")


def test_a_confidential_column_must_be_named(admin: TestClient) -> None:
    for path in ("identifiability", "swaps"):
        answer = admin.post(f"/v1/{path}", content=INSURANCE, headers=CSV_TYPE)
        assert answer.status_code == 422


def test_a_format_that_is_not_written_is_refused(admin: TestClient) -> None:
    answer = admin.post(
        "/v1/swaps",
        params={"confidential": "amount"},
        content=INSURANCE,
        headers={**CSV_TYPE, "accept": "text/html"},
    )
    assert answer.status_code == 406


def test_a_key_is_needed(service: Service) -> None:
    for path in ("identifiability", "swaps"):
        assert post(service.client(None), path).status_code == 401
