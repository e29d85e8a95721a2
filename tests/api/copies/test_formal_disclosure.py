"""What recipients can fetch under formal protection depends on the rows by the copies alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.copies.copy_tables import ARROW, CSV, JSON, PARQUET, as_parquet, issue, rows_of
from tests.api.copies.test_formal import CITIES, DECLARED
from tests.api.delta.shares import reader
from tests.api.sharing.agreements.negotiations import Parties
from tests.draws import Draws

SEVERAL = {
    **DECLARED,
    "grade": {"kind": "categorical", "categories": ["1", "2", "9"], "other": "9"},
    "seen": {"kind": "datetime", "lower": "2020-01-01", "upper": "2021-01-01"},
    "born": {"kind": "date", "lower": "1900-01-01", "upper": "2030-01-01"},
}
Body = dict[str, Any]
"""Content and headers of a table."""

FLEETING = {
    *("created_at", "issued_at", "expires_at", "changed_at", "finalized_at", "at", "@value", "url"),
    *("starts_at", "expirationTimestamp"),
    *("request_id", "x-request-id", "terms", "hash", "previous_hash", "log_hash"),
}
"""Moments, ids of requests, and hashes of these; a recipient sees no hash but those of its agreements."""

OF_THE_CONTENT = {
    *("content", "etag", "checksum", "sha256", "content-length", "size", "size_bytes"),
    *("stats", "statistics", "repr-digest", "id", "name"),
}
"""What follows from released rows alone, for whoever has them."""


@dataclass
class Stage:
    """A service whose draws repeat, with an owner and a recipient."""

    service: Service
    owner_id: str
    owner: TestClient
    recipient_id: str
    recipient: TestClient


@pytest.fixture
def stages(
    start_service: Callable[..., Service],
    sqlite_template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], Stage]:
    """Make one more service with the same draws."""
    made: list[Path] = []

    def stage() -> Stage:
        made.append(tmp_path / f"{len(made)}.sqlite")
        shutil.copyfile(sqlite_template, made[-1])
        draws = Draws()
        for module in ("app.service.datasets.secrets.os", "app.service.context.secrets"):
            monkeypatch.setattr(module, draws)
        service = start_service(f"sqlite:///{made[-1]}")
        return Stage(service, *service.principal("owner"), *service.principal("recipient"))

    return stage


def fetched(stage: Stage, rows: Body, more: Body) -> tuple[list[Any], pa.Table]:
    """All answers that a recipient gets of these rows once more of them came and one went; and the copy."""
    params = {"name": "people", "protection": "formal", "columns": json.dumps(SEVERAL)}
    made = stage.owner.post("/v1/datasets", params=params, **rows)
    assert made.status_code == 201, made.text
    dataset = made.json()["id"]
    at = f"/v1/datasets/{dataset}"
    stage.owner.patch(at, json={"listed": True})
    stage.owner.put(f"{at}/levels/c", json={"noise_variance": 0.5, "offered": True})
    issue(stage.owner, dataset, level="c")
    stage.owner.put(f"{at}/grants/{stage.recipient_id}", json={"level": "c"})
    copy = issue(stage.recipient, dataset, level="c")["id"]
    two = Parties(
        stage.service, stage.owner_id, stage.owner, stage.recipient_id, stage.recipient, dataset
    )
    agreement = two.finalized(items=[{"dataset": dataset, "level": "c"}])["id"]
    added = stage.owner.post(f"{at}/rows", **more)
    assert added.status_code == 201, added.text
    assert stage.owner.request("DELETE", f"{at}/rows", json={"rows": [1]}).is_success
    answers = [*_answers(stage, dataset, copy, agreement)]
    share = reader(two, agreement)
    answers.append([share.version(f"{dataset}.c")])
    lines = share.query(f"{dataset}.c")
    answers.append(lines)
    return answers, rows_of(stage.recipient, copy)


def _answers(stage: Stage, dataset: str, copy: str, agreement: str) -> Iterator[Any]:
    recipient, at, of = stage.recipient, f"/v1/datasets/{dataset}", f"/v1/copies/{copy}"
    told = [
        *(
            recipient.get(one)
            for one in (at, "/v1/datasets", f"{at}/levels", f"{at}/history", f"{at}/ledger")
        ),
        *(
            recipient.get(one)
            for one in (of, f"{of}/noise", "/v1/catalogue", f"/v1/catalogue/{dataset}")
        ),
        *(
            recipient.get(f"/v1/agreements/{agreement}{one}")
            for one in ("", "/log", "/deliveries", "/policy")
        ),
        recipient.get(f"{at}/rows/pending"),
        recipient.post(f"{at}/preview", json={"levels": ["c"]}),
        recipient.post(f"{at}/audits", json={"levels": ["c"]}),
        recipient.post(f"{at}/rows", content=b"age\n1\n", headers={"content-type": CSV}),
        recipient.put(f"{at}/columns", json={"age": "numeric"}),
        recipient.post(f"{at}/copies", json={"noise_variance": 0.1}),
        recipient.post(f"{at}/copies", json={"level": "d"}),
        recipient.get(f"{of}/content", headers={"accept": CSV}, params={"columns": "note"}),
        recipient.get(f"{of}/content", headers={"accept": CSV}, params={"rows": "900:1000"}),
    ]
    files = recipient.post(f"{of}/files", json={})
    yield files.status_code, files.json()
    for answer in told:
        yield (
            answer.status_code,
            answer.json() if answer.headers["content-type"].endswith("json") else None,
        )
    for accept in (ARROW, PARQUET, CSV, JSON):
        answer = recipient.get(f"{of}/content", headers={"accept": accept})
        yield {**answer.headers, "status": answer.status_code, "content": answer.content}


def differences(one: Any, other: Any, apart: set[str] = FLEETING, place: str = "") -> Iterator[str]:
    """Where two answers differ, members of the names `apart` not looked at."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in (one.keys() | other.keys()) - apart:
            yield from differences(one.get(name), other.get(name), apart, f"{place}/{name}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for number, (first, second) in enumerate(zip_longest(one, other)):
            yield from differences(first, second, apart, f"{place}/{number}")
    elif one != other:
        yield place


def body(rows: pa.Table) -> Body:
    return {"content": as_parquet(rows), "headers": {"content-type": PARQUET}}


def as_it_came(rows: int, seed: int) -> Body:
    """Rows of all kinds as a CSV, some cells of which are missing, beyond bounds or not in a list."""
    rng = np.random.default_rng(seed)
    lines = ["age,income,city,country,note,grade,seen,born,more"]
    for row in range(rows):
        age = ("-50", "500", "", "20")[row % 4]
        income = ("1e9", "20.5", "3")[row % 3]
        city = ("Rome", "Atlantis", "")[row % 3]
        grade = ("1", "02", "2")[row % 3]
        seen = ("2020-03-01 00:00:00", "2022-05-05 13:30:00")[row % 2]
        born = ("31.12.1999", "", "01.02.2040")[row % 3]
        lines.append(
            f"{age},{income},{city},Peru,n{seed}-{row},{grade},{seen},{born},{rng.random()}"
        )
    return {"content": "\n".join(lines).encode(), "headers": {"content-type": CSV}}


def as_it_is_held(rows: int, seed: int) -> pa.Table:
    """The same rows within the declaration, with one column fewer."""
    of = range(rows)
    return pa.table(
        {
            "age": [(0, 128, 64, 20)[row % 4] for row in of],
            "income": [(2.0**18, 20.5, 3.0)[row % 3] for row in of],
            "city": [("Rome", "elsewhere", "elsewhere")[row % 3] for row in of],
            "country": ["Norway"] * rows,
            "note": [f"other {seed} {row}" for row in of],
            "grade": [(1, 9, 2)[row % 3] for row in of],
            "seen": [("2020-03-01", "2021-01-01")[row % 2] for row in of],
            "born": [("1999-12-31", "1965-01-01", "2030-01-01")[row % 3] for row in of],
        }
    )


def test_rows_that_are_held_to_the_same_are_the_same_to_the_byte(
    stages: Callable[[], Stage],
) -> None:
    raw, held = (
        fetched(stages(), *bodies)[0]
        for bodies in (
            (as_it_came(90, 1), as_it_came(7, 2)),
            (body(as_it_is_held(90, 1)), body(as_it_is_held(7, 2))),
        )
    )
    assert [*differences(raw, held)] == []


def any_rows(rows: int, seed: int) -> pa.Table:
    """Rows within the declaration; bounds, middles and whole numbers lie on the grid."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(0, 129, rows).astype(float),
            "income": rng.integers(0, 256, rows) * 1024.0,
            "city": rng.choice(CITIES, rows),
            "country": ["Norway"] * rows,
            "note": [f"{seed} {row}" for row in range(rows)],
            "grade": rng.choice(["1", "2", "9"], rows),
            "seen": rng.choice(["2020-03-01T08:00:00", "2020-12-24T18:30:00"], rows),
            "born": rng.choice(["1999-12-31", "1965-01-01"], rows),
        }
    )


def corner_rows(rows: int, seed: int) -> pa.Table:
    """Rows that are nearly all alike, at ends of bounds and lists and beyond, with gaps."""
    return pa.table(
        {
            "age": [1e9] * rows,
            "income": [None if row % 7 else 0.0 for row in range(rows)],
            "city": ["nowhere"] * rows,
            "country": pa.nulls(rows, pa.string()),
            "note": [f"{seed} {row}" for row in range(rows)],
            "grade": [9] * rows,
            "seen": ["2030-01-01"] * rows,
            "born": ["1800-01-01"] * rows,
        }
    )


def test_of_other_rows_nothing_shows_but_themselves_under_the_same_noise(
    stages: Callable[[], Stage],
) -> None:
    (answers, shown), (other_answers, other_shown) = (
        fetched(stages(), body(made(90, 1)), body(made(7, 2))) for made in (any_rows, corner_rows)
    )
    assert [*differences(answers, other_answers, FLEETING | OF_THE_CONTENT)] == []
    assert shown.schema == other_shown.schema
    rows, others = (
        pa.concat_tables([made(90, 1), made(7, 2)]).take([0, *range(2, 97)])
        for made in (any_rows, corner_rows)
    )
    held = {"age": np.full(96, 128.0), "income": others["income"].fill_null(2.0**17).to_numpy()}
    for name, other in held.items():
        noise = shown[name].to_numpy() - rows[name].to_numpy()
        assert (noise == other_shown[name].to_numpy() - other).all()
        assert len(set(noise.tolist())) > 48
    for name, other in {"city": "elsewhere", "grade": "9"}.items():
        pairs = zip(shown[name].to_pylist(), other_shown[name].to_pylist(), strict=True)
        replaced = [one == two != other for one, two in pairs]
        own = [two == other for two in other_shown[name].to_pylist()]
        assert all(np.logical_or(replaced, own))
        assert any(replaced)
