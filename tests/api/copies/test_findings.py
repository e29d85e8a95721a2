"""What attackers once found in copies: other people's records, exact numbers, retired people, noise left to chance."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.copies.copy_tables import PARQUET, as_parquet, issue, rows_of

KNOWN, SECRET = ("town", "job", "age band"), "disease"
RECORD = ("town", "job", "disease")
VARIANCES = (0.25, 1.0, 4.0, 99.0)


def register(client: TestClient, table: pa.Table, name: str = "people", **params: str) -> str:
    """Register the table without levels, whose advice takes most of the time; the data set's id."""
    made = client.post(
        "/v1/datasets",
        params={"name": name, "allow_overlap": "true"} | params,
        content=as_parquet(table),
        headers={"content-type": PARQUET},
    )
    assert made.status_code == 201, made.text
    dataset: str = made.json()["id"]
    return dataset


def patients(rows: int = 3_000) -> pa.Table:
    """Three known categories with which many people are alone, and a secret one that job tells a little of."""
    rng = np.random.default_rng(1)
    job = rng.integers(0, 12, rows)
    disease = np.where(rng.random(rows) < 0.2, job % 4, rng.choice(4, rows, p=[0.5, 0.2, 0.2, 0.1]))
    return pa.table(
        {
            "height": rng.normal(170, 10, rows),
            "town": [f"town {one}" for one in rng.integers(0, 15, rows)],
            "job": [f"job {one}" for one in job],
            "age band": [f"{10 * one} years" for one in rng.integers(0, 10, rows)],
            "disease": [f"disease {one}" for one in disease],
        }
    )


def linked(original: pa.Table, shown: pa.Table) -> tuple[int, float]:
    """How many people alone with their known categories are found in one row, and how often its secret is true."""

    def people(table: pa.Table) -> list[tuple[str, ...]]:
        return list(zip(*(table[name].to_pylist() for name in KNOWN), strict=True))

    own, seen = people(original), people(shown)
    times, times_seen = Counter(own), Counter(seen)
    beside = dict(zip(seen, shown[SECRET].to_pylist(), strict=True))
    right = [
        beside[person] == secret
        for person, secret in zip(own, original[SECRET].to_pylist(), strict=True)
        if times[person] == times_seen[person] == 1
    ]
    return len(right), float(np.mean(right))


def test_what_stands_beside_a_found_person_is_hardly_truer_than_a_guess(admin: TestClient) -> None:
    table = patients()
    copy = issue(admin, register(admin, table), noise_variance=9.0)
    found, right = linked(table, rows_of(admin, copy["id"]))
    guessing = max(Counter(table[SECRET].to_pylist()).values()) / table.num_rows
    assert found > 40
    assert right < guessing + 0.1
    # The control: a share q of the records stays, and the others are whole records of other rows.
    rng = np.random.default_rng(2)
    rows = np.arange(table.num_rows)
    kept = rng.random(len(rows)) < 1 / (1 + copy["applied_variance"])
    donors = rng.integers(0, len(rows), len(rows))
    found, right = linked(table, table.take(np.where(kept, rows, donors)))
    assert found > 40
    assert right > guessing + 0.4


def test_a_number_that_a_category_determines_is_noised_and_raises_the_noise(
    admin: TestClient,
) -> None:
    rng = np.random.default_rng(3)
    rows, v = 2_000, 1.0
    grade = rng.integers(0, 8, rows)
    salary = (2_150.75 * 1.17 ** np.arange(8)).round(2)[grade]
    table = pa.table(
        {
            "salary": salary,
            "paid": salary,
            "height": rng.normal(170, 10, rows),
            "grade": [f"grade {one}" for one in grade],
        }
    )
    columns = json.dumps({"salary": "numeric", "paid": "passthrough"})
    copy = issue(admin, register(admin, table, columns=columns), noise_variance=v)
    assert copy["applied_variance"] == pytest.approx(v + np.sqrt(v * (1 + v)), rel=0.01)
    shown = rows_of(admin, copy["id"])
    noise = shown["salary"].to_numpy() - salary
    assert not (noise == 0).any()
    spread = np.sqrt(copy["applied_variance"]) * salary.std()
    assert noise.std() == pytest.approx(spread, rel=0.1)
    # The controls: passthrough leaves exactly, and grades that tell nothing leave the noise of the level.
    assert (shown["paid"].to_numpy() == salary).all()
    mixed = table.set_column(3, "grade", table["grade"].take(rng.permutation(rows)))
    other = issue(admin, register(admin, mixed, "mixed", columns=columns), noise_variance=v)
    assert v <= other["applied_variance"] < 1.1 * v


def test_values_of_retired_or_very_few_people_are_in_no_copy(admin: TestClient) -> None:
    rng = np.random.default_rng(4)
    rows, ill, alone = 500, range(100, 140), range(200, 204)
    disease = rng.choice(["none", "flu", "gout"], rows).astype(object)
    town = rng.choice(["Rome", "Oslo", "Bern"], rows).astype(object)
    disease[list(ill)], town[list(alone)] = "scurvy", "Thule"
    # The control: five people are enough for a value to be shown.
    town[300:305] = "Kiruna"
    table = pa.table({"height": rng.normal(170, 10, rows), "disease": disease, "town": town})

    def shown(retired: list[int]) -> list[tuple[set[str], set[str]]]:
        dataset = register(admin, table, f"without {len(retired)}")
        if retired:
            answer = admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": retired})
            assert answer.json()["retired_now"] == len(retired)
        copies = [rows_of(admin, issue(admin, dataset, noise_variance=v)["id"]) for v in VARIANCES]
        assert {copy.num_rows for copy in copies} == {rows - len(retired)}
        return [
            (set(copy["disease"].to_pylist()), set(copy["town"].to_pylist())) for copy in copies
        ]

    for diseases, towns in shown(list(ill)):
        assert diseases == {"none", "flu", "gout"}
        assert "Thule" not in towns
    # The control: the same people, not retired.
    for diseases, towns in shown([]):
        assert "scurvy" in diseases
        assert "Kiruna" in towns
        assert "Thule" not in towns


def test_people_retired_after_the_first_copy_are_no_donors_of_later_levels(
    admin: TestClient,
) -> None:
    rng = np.random.default_rng(6)
    rows, ill = 500, list(range(40))
    table = pa.table(
        {
            "height": rng.normal(170, 10, rows),
            "town": [f"town {one}" for one in rng.integers(0, 30, rows)],
            "job": [f"job {one}" for one in rng.integers(0, 30, rows)],
            "disease": ["scurvy" if row in ill else "none" for row in range(rows)],
        }
    )
    dataset = register(admin, table)
    issue(admin, dataset, noise_variance=1.0)
    answer = admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": ill})
    assert answer.json()["retired_now"] == len(ill)

    def people(table: pa.Table) -> set[tuple[str, ...]]:
        return set(zip(*(table[name].to_pylist() for name in RECORD), strict=True))

    copy = issue(admin, dataset, noise_variance=4.0)
    retired, shown = people(table.take(ill)), rows_of(admin, copy["id"])
    # Some 30 rows show the disease, each with one of 900 towns and jobs: one or two by chance.
    assert len(people(shown) & retired) <= 4
    # The control: whole records of other rows, the retired ones among them.
    kept = rng.random(shown.num_rows) < 1 / (1 + copy["applied_variance"])
    donors = rng.integers(0, rows, shown.num_rows)
    former = table.take(np.where(kept, np.arange(len(ill), rows), donors))
    assert len(people(former) & retired) > 12


def associated(rows: int, seed: int) -> pa.Table:
    """Two numbers of which two categories tell a part, one of it jointly."""
    rng = np.random.default_rng(seed)
    town, band = rng.integers(0, 5, rows), rng.integers(0, 4, rows)
    x = 0.4 * town + rng.normal(size=rows)
    return pa.table(
        {
            "x": x,
            "y": 0.5 * x + 0.5 * ((town + band) % 2) + rng.normal(size=rows),
            "town": [f"town {one}" for one in town],
            "band": [f"band {one}" for one in band],
        }
    )


def test_a_table_registered_16_times_has_one_applied_variance(admin: TestClient) -> None:
    def applied(table: pa.Table, name: str) -> tuple[float, float]:
        """The applied variance, and a cell of the copy."""
        copy = issue(admin, register(admin, table, name), noise_variance=0.25)
        return copy["applied_variance"], rows_of(admin, copy["id"], rows="0:1")["x"][0].as_py()

    table = associated(3_000, seed=5)
    found, cells = zip(*(applied(table, f"time {time}") for time in range(16)), strict=True)
    assert len(set(cells)) == 16, "each has a secret of its own"
    assert min(found) > 1.1 * 0.25, "the categories raise the noise"
    assert max(found) / min(found) < 1.02
    # The control: four samples of 300 rows differ by chance.
    samples = [applied(associated(300, seed), f"sample {seed}")[0] for seed in range(4)]
    assert max(samples) / min(samples) > 1.02
