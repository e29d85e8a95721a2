"""Downloads for browsers have no cell that a spreadsheet would run."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service

TABLE = b'age,note\n1,"=HYPERLINK(1)"\n2,"=HYPERLINK(1)"\n3,-4\n4,-4\n'
CSV = {"content-type": "text/csv"}
BROWSER = {"Sec-Fetch-Mode": "navigate", "Accept": "text/html,*/*;q=0.8"}


@pytest.fixture
def copy(service: Service) -> str:
    admin = service.client()
    kinds = '{"note": "passthrough"}'
    made = admin.post(
        "/v1/datasets", params={"name": "a", "columns": kinds}, content=TABLE, headers=CSV
    )
    path = f"/v1/datasets/{made.json()['id']}"
    assert admin.put(f"{path}/levels/a", json={"noise_variance": 1}).is_success
    return str(admin.post(f"{path}/copies", json={"level": "a"}).json()["id"])


def notes(admin: TestClient, copy: str, headers: dict[str, str], **params: str) -> list[str]:
    answer = admin.get(f"/v1/copies/{copy}/content", headers=headers, params=params)
    assert answer.status_code == 200
    return [line.partition(",")[2] for line in answer.text.splitlines()[1:]]


def test_browsers_get_safe_csv_unless_they_say_otherwise(admin: TestClient, copy: str) -> None:
    safe = ["'=HYPERLINK(1)"] * 2 + ["-4"] * 2
    plain = ["=HYPERLINK(1)"] * 2 + ["-4"] * 2
    anyone = {"Accept": "text/csv"}
    assert notes(admin, copy, anyone) == plain
    assert notes(admin, copy, anyone, csv="safe") == safe
    assert notes(admin, copy, BROWSER) == safe
    assert notes(admin, copy, {"Accept": "text/html, text/csv"}) == safe
    assert notes(admin, copy, BROWSER, csv="plain") == plain


def test_safe_bytes_have_an_etag_of_their_own(admin: TestClient, copy: str) -> None:
    path = f"/v1/copies/{copy}/content"
    plain, safe = (admin.get(path, params={"csv": one}) for one in ("plain", "safe"))
    assert plain.headers["etag"] != safe.headers["etag"]
    numbers = [[line.partition(",")[0] for line in one.text.splitlines()] for one in (plain, safe)]
    assert numbers[0] == numbers[1]
