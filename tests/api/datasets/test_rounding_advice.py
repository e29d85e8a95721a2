"""Advice on a level: which numbers rounding would bring back, and of which a good guess would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.copies.copy_tables import register

ROWS = 2_000


def test_levels_say_what_rounding_would_recover(admin: TestClient) -> None:
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "answer": rng.integers(0, 2, ROWS) * 1.0,
            "age": rng.integers(18, 90, ROWS) * 1.0,
            "size": rng.normal(size=ROWS),
        }
    )
    dataset = register(admin, table, columns='{"answer": "numeric"}')
    url = f"/v1/datasets/{dataset}/levels"

    def rounded(variance: float) -> dict[str, float]:
        answer = admin.put(f"{url}/v{variance}", json={"noise_variance": variance})
        assert answer.status_code == 200, answer.text
        return {one["column"]: one["recovered"] for one in answer.json()["advice"]["rounded"]}

    near = rounded(0.25)
    assert near["answer"] == pytest.approx(0.977, abs=0.003)
    # Within half a year, but for the youngest and the oldest, who are found half of the time.
    assert near["age"] == pytest.approx(0.0383 * 70 / 72 + 0.52 * 2 / 72, abs=0.003)
    far = rounded(25.0)
    assert far.keys() == {"answer", "age"}
    assert far["age"] == pytest.approx(0.0038 * 70 / 72 + 0.5 * 2 / 72, abs=0.003)
    assert far["answer"] == pytest.approx(0.579, abs=0.01)


def test_a_number_of_two_values_is_a_category_unless_the_owner_says_otherwise(
    admin: TestClient,
) -> None:
    table = pa.table({"answer": [0.0, 1.0] * 50, "size": np.arange(100) * 0.5})
    dataset = register(admin, table, columns=None)
    shown = admin.get(f"/v1/datasets/{dataset}").json()["columns"]
    assert [column["kind"] for column in shown] == ["categorical", "numeric"]
    assert "rounded away" in shown[0]["because"]


@pytest.mark.parametrize("seed", range(4))
def test_skewed_numbers_are_named_as_guessable_and_normal_ones_are_not(
    admin: TestClient, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    gained = rng.random(ROWS) < 0.08
    normal = rng.normal(size=(6, ROWS))
    columns = {f"normal{number}": values for number, values in enumerate(normal)}
    gain = np.where(gained, rng.lognormal(8, 1.5, ROWS), 0.0)
    table = pa.table({"capital_gain": gain} | columns)
    dataset = register(admin, table, columns=None)
    for privacy in (0.2, 0.6):
        path = f"/v1/datasets/{dataset}/levels/v{privacy}"
        answer = admin.put(path, json={"privacy": privacy})
        assert answer.status_code == 200, answer.text
        named = {one["column"]: one["left"] for one in answer.json()["advice"]["guessable"]}
        assert named.keys() == {"capital_gain"}
        assert named["capital_gain"] < 0.9 * privacy
