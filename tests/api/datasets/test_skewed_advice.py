"""What advice says of a level on tables like those that are published: housing by town, sales of electricity.

Skewed and discrete columns keep less than is promised to linear attackers, and are named before anything is issued.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from fastapi.testclient import TestClient

from tests.api.copies.copy_tables import register
from tests.shared_data import SHARED, reads


def weak(client: TestClient, table: pa.Table, name: str) -> dict[str, float]:
    """Target → the share left of it at privacy 0.5, of what the level's answer names."""
    dataset = register(client, table, columns=None, name=name)
    answer = client.put(f"/v1/datasets/{dataset}/levels/new", json={"privacy": 0.5})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["advice"]["weakly_protected"]
    return {one["target"]: one["left"] for one in found}


def towns(rows: int = 600) -> pa.Table:
    """Homes, a third of them in one city: what belongs to the town repeats, crime is skewed, rooms are normal."""
    rng = np.random.default_rng(1)
    town = np.where(rng.random(rows) < 0.3, 0, rng.integers(1, 60, rows))
    industry = np.append(18.1, rng.gamma(2.0, 4.0, 59))[town]
    tax = np.append(666.0, rng.normal(310.0, 60.0, 59))[town]
    crime = np.exp(1.5 * rng.normal(size=60))[town] * np.exp(0.5 * rng.normal(size=rows))
    return pa.table(
        {
            "crime": crime,
            "industry": industry,
            "tax": tax,
            "rooms": rng.normal(6.3, 0.7, rows),
        }
    )


def electricity(rows: int = 3_000) -> pa.Table:
    """Sales and revenues of utilities: lognormal of σ = 1.5, a price that varies little; some sell nothing to industry."""
    rng = np.random.default_rng(2)
    size = np.exp(1.5 * rng.normal(size=rows))
    price = np.exp(0.2 * rng.normal(size=rows))
    industry = np.where(rng.random(rows) < 0.4, 0.0, np.exp(1.5 * rng.normal(size=rows)))
    return pa.table(
        {
            "sales": size,
            "revenue": price * size,
            "industrial_sales": industry,
            "temperature": rng.normal(10, 5, rows),
        }
    )


def test_columns_of_a_town_and_a_skewed_rate_are_named(admin: TestClient) -> None:
    found = weak(admin, towns(), "towns")
    assert found.keys() >= {"crime", "industry", "tax"}
    assert found["tax"] < 0.45
    assert "rooms" not in found


def test_skewed_sales_and_revenues_are_named(admin: TestClient) -> None:
    """The posterior mean leaves 0.16 of a lognormal number of σ = 1.5, as in the prototype."""
    found = weak(admin, electricity(), "electricity")
    assert found["sales"] == pytest.approx(0.16, abs=0.05)
    assert found["revenue"] == pytest.approx(0.16, abs=0.05)
    assert found["industrial_sales"] < 0.25
    assert "temperature" not in found


@reads("data/housing.csv")
def test_of_the_public_table_of_housing_columns_of_the_town_are_named(admin: TestClient) -> None:
    found = weak(admin, pc.read_csv(SHARED / "data/housing.csv"), "housing")
    expected = {"tax": 0.16, "nox": 0.24, "indus": 0.25, "dis": 0.25, "ptratio": 0.31, "crim": 0.37}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=0.05)


def test_a_normal_table_is_not_flagged(admin: TestClient) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(3_000, 5)) @ rng.normal(size=(5, 5))
    assert not weak(admin, pa.table({f"n{j}": x for j, x in enumerate(values.T)}), "normal")
