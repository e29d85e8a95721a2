"""Empty rows that were left out at the end of a CSV are told in every answer to a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from tests.api.conftest import Service


def spreadsheet(seed: int, empty: int) -> bytes:
    rows = [f"{one + seed / 7},{(one * one + seed) % 97 + 0.5}" for one in range(60)]
    return "\n".join(["pay,age", *rows, *[","] * empty, ""]).encode()


def warnings(answer: Any) -> list[str]:
    assert answer.is_success, answer.text
    return [one["type"] for one in answer.json()["warnings"]]


def test_sent_tables_are_answered_with_the_empty_rows_that_were_left_out(admin: TestClient) -> None:
    body = spreadsheet(1, empty=3)
    tried = admin.post("/v1/datasets", params={"name": "a", "dry_run": "true"}, content=body)
    assert warnings(tried) == ["empty-rows"]
    made = admin.post("/v1/datasets", params={"name": "a"}, content=body)
    assert warnings(made) == ["empty-rows"]
    assert "3 rows in which every field is empty" in made.json()["warnings"][0]["detail"]
    assert made.json()["rows"] == 60
    rows = f"/v1/datasets/{made.json()['id']}/rows"
    assert warnings(admin.post(rows, content=spreadsheet(2, empty=0))) == []
    assert warnings(admin.post(rows, content=spreadsheet(3, empty=1))) == ["empty-rows"]


def test_every_file_of_an_import_tells_its_empty_rows(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> None:
    root = tmp_path / "incoming"
    root.mkdir()
    for seed in range(3):
        (root / f"part-{seed}.csv").write_bytes(spreadsheet(seed, empty=seed))
    client = start_service(sqlite_database, IMPORT_ROOTS=str(root)).client()
    made = client.post("/v1/datasets", params={"name": "a"}, json={"source": "*.csv"})
    assert warnings(made) == ["empty-rows", "empty-rows"]
    assert ["part-1.csv" in one["detail"] for one in made.json()["warnings"]] == [True, False]
    assert made.json()["rows"] == 180
