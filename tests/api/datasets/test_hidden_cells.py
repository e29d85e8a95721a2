"""What was hidden in a workbook and read all the same is told in every answer to a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from openpyxl.worksheet.worksheet import Worksheet

from tests.api.conftest import Service
from tests.tables.sheets.workbooks import xlsx


def workbook(seed: int, *rows: int, column: str | None = None) -> bytes:
    def hide(sheet: Worksheet) -> None:
        for row in rows:
            sheet.row_dimensions[row].hidden = True
        if column is not None:
            sheet.column_dimensions[column].hidden = True

    cells = [[one + seed / 7, (one * one + seed) % 97 + 0.5] for one in range(60)]
    return xlsx([["pay", "age"], *cells], hide)


def warnings(answer: Any) -> list[tuple[str, str | None]]:
    assert answer.is_success, answer.text
    return [(one["type"], one["column"]) for one in answer.json()["warnings"]]


def test_sent_tables_are_answered_with_what_was_hidden(admin: TestClient) -> None:
    body = workbook(1, 5, 6, column="B")
    told = [("hidden-rows", None), ("hidden-columns", "age")]
    tried = admin.post("/v1/datasets", params={"name": "a", "dry_run": "true"}, content=body)
    assert warnings(tried) == told
    made = admin.post("/v1/datasets", params={"name": "a"}, content=body)
    assert warnings(made) == told
    assert "2 rows, the first of them row 5" in made.json()["warnings"][0]["detail"]
    assert made.json()["rows"] == 60
    rows = f"/v1/datasets/{made.json()['id']}/rows"
    assert warnings(admin.post(rows, content=workbook(2))) == []
    more = admin.post(rows, content=workbook(3, 9))
    assert warnings(more) == [("hidden-rows", None)]


def test_every_file_of_an_import_tells_what_it_hid(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> None:
    root = tmp_path / "incoming"
    root.mkdir()
    for seed in range(3):
        body = workbook(seed, *([7] if seed else []))
        (root / f"part-{seed}.xlsx").write_bytes(body)
    client = start_service(sqlite_database, IMPORT_ROOTS=str(root)).client()
    made = client.post("/v1/datasets", params={"name": "a"}, json={"source": "*.xlsx"})
    assert warnings(made) == [("hidden-rows", None)] * 2
    assert ["part-1.xlsx" in one["detail"] for one in made.json()["warnings"]] == [True, False]
