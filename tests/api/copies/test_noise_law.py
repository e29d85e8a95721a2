"""The public noise law: who may see it, of which rows and columns, and that it is the law of what is released."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, issue, register, rows_of

ROWS = 4_000
KINDS = {"town": "categorical", "band": "categorical"}


def table(rows: int, *, scale: float, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    height = rng.normal(170, 10 * scale, rows)
    weight = 0.5 * height + rng.normal(0, 6 * scale, rows)
    return pa.table(
        {
            "height": height,
            "weight": weight,
            "town": [f"t{one}" for one in rng.integers(0, 6, rows)],
            "band": [f"b{one}" for one in rng.integers(0, 3, rows)],
        }
    )


def test_it_is_the_law_of_the_released_rows_of_every_part(service: Service) -> None:
    owner = service.client()
    first, later = table(ROWS, scale=1.0, seed=1), table(ROWS, scale=3.0, seed=2)
    dataset = register(owner, first, columns=json.dumps(KINDS))
    copy = issue(owner, dataset, noise_variance=1.0)["id"]
    append(owner, dataset, later)
    law = owner.get(f"/v1/copies/{copy}/noise").json()
    assert (law["columns"], law["records"]) == (["height", "weight"], ["town", "band"])
    assert law["column_event_rate"] == 0.25
    assert [part["rows"] for part in law["parts"]] == [[[0, ROWS]], [[ROWS, 2 * ROWS]]]
    released = rows_of(owner, copy)
    for part, original in zip(law["parts"], (first, later), strict=True):
        shown = released.slice(part["rows"][0][0], ROWS)
        noise = np.array(
            [shown[name].to_numpy() - original[name].to_numpy() for name in law["columns"]]
        )
        covariance = np.array(part["covariance"])
        # The standard error of a sample variance is √(2/n); a tenth more or less noise is told apart.
        scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        error = np.abs(np.cov(noise) - covariance) / scale
        assert error.max() < 4 * np.sqrt(2 / ROWS)
        q = part["kept_share"]
        assert q == pytest.approx(1 / (1 + part["applied_variance"]))
        for name in law["records"]:
            own = np.array(shown[name].to_pylist()) == np.array(original[name].to_pylist())
            kept = q ** (1 + law["column_event_rate"])
            shares = np.unique(original[name].to_pylist(), return_counts=True)[1] / ROWS
            by_chance = float((shares**2).sum())
            expected = kept + (1 - kept) * by_chance
            assert own.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / ROWS))


def test_who_knows_all_other_rows_of_a_part_does_not_learn_the_last_from_its_law(
    service: Service,
) -> None:
    """Two colleagues whose rows were closed as a part, and the last of thirty."""
    owner = service.client()
    recipient_id, recipient = service.principal("recipient")
    rng = np.random.default_rng(5)
    staff = rng.normal(3_000, 500, (500, 2))
    own = rng.normal(3_000, 2_000, (29, 2))

    def law_with(last: float, rows: int) -> list[object]:
        salaries = np.vstack([own[: rows - 1], [last, 3_100.0]])
        name = f"{rows} rows, {last}"
        dataset = register(owner, _salaries(staff), name=name, columns=None)
        copy = issue(owner, dataset, level="c")["id"]
        owner.put(f"/v1/datasets/{dataset}/grants/{recipient_id}", json={"level": "c"})
        append(owner, dataset, _salaries(salaries))
        owner.post(f"/v1/datasets/{dataset}/rows/close")
        shown = recipient.get(f"/v1/copies/{copy}").json()["applied_variance"]
        return [recipient.get(f"/v1/copies/{copy}/noise").json()["parts"], shown]

    for rows, candidates in ((2, (28_000.0, 36_000.0)), (30, (6_000.0, 6_100.0))):
        one, other = (law_with(last, rows) for last in candidates)
        assert one == other
        # The control: a row far from these is told, as all noise of its part is larger for it.
        assert law_with(500_000.0, rows) != one


def _salaries(values: np.ndarray) -> pa.Table:
    return pa.table({"salary": values[:, 0], "paid": values[:, 1]})


def test_a_recipient_sees_the_columns_of_its_grant_unless_the_owner_keeps_the_law_back(
    service: Service,
) -> None:
    owner = service.client()
    dataset = register(owner, table(300, scale=1.0, seed=3), columns=json.dumps(KINDS))
    copy = issue(owner, dataset, level="c")["id"]
    recipient_id, recipient = service.principal("recipient")
    url = f"/v1/copies/{copy}/noise"
    assert recipient.get(url).status_code == 404
    grant = {"level": "c", "columns": ["weight", "town"]}
    owner.put(f"/v1/datasets/{dataset}/grants/{recipient_id}", json=grant)
    law, whole = recipient.get(url).json(), owner.get(url).json()
    assert (law["columns"], law["records"]) == (["weight"], ["town"])
    assert law["parts"][0]["covariance"] == [[whole["parts"][0]["covariance"][1][1]]]
    assert owner.patch(f"/v1/datasets/{dataset}", json={"publish_noise": False}).is_success
    assert recipient.get(url).status_code == 404
    assert recipient.get(f"/v1/copies/{copy}").json()["applied_variance"] is None
    estimate = {"copy_id": copy, "column": "weight"}
    refused = recipient.post("/v1/distributions/estimate", json=estimate)
    assert (refused.status_code, refused.json()["type"]) == (404, "/problems/not-found")
    assert owner.post("/v1/distributions/estimate", json=estimate).is_success
    assert owner.get(url).json() == whole
