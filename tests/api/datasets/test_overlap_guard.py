"""The same person twice: versions of a row and overlapping data sets are told, and need a word."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.service.datasets.overlap.row_fingerprints import CONTEXT, fingerprint_keys
from app.store.database import tables
from app.store.database.datasets import sketches
from app.store.database.engine import reading, writing
from app.store.vault import Vault
from tests.api.conftest import Service
from tests.api.copies.copy_tables import PARQUET, as_parquet, issue, rows_of

KEY = {"key_column": "person", "columns": '{"person": "identifier"}'}


def people(first: int, last: int, *, seed: int = 0) -> pa.Table:
    """Persons first ≤ i < last; the same person has the same values under the same seed."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(100_000, 2)) @ np.array([[10.0, 4.0], [0.0, 3.0]])
    return pa.table(
        {
            "person": pa.array([f"p{row}" for row in range(first, last)]),
            "height": pa.array(values[first:last, 0]),
            "weight": pa.array(values[first:last, 1]),
        }
    )


def send(client: TestClient, url: str, table: pa.Table, **params: str) -> Any:
    return client.post(
        url, params=params, content=as_parquet(table), headers={"content-type": PARQUET}
    )


def registered(client: TestClient, table: pa.Table, name: str, **params: str) -> Any:
    answer = send(client, "/v1/datasets", table, name=name, **params)
    assert answer.status_code == 201, answer.text
    return answer.json()


def refused(answer: Any, problem: str) -> Any:
    assert answer.status_code == 409, answer.text
    assert answer.json()["type"] == f"/problems/{problem}"
    return answer.json()


def test_a_key_appended_again_needs_the_owners_word_even_when_it_was_retired(
    service: Service,
) -> None:
    client = service.client()
    dataset = registered(client, people(0, 300), "people", **KEY)
    assert dataset["versions"] == {"most": 1, "privacy_left": {}}
    url = f"/v1/datasets/{dataset['id']}"
    client.put(f"{url}/levels/near", json={"privacy": 0.9})
    client.request("DELETE", f"{url}/rows", json={"keys": ["p7"]})
    for again in (people(7, 8, seed=1), people(299, 340)):
        problem = refused(send(client, f"{url}/rows", again), "duplicate-key")
        assert problem["keys"] == 1
        assert "p7" not in str(problem)
    assert client.get(url).json()["rows"] == 299
    assert send(client, f"{url}/rows", people(300, 340)).status_code == 201
    assert send(client, f"{url}/rows", people(7, 8, seed=1), allow_versions="true").is_success
    shown = client.get(url).json()
    assert shown["versions"]["most"] == 2
    assert shown["versions"]["privacy_left"] == {"near": pytest.approx(9 / 11)}
    assert client.get("/v1/datasets").json()["datasets"] == [shown]
    # Once allowed is not for ever.
    refused(send(client, f"{url}/rows", people(7, 8, seed=2)), "duplicate-key")


def test_a_key_twice_in_a_table_is_refused_and_missing_keys_are_not_keys(admin: TestClient) -> None:
    table = people(0, 30)
    twice = pa.concat_tables([table, people(3, 4, seed=1)])
    refused(send(admin, "/v1/datasets", twice, name="twice", **KEY), "duplicate-key")
    assert registered(admin, twice, "twice", allow_versions="true", **KEY)["versions"]["most"] == 2
    unknown = pa.array([None] * 15 + [f"q{row}" for row in range(15)], pa.string())
    some = people(100, 130).set_column(0, "person", unknown)
    assert registered(admin, some, "some", **KEY)["versions"]["most"] == 1


def test_versions_leave_what_the_data_set_says(admin: TestClient) -> None:
    """A row retired and appended 20 times at privacy 0.9 leaves 0.31: refused, or told."""
    versions, rows = 20, 500
    table = people(0, rows)
    dataset = registered(admin, table, "people", **KEY)["id"]
    url = f"/v1/datasets/{dataset}"
    admin.put(f"{url}/levels/near", json={"privacy": 0.9})
    refused(send(admin, f"{url}/rows", table), "duplicate-key")
    for _ in range(versions - 1):
        assert send(admin, f"{url}/rows", table, allow_versions="true").is_success
    told = admin.get(url).json()["versions"]
    assert told["most"] == versions
    assert told["privacy_left"]["near"] == pytest.approx(0.31, abs=0.001)
    copy = issue(admin, dataset, level="near")
    released = rows_of(admin, copy["id"])
    for name in ("height", "weight"):
        original = table[name].to_numpy()
        all_versions = released[name].to_numpy().reshape(versions, rows)
        for seen, left in (
            (all_versions[0], 0.9),
            (all_versions.mean(axis=0), told["privacy_left"]["near"]),
        ):
            found = 1 - np.corrcoef(original, seen)[0, 1] ** 2
            assert found == pytest.approx(left, abs=4 * deviation_of_left(left, rows))


def deviation_of_left(left: float, rows: int) -> float:
    """Standard deviation of 1 - r² of normal pairs: 2r(1 - r²)/√n, where r² = 1 - left."""
    return float(2 * np.sqrt(1 - left) * left / np.sqrt(rows))


def test_the_same_table_again_is_refused_and_another_is_not(
    service: Service,
) -> None:
    client = service.client()
    first = registered(client, people(0, 400), "first")
    assert first["warnings"] == []
    for name in ("second", "third", "fourth"):
        problem = refused(send(client, "/v1/datasets", people(0, 400), name=name), "rows-overlap")
        assert problem["share"] == 1.0
        assert problem["dataset"] == first["id"]
    log = client.get("/v1/audit-log").json()["entries"]
    assert sum(entry["outcome"] == "refused" for entry in log) == 3
    assert [one["name"] for one in client.get("/v1/datasets").json()["datasets"]] == ["first"]
    assert registered(client, people(400, 800), "others")["warnings"] == []
    meant = registered(client, people(0, 400), "meant", allow_overlap="true")
    (warning,) = meant["warnings"]
    assert (warning["type"], warning["share"], warning["dataset"]) == ("overlap", 1.0, first["id"])


def test_an_overlap_is_told_from_a_fifth_and_refused_from_a_half(admin: TestClient) -> None:
    registered(admin, people(0, 1_000), "first")
    assert registered(admin, people(900, 1_900), "a tenth")["warnings"] == []
    (warning,) = registered(admin, people(500, 800), "within", allow_overlap="true")["warnings"]
    assert warning["share"] == 1.0
    third = pa.concat_tables([people(0, 300), people(5_000, 5_700)])
    (warning,) = registered(admin, third, "third")["warnings"]
    assert warning["share"] == pytest.approx(0.3)
    assert "30%" in warning["detail"]
    most = pa.concat_tables([people(100, 650), people(6_000, 6_450)])
    problem = refused(send(admin, "/v1/datasets", most, name="most"), "rows-overlap")
    assert problem["share"] == pytest.approx(0.55)


def test_the_order_of_rows_and_columns_hides_nothing_and_keys_find_changed_rows(
    admin: TestClient,
) -> None:
    table = people(0, 400)
    registered(admin, table, "first", **KEY)
    shuffled = table.take(np.random.default_rng(1).permutation(400)).select(
        ["weight", "person", "height"]
    )
    refused(send(admin, "/v1/datasets", shuffled, name="order"), "rows-overlap")
    changed = people(0, 400, seed=5)
    refused(send(admin, "/v1/datasets", changed, name="changed", **KEY), "rows-overlap")
    assert registered(admin, changed, "without keys")["warnings"] == []


def test_appended_rows_count(service: Service) -> None:
    client = service.client()
    first = registered(client, people(0, 1_000), "first")["id"]
    other = registered(client, people(1_000, 1_400), "other")
    url = f"/v1/datasets/{other['id']}/rows"
    (warning,) = send(client, url, people(0, 200)).json()["warnings"]
    assert warning["share"] == pytest.approx(1 / 3)
    assert warning["dataset"] == first
    assert send(client, url, people(200, 201)).json()["warnings"] == []
    problem = refused(send(client, url, people(201, 800)), "rows-overlap")
    assert problem["dataset"] == first
    assert client.get(f"/v1/datasets/{other['id']}").json()["rows"] == 601
    assert send(client, url, people(201, 800), allow_overlap="true").is_success
    assert send(client, url, people(800, 900)).is_success


def test_rows_that_are_there_already_are_told_without_a_key_column(admin: TestClient) -> None:
    dataset = registered(admin, people(0, 500), "first")["id"]
    url = f"/v1/datasets/{dataset}/rows"
    assert send(admin, url, people(500, 600)).json()["warnings"] == []
    (warning,) = send(admin, url, people(590, 610)).json()["warnings"]
    assert (warning["type"], warning["share"], warning["dataset"]) == (
        "duplicate-rows",
        0.5,
        dataset,
    )
    assert send(admin, url, people(605, 645)).json()["warnings"] == []
    # More rows than the data set has, and all of its among them: few of those that come.
    (warning,) = send(admin, url, people(0, 2_000)).json()["warnings"]
    assert warning["share"] == pytest.approx(645 / 2_000)
    assert send(admin, url, people(2_000, 2_004)).json()["warnings"] == []


def test_rows_that_are_there_already_are_refused_unless_the_owner_says_so(
    service: Service,
) -> None:
    """A row retired and appended twenty times, a table appended to itself."""
    client = service.client()
    dataset = registered(client, people(0, 500), "first")["id"]
    url = f"/v1/datasets/{dataset}"
    assert client.request("DELETE", f"{url}/rows", json={"rows": [7, 8]}).is_success
    before = client.get(url).json()
    kept = service.stored()
    for again in (
        people(7, 8),
        people(0, 500),
        people(490, 509),
        pa.concat_tables([people(7, 8)] * 20),
    ):
        problem = refused(send(client, f"{url}/rows", again), "duplicate-rows")
        assert problem["parameter"] == "allow_versions"
    assert client.get(url).json() == before
    assert service.stored() == kept
    for _ in range(20):
        allowed = send(client, f"{url}/rows", people(7, 8), allow_versions="true")
        assert [one["type"] for one in allowed.json()["warnings"]] == ["duplicate-rows"]
        # Once allowed is not for ever, and does not make rows alike.
        refused(send(client, f"{url}/rows", people(7, 8)), "duplicate-rows")
        refused(send(client, f"{url}/rows", people(9, 10)), "duplicate-rows")
    assert client.get(url).json()["rows"] == 498 + 20


def test_a_refusal_of_rows_that_come_again_uses_no_idempotency_key_up(admin: TestClient) -> None:
    dataset = registered(admin, people(0, 500), "first")["id"]
    url, body = f"/v1/datasets/{dataset}/rows", as_parquet(people(3, 9))
    headers = {"content-type": PARQUET, "idempotency-key": "once"}
    for _ in range(2):
        refused(admin.post(url, content=body, headers=headers), "duplicate-rows")
    allowed = [
        admin.post(url, params={"allow_versions": "true"}, content=body, headers=headers)
        for _ in range(2)
    ]
    assert [one.status_code for one in allowed] == [201, 201]
    assert allowed[0].content == allowed[1].content
    assert admin.get(f"/v1/datasets/{dataset}").json()["rows"] == 506


def test_pending_rows_are_known_again_until_they_are_withdrawn(admin: TestClient) -> None:
    dataset = registered(admin, people(0, 500), "first")["id"]
    issue(admin, dataset, noise_variance=1.0)
    url = f"/v1/datasets/{dataset}/rows"
    few = people(600, 603)
    batch = send(admin, url, few).json()["pending"]
    refused(send(admin, url, few), "duplicate-rows")
    assert admin.delete(f"{url}/pending/{batch}").is_success
    batch = send(admin, url, few).json()["pending"]
    assert batch is not None
    assert admin.post(f"{url}/close").is_success
    refused(send(admin, url, few), "duplicate-rows")
    assert send(admin, url, few, allow_versions="true").is_success


def test_rows_that_are_alike_by_nature_are_not_taken_for_the_same_again(admin: TestClient) -> None:
    rng = np.random.default_rng(2)

    def survey(rows: int) -> pa.Table:
        answers = rng.integers(0, 5, (2, rows))
        return pa.table(
            {
                "first": [f"a{one}" for one in answers[0]],
                "second": [f"b{one}" for one in answers[1]],
            }
        )

    dataset = registered(admin, survey(400), "survey")["id"]
    for rows in (1, 30, 400):
        assert send(admin, f"/v1/datasets/{dataset}/rows", survey(rows)).json()["warnings"] == []


def test_a_row_that_is_like_no_other_is_known_again_among_rows_that_are_alike(
    admin: TestClient,
) -> None:
    """Of machines of which half stand still, each of the others is like no other."""
    still = people(0, 250)
    for name in ("person", "height", "weight"):
        place = still.column_names.index(name)
        same = pa.array(["none"] * 250 if name == "person" else [0.0] * 250)
        still = still.set_column(place, name, same)
    dataset = registered(admin, pa.concat_tables([still, people(0, 250)]), "machines")["id"]
    url = f"/v1/datasets/{dataset}/rows"
    for natural in (still[:1], still[:30], pa.concat_tables([still[:60], people(250, 290)])):
        assert send(admin, url, natural).status_code == 201
    refused(send(admin, url, people(7, 8)), "duplicate-rows")
    refused(send(admin, url, pa.concat_tables([still, people(0, 250)])), "duplicate-rows")


def test_what_was_released_is_remembered_when_its_data_set_is_removed(
    service: Service,
) -> None:
    client = service.client()
    table = people(0, 400)
    first = registered(client, table, "first")["id"]
    assert client.delete(f"/v1/datasets/{first}").status_code == 204
    second = registered(client, table, "second")["id"]
    issue(client, second, noise_variance=1.0)
    assert client.delete(f"/v1/datasets/{second}").status_code == 204
    refused(send(client, "/v1/datasets", table, name="third"), "rows-overlap")


def test_rows_of_another_owner_are_told_to_the_operator_alone(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    _, owner = service.principal("owner")
    _, curious = service.principal("owner")
    theirs = registered(owner, people(0, 1_000), "theirs", **KEY)["id"]
    copied = registered(curious, people(0, 1_000), "same", **KEY)
    assert copied["warnings"] == []
    (entry,) = [one for one in caplog.records if one.name == "cornerwave.overlap"]
    said = vars(entry)
    assert (said["dataset"], said["other"], said["share"]) == (copied["id"], theirs, 1.0)
    # A probe that only its target brings over the threshold is answered by nothing that anybody can read, whoever it is.
    logged, counted = [], []
    for number, target in enumerate((people(5, 6), people(5_000, 5_001))):
        probe = pa.concat_tables([people(0, 5), target, people(6_000, 6_020)])
        caplog.clear()
        before = _counts(service)
        answer = send(curious, "/v1/datasets", probe, name=f"probe {number}", allow_overlap="true")
        assert answer.status_code == 201
        assert theirs not in answer.text
        logged.append(len(caplog.records))
        after = _counts(service)
        counted.append({name: after[name] - before.get(name, 0) for name in after})
    assert counted[0] == counted[1]
    assert logged[0] > logged[1]  # the control: the operator's log tells the one from the other


def _counts(service: Service) -> dict[str, float]:
    """Public counts that are no measures of the requests themselves."""
    lines = service.client().get("/metrics").text.splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if line.startswith("cornerwave_"))
    requests = ("cornerwave_request", "cornerwave_answer", "cornerwave_cache")
    return {name: float(value) for name, value in samples if not name.startswith(requests)}


CSV = "number,when,amount,town\n" + "".join(
    f"{row:04d},2024-01-{row % 28 + 1:02d},{row * 1.25:.2f},town {row % 7}\n" for row in range(200)
)


@pytest.mark.parametrize(
    "params",
    [
        {"columns": '{"amount": "categorical"}'},
        {"columns": '{"when": "categorical"}'},
        {"columns": '{"number": "identifier"}', "key_column": "number"},
    ],
)
def test_the_same_file_is_known_whatever_kinds_its_columns_are_given(
    admin: TestClient, params: dict[str, str]
) -> None:
    headers = {"content-type": "text/csv"}
    first = admin.post("/v1/datasets", params={"name": "a"}, content=CSV, headers=headers)
    assert first.status_code == 201, first.text
    again = admin.post("/v1/datasets", params={"name": "b"} | params, content=CSV, headers=headers)
    assert refused(again, "rows-overlap")["share"] == 1.0


def test_of_two_who_register_the_same_at_once_one_is_refused(
    service_on_each_database: Service,
) -> None:
    clients = [service_on_each_database.client() for _ in range(4)]
    table = people(0, 300)
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda pair: send(pair[1], "/v1/datasets", table, name=f"d{pair[0]}"),
                enumerate(clients),
            )
        )
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]


def test_a_new_master_key_changes_no_fingerprint(service: Service) -> None:
    resources = service.app.state.resources
    before = fingerprint_keys(resources)
    assert fingerprint_keys(resources) == before
    with reading(resources.engine) as connection:
        sealed = sketches.secret(connection)
    assert sealed is not None
    vault = Vault(bytes(range(32)))
    resealed = vault.seal(resources.vault.open(sealed, CONTEXT), CONTEXT)
    with writing(resources.engine) as connection:
        connection.execute(update(tables.service_secrets).values(sealed=resealed))
    assert fingerprint_keys(replace(resources, vault=vault)) == before
