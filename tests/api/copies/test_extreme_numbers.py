"""Numbers near the ends of the doubles have noise of their size, or are refused by name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.copies.copy_tables import issue, register, rows_of


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150, 5e152])
def test_numbers_of_any_size_stand_beside_gaps_and_categories(
    admin: TestClient, scale: float
) -> None:
    """Products of four of them exceed the doubles, in sums that only rows with gaps need."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=300)
    table = pa.table(
        {
            "gappy": pa.array([None if i % 20 == 0 else float(v) for i, v in enumerate(x)]),
            "far": scale * (2.0 + rng.normal(size=300)),
            "near": 1e6 * rng.normal(size=300),
            "flag": [("t", "f")[i % 2] for i in range(300)],
        }
    )
    dataset = register(admin, table, columns=None)
    level = admin.put(f"/v1/datasets/{dataset}/levels/half", json={"privacy": 0.5})
    assert level.status_code == 200, level.text
    copy = issue(admin, dataset, level="half")["id"]
    noise = (rows_of(admin, copy)["far"].to_numpy() - table["far"].to_numpy()) / scale
    assert 0.8 < noise.std() < 1.3
