"""/v1/identifiability and /v1/swaps over HTTP."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.service.swapping import report
from papers.li2004 import AMOUNTS, STATUSES, TABLE_1
from tests.api.conftest import Service

AGES, GENDERS, PLACES = ("30-39", "40-49", "50-59"), ("Female", "Male"), ("CA", "NY")
ROWS = [
    (AGES[age], GENDERS[gender], PLACES[place], AMOUNTS[amount])
    for age, gender, place, amount in TABLE_1.tolist()
]
HEADER = "age,gender,place,amount"
INSURANCE = "\n".join([HEADER, *(",".join(row) for row in ROWS)]) + "\n"
CSV_TYPE = {"content-type": "text/csv"}


def post(
    client: TestClient,
    path: str,
    body: str = INSURANCE,
    accept: str = "*/*",
    **params: Any,
) -> Any:
    return client.post(
        f"/v1/{path}",
        params={"confidential": "amount", **params},
        content=body,
        headers=CSV_TYPE | {"accept": accept},
    )


def swap(client: TestClient, body: str = INSURANCE, **params: Any) -> Any:
    response = post(client, "swaps", body, "application/json", **params)
    assert response.status_code == 200, response.text
    return response.json()


# Identifiability


def test_table_1_is_counted(admin: TestClient) -> None:
    (found,) = post(admin, "identifiability").json()["attributes"]
    assert found["column"] == "amount"
    assert found["categories"] == 3
    assert found["counts"] == {
        "records": 16,
        "identifiable": 12,
        "unique": 6,
        "collective": 6,
        "groups": 3,
        "unidentifiable": 4,
    }
    assert found["status"] is None


def test_every_row_has_a_status_when_asked_for(admin: TestClient) -> None:
    (found,) = post(admin, "identifiability", rows=True).json()["attributes"]
    written = {"unique": "U", "collective": "V", "unidentifiable": ""}
    statuses = [
        written[status] + (str(group) if group else "")
        for status, group in zip(found["status"], found["group"], strict=True)
    ]
    assert statuses == list(STATUSES)


@pytest.mark.parametrize(
    ("rule", "identifiable", "unique"),
    [
        ({"equal_frequency": 2}, 6, 0),
        ({"equal_width": 4}, 2, 0),
        ({"edges": [1.5, 2.5, 3.5, 50]}, 6, 4),
    ],
)
def test_numbers_are_binned_on_request(
    admin: TestClient, rule: dict[str, Any], identifiable: int, unique: int
) -> None:
    body = "x,y\n1,a\n2,a\n3,a\n4,b\n100,b\n101,b\n"
    bins = json.dumps({"x": rule})
    answer = post(admin, "identifiability", body, confidential="y", bins=bins).json()
    counts = answer["attributes"][0]["counts"]
    assert (counts["identifiable"], counts["unique"]) == (identifiable, unique)


# Swaps


def test_the_example_is_swapped_to_its_optimum(admin: TestClient) -> None:
    answer = swap(admin, seed=1)
    (found,) = answer["report"]["attributes"]
    assert round(found["objective"], 4) == 2.1353
    assert (found["gap"], found["deviation"], found["changed"]) == (0, 0, 6)
    assert (found["before"]["identifiable"], found["after"]["identifiable"]) == (12, 6)
    assert found["still_disclosed"] == 3
    assert [entry["category"] for entry in found["marginal"]] == ["High", "Low", "Med"]
    assert all(entry["before"] == entry["after"] for entry in found["marginal"])
    assert [pair["column"] for pair in found["divergence"]] == ["age", "gender", "place"]
    columns = answer["columns"]
    assert sorted(columns["amount"]) == sorted(row[3] for row in ROWS)
    for place, name in enumerate(("age", "gender", "place")):
        assert columns[name] == [row[place] for row in ROWS]
    for row, status in enumerate(STATUSES):
        if status == "":
            assert columns["amount"][row] == ROWS[row][3]


def test_the_published_method_tells_both_phases(admin: TestClient) -> None:
    (found,) = swap(admin, method="greedy")["report"]["attributes"]
    assert found["objective"] == pytest.approx(2.4237, abs=6e-5)
    assert found["objective_after_phase_one"] >= found["objective"]
    assert found["bound"] is None


def test_the_same_seed_gives_the_same_table_and_is_told(admin: TestClient) -> None:
    first = post(admin, "swaps", method="random")
    seed = first.headers["x-cornerwave-seed"]
    again = post(admin, "swaps", method="random", seed=seed)
    assert first.content == again.content
    others = {post(admin, "swaps", method="random", seed=seed).content for seed in range(5)}
    assert len(others) > 1


def test_the_report_is_found_by_its_link_and_only_by_the_principal(service: Service) -> None:
    _, owner = service.principal("owner")
    answer = post(owner, "swaps", seed=3)
    address = answer.headers["link"].partition(">")[0].removeprefix("<")
    report = owner.get(address).json()
    assert report == swap(owner, seed=3)["report"]
    assert service.principal("owner")[1].get(address).status_code == 404


def test_a_binned_column_leaves_as_its_bins(admin: TestClient) -> None:
    body = "x,z,y\n" + "".join(f"{i},{i % 2},{'abc'[i % 3]}\n" for i in range(30))
    answer = swap(
        admin, body, confidential="y", bins=json.dumps({"x": {"edges": [10, 20]}}), seed=0
    )
    assert set(answer["columns"]["x"]) == {"(-inf, 10)", "[10, 20)", "[20, inf)"}
    assert answer["columns"]["z"] == [float(i % 2) for i in range(30)]


def test_a_confidential_number_is_swapped_by_bins(admin: TestClient) -> None:
    rng = np.random.default_rng(0)
    pay = rng.normal(100, 10, 40).round(2)
    body = "id_like,pay\n" + "".join(f"k{i},{value}\n" for i, value in enumerate(pay))
    answer = swap(
        admin,
        body,
        confidential="pay",
        non_confidential="id_like",
        bins=json.dumps({"pay": {"equal_frequency": 4}}),
    )
    (found,) = answer["report"]["attributes"]
    assert found["categories"] == 4
    assert found["changed"] == 20
    assert all(value.startswith(("(", "[")) for value in answer["columns"]["pay"])


def test_more_members_of_a_group_change_on_request(admin: TestClient) -> None:
    body = HEADER + "\n" + "40,Male,CA,Low\n" * 6 + "50,Male,CA,Med\n50,Male,NY,High\n"
    assert swap(admin, body)["report"]["attributes"][0]["changed"] == 1 + 1
    assert swap(admin, body, group_number=3)["report"]["attributes"][0]["changed"] == 3 + 1
    assert swap(admin, body, group_proportion=0.5)["report"]["attributes"][0]["changed"] == 3 + 1


def test_trees_are_compared_when_asked_for(
    admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, (600, 3))
    y = np.where(rng.random(600) < 0.9, x[:, 0] // 14, rng.integers(0, 3, 600))
    body = "a,b,c,y\n" + "".join(f"{r[0]},{r[1]},{r[2]},v{v}\n" for r, v in zip(x, y, strict=True))
    tree = swap(admin, body, confidential="y", tree=True, seed=0)["report"]["attributes"][0]["tree"]
    assert tree["records"] == 600
    assert tree["accuracy_original"] > tree["accuracy_swapped"] > tree["accuracy_random"]
    monkeypatch.setattr(report, "TREE_RECORDS", 300)
    tree = swap(admin, body, confidential="y", tree=True, seed=0)["report"]["attributes"][0]["tree"]
    assert tree["records"] == 300


def test_without_enough_records_the_tree_is_left_out_and_that_is_said(admin: TestClient) -> None:
    body = "a,y\n1,p\n2,p\n3,q\n4,r\n5,r\n"
    report = swap(admin, body, confidential="y", non_confidential="a", tree=True)["report"]
    assert report["attributes"][0]["tree"] is None
    assert any("tree" in note for note in report["notes"])


def test_nothing_identifiable_leaves_the_table_and_says_so(admin: TestClient) -> None:
    body = "a,y\n1,p\n1,q\n2,q\n2,p\n"
    answer = swap(admin, body, confidential="y")
    assert answer["columns"]["y"] == ["p", "q", "q", "p"]
    assert answer["report"]["unchanged"] is True
    assert any("nothing is identifiable" in note for note in answer["report"]["notes"])


def test_columns_nobody_looked_at_are_named(admin: TestClient) -> None:
    report = swap(admin, non_confidential=["age"])["report"]
    assert report["unchecked"] == ["gender", "place"]
    assert any("left as they came" in note for note in report["notes"])


PEOPLE = "row,mail,city,joined,pay\n" + "".join(
    f"{one},p{one}@example.org,{('Rome', 'Oslo')[one % 2]},2024-0{1 + one % 3}-11,{('low', 'high', 'top')[one % 3]}\n"
    for one in range(30)
)


def test_identifiers_leave_only_where_they_are_named(admin: TestClient) -> None:
    answer = swap(admin, PEOPLE, confidential="pay")
    assert list(answer["columns"]) == ["city", "joined", "pay"]
    assert set(answer["report"]["left_out"]) == {"row", "mail"}
    assert any("row, mail" in note for note in answer["report"]["notes"])
    assert answer["columns"]["joined"][:2] == ["2024-01-11", "2024-02-11"]
    kept = swap(admin, PEOPLE, confidential="pay", keep="mail", non_confidential=["row", "city"])
    assert list(kept["columns"]) == ["row", "mail", "city", "joined", "pay"]
    assert kept["report"]["left_out"] == {}
    refused = post(admin, "swaps", PEOPLE, confidential="pay", keep="name")
    assert (refused.status_code, refused.json()["parameter"]) == (422, "keep")


def test_identifiers_are_no_columns_that_an_intruder_is_assumed_to_know(
    admin: TestClient,
) -> None:
    found = post(admin, "identifiability", PEOPLE, confidential="pay").json()
    assert set(found["left_out"]) == {"row", "mail"}
    assert found["attributes"][0]["counts"]["identifiable"] == 30  # joined tells pay
    named = post(admin, "identifiability", PEOPLE, confidential="pay", non_confidential="row")
    assert named.json()["attributes"][0]["counts"]["unique"] == 30


def test_bins_of_dates_are_told_as_dates(admin: TestClient) -> None:
    bins = json.dumps({"joined": {"edges": [19_754]}})
    answer = swap(admin, PEOPLE, confidential="pay", bins=bins)
    assert set(answer["columns"]["joined"]) == {"(-inf, 2024-02-01)", "[2024-02-01, inf)"}


def test_a_marginal_that_cannot_be_kept_is_reported(admin: TestClient) -> None:
    body = "a,y\n1,p\n2,p\n3,q\n4,q\n5,q\n6,q\n"  # two categories, three flips
    report = swap(admin, body, confidential="y", non_confidential="a")["report"]
    assert report["attributes"][0]["deviation"] == 2
    assert report["attributes"][0]["smallest_deviation"] == 2
    assert any("keeps the marginal" in note for note in report["notes"])


def test_missing_cells_of_known_columns_are_a_category(admin: TestClient) -> None:
    body = "a,b,y\n,1,p\n,,q\nx,1,p\nx,1,r\n"
    (found,) = post(admin, "identifiability", body, confidential="y", rows=True).json()[
        "attributes"
    ]
    assert found["status"] == ["unique", "unique", "unidentifiable", "unidentifiable"]
    assert swap(admin, body, confidential="y")["columns"]["a"] == [None, None, "x", "x"]


def test_what_is_not_swapped_is_written_as_it_came(admin: TestClient) -> None:
    body = "age,class,weight,zip\n" + "".join(
        f"{40 + i % 3},{i % 2 + 1},{i % 5}.5,0{100 + i % 4}\n" for i in range(60)
    )
    answer = post(admin, "swaps", body, "text/csv", confidential="class", seed=1)
    assert answer.status_code == 200, answer.text
    before = [line.split(",") for line in body.splitlines()]
    after = [line.split(",") for line in answer.text.splitlines()]
    assert [[a, w, z] for a, _, w, z in after] == [[a, w, z] for a, _, w, z in before]
    assert {c for _, c, _, _ in after[1:]} == {"1", "2"}
