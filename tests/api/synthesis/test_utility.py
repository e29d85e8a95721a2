"""The utility report over HTTP: JSON, page and pictures, and forms that do not fit."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.tables.table_bodies import as_csv, as_parquet


def table(seed: int = 1, n: int = 120) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pa.table(
        {
            "x": x,
            "cost in $_{y}$": x + rng.normal(size=n),
            "<b>group</b>": np.where(x > 0, "<script>", "日本"),
        }
    )


def post(
    client: TestClient, accept: str = "application/json", holdout: bool = False, **params: Any
) -> Any:
    files = {
        "original": ("original.csv", as_csv(table()), "text/csv"),
        "released": ("released.parquet", as_parquet(table(2)), "application/octet-stream"),
    }
    if holdout:
        files["holdout"] = ("holdout.csv", as_csv(table(3)), "text/csv")
    return client.post("/v1/utility", params=params, files=files, headers={"accept": accept})


def test_two_tables_of_different_formats_are_compared(admin: TestClient) -> None:
    response = post(admin, holdout=True, target="<b>group</b>", seed=5)
    assert response.status_code == 200, response.text
    assert response.headers["x-cornerwave-seed"] == "5"
    report = response.json()
    assert (report["original_records"], report["released_records"]) == (120, 120)
    assert [one["kind"] for one in report["columns"]] == ["numeric", "numeric", "categorical"]
    assert report["leakage"]["holdout"]["exactly"]["count"] == 0
    assert report["prediction"]["trained_on_release"] > 0.7
    again = post(admin, holdout=True, target="<b>group</b>", seed=5)
    assert again.json() == report


class Outside(HTMLParser):
    """Collects what a page would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "iframe", "b"):
            self.found.append(tag)
        for name, value in attrs:
            local = (value or "").startswith(("data:", "#"))
            if name in ("src", "href", "xlink:href") and not local:
                self.found.append(f"{tag} {name}={value}")


def test_the_page_is_complete_in_itself_and_escapes_what_it_shows(admin: TestClient) -> None:
    response = post(admin, "text/html", holdout=True, target="x")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")
    page = response.text
    outside = Outside()
    outside.feed(page)
    assert outside.found == []
    assert "&lt;b&gt;group&lt;/b&gt;" in page
    assert "data:image/png;base64," in page
    assert "<svg" in page
    assert "Excess over the holdout" in page
    assert "Predicting x" in page


@pytest.mark.parametrize("picture", ["pairs", "marginals"])
def test_pictures_are_drawn_the_same_every_time(admin: TestClient, picture: str) -> None:
    response = post(admin, "image/png", picture=picture)
    assert response.status_code == 200, response.text
    assert response.content.startswith(b"\x89PNG")
    first, again = (post(admin, "image/svg+xml", picture=picture) for _ in range(2))
    assert first.headers["content-type"] == "image/svg+xml"
    assert first.content == again.content


def test_tables_without_numbers_and_constant_columns_are_shown_too(admin: TestClient) -> None:
    for body in ("city\nRome\nOslo\n", "x,y\n1,2\n1,3\n"):
        files = {part: (f"{part}.csv", body, "text/csv") for part in ("original", "released")}
        assert admin.post("/v1/utility", files=files).status_code == 200
        page = admin.post("/v1/utility", files=files, headers={"accept": "text/html"})
        assert page.status_code == 200, page.text


def test_forms_that_do_not_fit_are_clear_problems(service: Service, admin: TestClient) -> None:
    original = {"original": ("a.csv", as_csv(table()), "text/csv")}
    missing = admin.post("/v1/utility", files=original)
    assert missing.status_code == 422
    assert missing.json()["parameter"] == "released"
    foreign = original | {"released": ("b.csv", "z\n1\n", "text/csv")}
    assert admin.post("/v1/utility", files=foreign).json()["type"] == "/problems/invalid-table"
    text = original | {"released": ("b.csv", "x\na\n", "text/csv; header=present")}
    assert admin.post("/v1/utility", files=text).json()["column"] == "x"
    assert post(admin, target="nothing").json()["parameter"] == "target"
    assert post(admin, "text/csv").status_code == 406
    assert admin.post("/v1/utility", json={}).status_code == 415
    assert post(service.client(None)).status_code == 401
