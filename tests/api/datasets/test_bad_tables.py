"""Every bad table is a 4xx problem that names column and row where it can, and nothing is stored.

Bodies that are about how they arrive, over a socket, are in tests/e2e/test_uploads.py.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from app.tables.media import MediaType
from tests.api.conftest import Service, stored_blobs
from tests.tables.table_bodies import as_arrow, as_json, as_parquet

CSV = "text/csv"
SECRET = "hunter2"
GOOD = b"age,city\n30,Rome\n41,Oslo\n"
TABLE = pa.table({"age": [30.0, 41.0], "city": ["Rome", "Oslo"]})


def post(client: TestClient, body: bytes, content_type: str, **headers: str) -> Any:
    return client.post(
        "/v1/datasets",
        params={"name": "bad"},
        content=body,
        headers={"content-type": content_type, **headers},
    )


def refused(response: Any, status: int) -> dict[str, Any]:
    """The problem in the answer, after all that every problem must be was checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "request_id"} <= problem.keys()
    assert SECRET not in response.text
    return problem


def assert_nothing_is_stored(client: TestClient | httpx2.Client, home: Path) -> None:
    assert client.get("/v1/datasets").json()["datasets"] == []
    assert stored_blobs(home) == []
    assert list((home / "spool").iterdir()) == []


WIDE = ",".join(f"c{i}" for i in range(10_001)).encode() + b"\n" + b"1," * 10_000 + b"1\n"
NAN = pa.table({"age": [30.0, float("nan")], "city": ["Rome", "Oslo"]})
INFINITE = pa.table({"age": [30.0, 41.0, float("inf")], "city": ["Rome", "Oslo", "Bern"]})
DEEP = b'{"columns": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"

BAD: dict[str, tuple[bytes, str, int, dict[str, Any]]] = {
    "empty body": (b"", CSV, 422, {}),
    "empty Parquet": (b"", MediaType.PARQUET, 422, {}),
    "empty Arrow": (b"", MediaType.ARROW, 422, {}),
    "empty JSON": (b"", MediaType.JSON, 422, {}),
    "header only": (b"age,city\n", CSV, 422, {}),
    "duplicate names in JSON": (
        b'{"columns": {"age": [1], "age": [2]}}',
        MediaType.JSON,
        422,
        {"column": "age"},
    ),
    "a name with NUL": (b"age,ci\x00ty\n30,Rome\n", CSV, 422, {}),
    "ragged rows, short": (GOOD + b"29\n", CSV, 422, {"row": 3}),
    "ragged rows, long": (GOOD + b"29,Bern,hunter2\n", CSV, 422, {"row": 3}),
    "number, then text": (
        b"age,city\n" + b"1,x\n" * 4_000_000 + b"hunter2,x\n",
        CSV,
        422,
        {"column": "age", "row": 4_000_001},
    ),
    "NaN in CSV": (GOOD + b"NaN,Bern\n", CSV, 422, {"column": "age", "row": 3}),
    "infinity in CSV": (GOOD + b"-inf,Bern\n", CSV, 422, {"column": "age", "row": 3}),
    "NaN in Parquet": (as_parquet(NAN), MediaType.PARQUET, 422, {"column": "age", "row": 2}),
    "NaN in Arrow": (as_arrow(NAN), MediaType.ARROW, 422, {"column": "age", "row": 2}),
    "infinity in Arrow": (as_arrow(INFINITE), MediaType.ARROW, 422, {"column": "age", "row": 3}),
    "NaN in JSON": (b'{"columns": {"age": [NaN]}}', MediaType.JSON, 422, {}),
    "infinity in JSON": (b'{"columns": {"age": [1e999]}}', MediaType.JSON, 422, {}),
    "10,001 columns": (WIDE, CSV, 422, {"columns": 10_001, "limit": 2_000}),
    "wrong content type": (GOOD, "application/x-yaml", 415, {}),
    "a form": (GOOD, "application/x-www-form-urlencoded", 415, {}),
    "a charset that nobody knows": (
        GOOD,
        "text/csv; charset=klingon",
        422,
        {"parameter": "encoding"},
    ),
    "CSV that claims to be Parquet": (GOOD, MediaType.PARQUET, 422, {}),
    "CSV that claims to be Arrow": (GOOD, MediaType.ARROW, 422, {}),
    "CSV that claims to be JSON": (GOOD, MediaType.JSON, 422, {}),
    "truncated Parquet": (as_parquet(TABLE)[:-9], MediaType.PARQUET, 422, {}),
    "Parquet without its beginning": (as_parquet(TABLE)[9:], MediaType.PARQUET, 422, {}),
    "truncated Arrow": (as_arrow(TABLE)[:-99], MediaType.ARROW, 422, {}),
    "truncated JSON": (as_json(TABLE)[:-9], MediaType.JSON, 422, {}),
    "invalid UTF-8": (GOOD + b"29,B\xffrn\n", CSV, 422, {"parameter": "encoding"}),
    "invalid UTF-8 in a name": (b"\xff,b\n1,2\n", CSV, 422, {}),
    "invalid UTF-8 in a number": (GOOD + b"2\xff,Bern\n", CSV, 422, {}),
    "invalid UTF-8 in JSON": (b'{"columns": {"a": ["\xff"]}}', MediaType.JSON, 422, {}),
    "JSON nested 10,000 deep": (DEEP, MediaType.JSON, 422, {}),
    "JSON nested 500 deep in a cell": (
        b'{"columns": {"age": [1, ' + b"[" * 500 + b"]" * 500 + b"]}}",
        MediaType.JSON,
        422,
        {"column": "age", "row": 2},
    ),
    "JSON of unequal columns": (
        b'{"columns": {"age": [1, 2], "city": ["x"]}}',
        MediaType.JSON,
        422,
        {"column": "city", "row": 2},
    ),
    "numbers without a variance": (
        b"age\n1e300\n-1e300\n",
        CSV,
        422,
        {"column": "age"},
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_a_problem_and_nothing_is_stored(service: Service, case: str) -> None:
    body, content_type, status, fields = BAD[case]
    client = service.client()
    problem = refused(post(client, body, content_type), status)
    assert fields.items() <= problem.items()
    for name in ("column", "row"):
        if name in fields:
            assert str(fields[name]) in problem["detail"]
    assert_nothing_is_stored(client, service.home)


@pytest.mark.parametrize("case", ["number, then text", "a name with NUL", "NaN in Parquet"])
def test_nothing_is_stored_on_postgres_either(
    postgres_database: str, start_service: Callable[..., Service], case: str
) -> None:
    service = start_service(postgres_database)
    body, content_type, status, _ = BAD[case]
    client = service.client()
    refused(post(client, body, content_type), status)
    assert_nothing_is_stored(client, service.home)


@pytest.mark.parametrize(
    "name",
    ["../people", "a/b", "a\\b", "..", ".", "", " people", "a\x00b", "a\nb", "x" * 201],
)
def test_a_bad_name_is_refused_before_the_body_is_read(service: Service, name: str) -> None:
    client = service.client()
    response = client.post(
        "/v1/datasets", params={"name": name}, content=GOOD, headers={"content-type": CSV}
    )
    refused(response, 422)
    assert_nothing_is_stored(client, service.home)


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "rot13"])
def test_an_encoding_that_is_not_undone_is_unsupported(service: Service, encoding: str) -> None:
    client = service.client()
    refused(post(client, GOOD, CSV, **{"content-encoding": encoding}), 415)
    assert_nothing_is_stored(client, service.home)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("body", [GOOD, gzip.compress(GOOD)[:-5]], ids=["plain", "cut"])
def test_a_body_not_in_its_encoding_is_refused(
    service: Service, body: bytes, encoding: str
) -> None:
    client = service.client()
    refused(post(client, body, CSV, **{"content-encoding": encoding}), 422)
    assert_nothing_is_stored(client, service.home)


def bomb(unpacked_bytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(b"age,city\n")]
    line = b"1,x\n" * 2**18
    parts += [packer.compress(line) for _ in range(unpacked_bytes // len(line))]
    return b"".join([*parts, packer.flush()])


def test_a_zip_bomb_is_too_large_in_little_memory(service: Service) -> None:
    client = service.client()
    body = bomb(80 * 2**20)
    assert len(body) < 2**20
    before = psutil.Process().memory_info().rss
    problem = refused(post(client, body, CSV, **{"content-encoding": "gzip"}), 413)
    assert problem["limit_ratio"] == 200
    assert psutil.Process().memory_info().rss - before < 128 * 2**20
    assert_nothing_is_stored(client, service.home)


@pytest.mark.parametrize("encoding", [None, "gzip"])
@pytest.mark.parametrize("media_type", [one for one in MediaType if one is not MediaType.XLSX])
def test_a_body_above_the_limit_is_too_large(
    sqlite_database: str,
    start_service: Callable[..., Service],
    media_type: MediaType,
    encoding: str | None,
) -> None:
    service = start_service(sqlite_database, MAX_UPLOAD_BYTES="5000")
    client = service.client()
    table = pa.table({"x": [float(i * i) + 0.5 for i in range(2_000)]})
    bodies = {
        MediaType.CSV: b"x\n" + b"\n".join(b"%.1f" % x for x in table["x"].to_pylist()),
        MediaType.PARQUET: as_parquet(table, compression="none", use_dictionary=False),
        MediaType.ARROW: as_arrow(table),
        MediaType.JSON: as_json(table),
    }
    body = bodies[media_type]
    assert len(body) > 5_000
    headers = {"content-encoding": encoding} if encoding else {}
    response = post(client, gzip.compress(body) if encoding else body, media_type, **headers)
    assert refused(response, 413)["limit_bytes"] == 5_000
    assert_nothing_is_stored(client, service.home)


@pytest.mark.parametrize("columns", ['{"city": "numeric"}', '{"nowhere": "numeric"}'])
def test_a_wish_the_values_do_not_bear_out_names_the_column(service: Service, columns: str) -> None:
    client = service.client()
    response = client.post(
        "/v1/datasets",
        params={"name": "bad", "columns": columns},
        content=GOOD,
        headers={"content-type": CSV},
    )
    assert refused(response, 422)["column"] in json.loads(columns)
    assert_nothing_is_stored(client, service.home)


def test_bad_rows_are_not_appended(service: Service) -> None:
    client = service.client()
    made = post(client, GOOD, CSV).json()
    shown = client.get(f"/v1/datasets/{made['id']}").json()
    blobs = {path.name for path in (service.home / "blobs").iterdir()}
    for body in (
        b"age,city\nhunter2,Bern\n",
        b"age,city\n29\n",
        b"age,city\n",
        b"age,city\ninf,x\n",
    ):
        answer = client.post(
            f"/v1/datasets/{made['id']}/rows", content=body, headers={"content-type": CSV}
        )
        refused(answer, 422)
    assert client.get(f"/v1/datasets/{made['id']}").json() == shown
    assert {path.name for path in (service.home / "blobs").iterdir()} == blobs


def test_rows_are_appended_where_numbers_are_categories(service: Service) -> None:
    client = service.client()
    made = post(client, GOOD, CSV).json()
    url = f"/v1/datasets/{made['id']}"
    assert client.put(f"{url}/columns", json={"age": "categorical"}).status_code == 200
    answer = client.post(
        f"{url}/rows?allow_versions=true", content=GOOD, headers={"content-type": CSV}
    )
    assert answer.status_code == 201, answer.text
    assert client.get(url).json()["rows"] == 4
