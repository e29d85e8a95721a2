"""Tables of many columns and megabytes come in by every door."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient

from tests.api.conftest import Service

COLUMNS = 130


def wide(seed: int, size: int = 2_200_000) -> tuple[bytes, int]:
    """A CSV of some more than `size` bytes, and its rows."""
    rows = size // (18 * COLUMNS)
    numbers = np.random.default_rng(seed).normal(size=(rows, COLUMNS)).tolist()
    lines = [",".join(f"c{place}" for place in range(COLUMNS))]
    lines += [",".join(map(repr, row)) for row in numbers]
    return "\n".join(lines).encode(), rows


def test_a_wide_csv_is_tried_registered_and_appended_to(admin: TestClient) -> None:
    body, rows = wide(1)
    assert len(body) > 2**21
    tried = admin.post("/v1/datasets", params={"name": "wide", "dry_run": "true"}, content=body)
    assert tried.status_code == 200, tried.text
    assert len(tried.json()["columns"]) == COLUMNS
    packed = {"Content-Encoding": "gzip"}
    made = admin.post(
        "/v1/datasets", params={"name": "wide"}, content=gzip.compress(body, 1), headers=packed
    )
    assert made.status_code == 201, made.text
    assert made.json()["rows"] == rows
    more, further = wide(2)
    appended = admin.post(f"/v1/datasets/{made.json()['id']}/rows", content=more)
    assert appended.is_success, appended.text
    again = admin.get(f"/v1/datasets/{made.json()['id']}").json()
    assert again["rows"] == rows + further


def test_a_wide_csv_is_imported(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> None:
    root = tmp_path / "incoming"
    root.mkdir()
    body, rows = wide(3)
    (root / "wide.csv").write_bytes(body)
    client = start_service(sqlite_database, IMPORT_ROOTS=str(root)).client()
    made = client.post("/v1/datasets", params={"name": "wide"}, json={"source": "wide.csv"})
    assert made.status_code == 201, made.text
    assert made.json()["rows"] == rows


def test_a_packed_body_without_its_header_is_read(admin: TestClient) -> None:
    """Also where the Content-Type says JSON, of which a registration looks at the beginning."""
    body = gzip.compress(b"n,kind\n" + b"".join(b"%d.5,a%d\n" % (n, n % 3) for n in range(60)))
    for content_type in ("text/csv", "application/json", "application/gzip"):
        answer = admin.post(
            "/v1/datasets",
            params={"name": "packed", "dry_run": "true"},
            content=body,
            headers={"Content-Type": content_type},
        )
        assert answer.status_code == 200, answer.text
