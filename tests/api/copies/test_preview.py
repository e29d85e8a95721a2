"""Previews over HTTP: what levels would risk and keep, without a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import inspect, text

from app.model import Principal, Role
from app.numerics.utility.models import halves, regression_score, tree_score
from app.numerics.utility.prediction import PredictionTarget
from app.service.context import RequestContext
from app.service.copies.preview.run import USUAL_PRIVACIES, PreviewParams, preview_levels
from app.service.progress import Cancelled, Progress
from app.tables.arrays.mixed import encoded, vocabulary
from tests.api.conftest import Service
from tests.api.copies.copy_tables import COLUMNS, issue, mixed_table, register, rows_of

NUMBERS = ["age", "income", "score"]


def previewed(client: TestClient, dataset: str, **form: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/datasets/{dataset}/preview", json=form)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_without_levels_seven_usual_ones_are_shown(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(1_500))
    found = previewed(admin, dataset, target="city")
    assert [level["privacy"] for level in found["levels"]] == list(USUAL_PRIVACIES)
    assert found["rows"] == found["rows_compared"] == found["rows_attacked"] == 1_500
    for level in found["levels"]:
        assert level["risk"]["verdict"] == "ok", level["risk"]["summary"]
        assert len(level["risk"]["findings"]) == 5
        assert level["advice"]["applied_variance"] >= level["noise_variance"]
        assert [one["column"] for one in level["utility"]["means"]] == NUMBERS
        assert [one["column"] for one in level["utility"]["tables"]] == ["city"]
        assert level["utility"]["tree"]["target"] == "city"
        assert [one["column"] for one in level["examples"]] == ["age", "city", "income"]
    recovered = [level["risk"]["recovered"] for level in found["levels"]]
    assert recovered == sorted(recovered, reverse=True)
    assert {one["analysis"] for one in found["recommendations"]} >= {
        "every mean within 1 %",
        "every correlation within 0.05",
        "a tree for city within 2 points",
    }


def test_nothing_changes_but_the_audit_log(service: Service) -> None:
    client = service.client()
    dataset = register(client, mixed_table(600))
    before, files = _tables(service), _files(service.home)
    log = before.pop("audit_log")
    before.pop("audit_head")  # which names the log's last line
    headers = {"Idempotency-Key": "look"}
    for accept in ("application/json", "text/html", "image/png"):
        answer = client.post(
            f"/v1/datasets/{dataset}/preview",
            json={"levels": ["a", "d"]},
            headers=headers | {"accept": accept},
        )
        assert answer.status_code == 200, answer.text
        assert answer.headers["cache-control"] == "no-store"
    after = _tables(service)
    lines = after.pop("audit_log")
    after.pop("audit_head")
    assert after == before
    assert _files(service.home) == files
    assert len(lines) == len(log) + 3
    told = client.get("/v1/audit-log", params={"limit": 1000}).json()["entries"][-3:]
    assert {line["action"] for line in told} == {"preview.run"}
    assert {tuple(line["facts"].items()) for line in told} == {(("levels", 2),)}
    assert client.get(f"/v1/datasets/{dataset}").json()["frozen"] is False
    assert client.get(f"/v1/datasets/{dataset}/history").json()["entries"] == []


def _tables(service: Service) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    engine = service.app.state.resources.engine
    found: dict[str, list[tuple[Any, ...]]] = {}
    with engine.connect() as connection:
        for name in inspect(engine).get_table_names():
            rows = connection.execute(text(f'SELECT * FROM "{name}"')).all()
            found[name] = sorted(tuple(map(str, row)) for row in rows)
    return found


def _files(home: Path) -> dict[str, bytes]:
    blobs = home / "blobs"
    return {str(path): path.read_bytes() for path in blobs.rglob("*") if path.is_file()}


def test_figures_are_those_of_the_copies_issued_afterwards(admin: TestClient) -> None:
    """Each figure again by other means, on what recipients then have; within sampling error."""
    rows = 6_000
    table = mixed_table(rows)
    columns = COLUMNS[:-1] + ', "age": {"round_to_integer": true, "lower": 0}}'
    dataset = register(admin, table, columns=columns)
    names = {"a": 0.25, "c": 1.0, "d": 4.0}
    found = previewed(admin, dataset, levels=list(names), target="city")
    assert previewed(admin, dataset, levels=list(names), target="city") == found
    for level in found["levels"]:
        copy = issue(admin, dataset, level=level["levels"][0])
        assert level["advice"]["applied_variance"] == pytest.approx(copy["applied_variance"])
        issued = rows_of(admin, copy["id"])
        utility = level["utility"]
        for one in utility["means"]:
            X, Y = _column(table, one["column"]), _column(issued, one["column"])
            there = ~np.isnan(X)
            error = np.std(Y[there] - X[there]) / np.sqrt(there.sum())
            bias = float(np.mean(Y[there] - X[there]))
            assert one["mean"] == pytest.approx(X[there].mean())
            # Preview and copy are two draws: their difference has √2 of the error of one.
            assert bias == pytest.approx(one["bias"], abs=6 * error)
            assert abs(bias) <= one["largest_bias"] + 6 * error
            assert one["spread"] == pytest.approx(np.std(Y[there]) / np.std(X[there]), rel=0.06)
        gap = max(
            abs(_correlation(issued, x, y) - _correlation(table, x, y))
            for x, y in (("age", "income"), ("age", "score"), ("income", "score"))
        )
        assert utility["correlations"]["largest"] == pytest.approx(gap, abs=0.05)
        shares = [_shares(each) for each in (table, issued)]
        distance = sum(abs(shares[0][city] - shares[1][city]) for city in shares[0]) / 2
        assert utility["tables"][0]["distance"] == pytest.approx(distance, abs=0.03)
        # Whatever is drawn, a model trained on it scores alike.
        for name in ("tree", "regression"):
            first = utility[name]
            learnt = _learnt(table, issued, name, first["target"])
            assert first["trained_on_copy"] == pytest.approx(learnt, abs=0.06)


def _learnt(table: pa.Table, issued: pa.Table, model: str, target: str) -> float:
    """The score of a model that is learnt from the copy that was issued."""
    names = ["age", "income", "score", "city"]
    words = {"city": vocabulary(table, "city")}
    known, copied = (
        encoded(one.select(names).cast(pa.schema([(n, _stored(n)) for n in names])), names, words)
        for one in (table, issued)
    )
    rows = halves(len(table), np.random.default_rng(3))
    if model == "regression":
        place = known.numbers.index(target)
        found = regression_score(known.cells, copied.cells, place, rows)
        assert found is not None
        return found.score
    is_number = target in known.numbers
    places = known.numbers if is_number else known.texts
    kind: Literal["numeric", "categorical"] = "numeric" if is_number else "categorical"
    goal = PredictionTarget(kind, places.index(target))
    found = tree_score(known.cells, copied.cells, goal, rows, 3)
    assert found is not None
    return found.score


def _stored(name: str) -> pa.DataType:
    return pa.large_string() if name == "city" else pa.float64()


def _column(table: pa.Table, name: str) -> Any:
    return table.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False)


def _correlation(table: pa.Table, x: str, y: str) -> float:
    X, Y = _column(table, x), _column(table, y)
    there = ~np.isnan(X) & ~np.isnan(Y)
    return float(np.corrcoef(X[there], Y[there])[0, 1])


def _shares(table: pa.Table) -> dict[str, float]:
    counts = table.column("city").value_counts().to_pylist()
    return {one["values"]: one["counts"] / table.num_rows for one in counts}


def test_a_frozen_data_set_is_previewed_as_it_is_frozen(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(800))
    drawn = issue(admin, dataset, level="c")
    found = previewed(admin, dataset, noise_variances=[1.0, 2.0])
    assert found["levels"][0]["levels"] == ["c"]
    assert found["levels"][0]["advice"]["applied_variance"] == drawn["applied_variance"]
    assert len(admin.get(f"/v1/datasets/{dataset}/history").json()["entries"]) == 1


def test_examples_show_the_same_rows_before_and_after(admin: TestClient) -> None:
    table = mixed_table(500)
    dataset = register(admin, table)
    found = previewed(admin, dataset, privacies=[0.5])["levels"][0]["examples"]
    ages = table.column("age").to_pylist()
    assert [float(cell) for cell in found[0]["before"]] == [ages[row] for row in range(0, 500, 100)]
    assert found[0]["after"] != found[0]["before"]
    assert set(found[1]["bins"]) == {"Rome", "Oslo", "Bern"}
    for one in found:
        assert sum(one["shares_before"]) == pytest.approx(1)
        assert sum(one["shares_after"]) == pytest.approx(1)


def test_a_page_and_pictures(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(500))
    begins = {"text/html": b"<!doctype html>", "image/png": b"\x89PNG", "image/svg+xml": b"<?xml"}
    for accept, first in begins.items():
        answer = admin.post(
            f"/v1/datasets/{dataset}/preview",
            json={"privacies": [0.2, 0.5]},
            headers={"accept": accept},
        )
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith(accept)
        assert answer.content.startswith(first)
    answer = admin.post(f"/v1/datasets/{dataset}/preview", json={}, headers={"accept": "text/html"})
    for words in ("The most private level that keeps", "a tree for city within 2 points", "<svg"):
        assert words in answer.text


def test_numbers_alone_and_categories_alone(admin: TestClient) -> None:
    table = mixed_table(400)
    numbers = register(admin, table.select(["age", "income"]), name="n", columns=None)
    found = previewed(admin, numbers, privacies=[0.5])["levels"][0]
    assert found["advice"]["applied_variance"] == found["noise_variance"]
    assert found["utility"]["tables"] == []
    assert found["utility"]["tree"]["measure"] == "R²"
    cities = register(admin, table.select(["city"]), name="c", columns=None)
    found = previewed(admin, cities, privacies=[0.5])["levels"][0]
    assert found["utility"]["means"] == []
    assert found["utility"]["regression"] is None
    assert found["utility"]["tables"][0]["distance"] < 0.1


def test_what_cannot_be_previewed_is_told(service: Service) -> None:
    admin = service.client()
    dataset = register(admin, mixed_table(200))
    url = f"/v1/datasets/{dataset}/preview"
    assert admin.post(url, json={"levels": ["nobody"]}).status_code == 404
    assert admin.post(url, json={"target": "person"}).status_code == 422
    assert admin.post(url, json={"privacies": [i / 50 for i in range(1, 22)]}).status_code == 422
    flat = mixed_table(200).set_column(1, "age", pa.array([30.0] * 200))
    constant = register(admin, flat, name="flat", columns='{"age": "numeric"}')
    told = admin.post(f"/v1/datasets/{constant}/preview", json={})
    assert told.status_code == 409
    assert "constant" in told.json()["detail"]
    _, auditor = service.principal("auditor")
    assert auditor.post(url, json={}).status_code == 403
    recipient_id, recipient = service.principal("recipient")
    assert recipient.post(url, json={}).status_code == 404
    admin.put(f"/v1/datasets/{dataset}/grants/{recipient_id}", json={"level": "a"})
    assert recipient.post(url, json={}).status_code == 403


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[str, int, int]] = []

    def report(self, step: str, done: int, total: int) -> None:
        self.steps.append((step, done, total))
        super().report(step, done, total)


def test_progress_is_told_level_by_level(service: Service) -> None:
    dataset = register(service.client(), mixed_table(300))
    with service.app.state.resources.engine.connect() as connection:
        principal = connection.execute(text("SELECT id, name FROM principals")).first()
    assert principal is not None
    context = RequestContext(Principal(principal.id, principal.name, Role.ADMIN), "rq_1")
    told = Told()
    params = PreviewParams(privacies=(0.2, 0.5, 0.7))
    preview_levels(service.app.state.resources, context, dataset, params, told)
    levels = [(done, total) for step, done, total in told.steps if step == "trying levels"]
    assert levels == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert told.current == ("trying levels", 4, 4)
    told.stop(Cancelled)
    with pytest.raises(Cancelled):
        preview_levels(service.app.state.resources, context, dataset, params, told)


def test_a_level_is_the_same_alone_and_among_others(service: Service) -> None:
    owner = service.client()
    rng = np.random.default_rng(5)
    age = rng.normal(40, 10, 400)
    band = np.where(age < 40, "young", "old")
    dataset = register(owner, pa.table({"age": age, "band": band}), columns=None)
    url = f"/v1/datasets/{dataset}/preview"
    alone = owner.post(url, json={"privacies": [0.5]}).json()["levels"]
    among = owner.post(url, json={"privacies": [0.2, 0.5, 0.8]}).json()["levels"]
    assert alone == [among[1]]
    assert alone[0]["risk"] != among[0]["risk"]
