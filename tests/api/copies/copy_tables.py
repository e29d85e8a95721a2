"""Tables and steps that the tests of copies share."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from app.service.copies import levels as service_levels

CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
ARROW, JSON = "application/vnd.apache.arrow.stream", "application/json"


def mixed_table(rows: int, seed: int = 0) -> pa.Table:
    """An identifier, three correlated numbers (one whole, one with gaps), a category, a note."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    income = 1_000 + 30 * age + rng.gamma(2.0, 300.0, rows)
    score = rng.normal(size=rows) + age / 50
    score[rng.random(rows) < 0.1] = np.nan
    return pa.table(
        {
            "person": pa.array([f"p{seed}-{row}" for row in range(rows)]),
            "age": pa.array(age),
            "income": pa.array(income),
            "score": pa.array(score, from_pandas=True),
            "city": pa.array(rng.choice(["Rome", "Oslo", "Bern"], rows, p=[0.5, 0.3, 0.2])),
            "batch": pa.array(np.arange(rows) % 7),
        }
    )


COLUMNS = '{"batch": "passthrough", "person": "identifier"}'


def as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def as_csv(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue()


def register(
    client: TestClient,
    table: pa.Table,
    *,
    name: str = "people",
    columns: str | None = COLUMNS,
    levels: bool = True,
) -> str:
    """Register the table and define four levels, without the attacks of their advice; the data set's id."""
    params = {"name": name, "allow_overlap": "true"} | (
        {"columns": columns} if columns is not None else {}
    )
    made = client.post(
        "/v1/datasets", params=params, content=as_parquet(table), headers={"content-type": PARQUET}
    )
    assert made.status_code == 201, made.text
    dataset: str = made.json()["id"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service_levels, "advise", lambda *_: None)
        for level, variance in {"a": 0.25, "b": 0.5, "c": 1.0, "d": 4.0}.items() if levels else ():
            address = f"/v1/datasets/{dataset}/levels/{level}"
            put = client.put(address, json={"noise_variance": variance})
            assert put.status_code == 200, put.text
    return dataset


def append(client: TestClient, dataset: str, table: pa.Table, **params: str) -> None:
    answer = try_append(client, dataset, table, **params)
    assert answer.status_code == 201, answer.text


def append_now(client: TestClient, dataset: str, table: pa.Table, **params: str) -> None:
    """Append rows and have them in copies at once, however few they are."""
    append(client, dataset, table, **params)
    answer = client.post(f"/v1/datasets/{dataset}/rows/close")
    assert answer.status_code == 201, answer.text


def try_append(client: TestClient, dataset: str, table: pa.Table, **params: str) -> Any:
    return client.post(
        f"/v1/datasets/{dataset}/rows",
        params=params,
        content=as_parquet(table),
        headers={"content-type": PARQUET},
    )


def issue(client: TestClient, dataset: str, **form: Any) -> Any:
    answer = client.post(f"/v1/datasets/{dataset}/copies", json=form)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def content(client: TestClient, copy: str, accept: str = ARROW, **params: Any) -> Any:
    return client.get(f"/v1/copies/{copy}/content", params=params, headers={"accept": accept})


def rows_of(client: TestClient, copy: str, accept: str = ARROW, **params: Any) -> pa.Table:
    """The downloaded table, read from whichever format."""
    answer = content(client, copy, accept, **params)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(accept)
    match accept:
        case "text/csv":
            return pyarrow.csv.read_csv(io.BytesIO(answer.content))
        case "application/vnd.apache.parquet":
            return pq.read_table(io.BytesIO(answer.content))
        case "application/vnd.apache.arrow.stream":
            return pa.ipc.open_stream(answer.content).read_all()
    return pa.table(answer.json()["columns"])


def copy_database(source: str, target: str) -> None:
    """Back up, or restore, one SQLite database over another, both by URL."""
    with (
        closing(sqlite3.connect(source.removeprefix("sqlite:///"))) as old,
        closing(sqlite3.connect(target.removeprefix("sqlite:///"))) as new,
    ):
        old.backup(new)
