"""What browsers and proxies expect of HTTP: HEAD, OPTIONS, CORS, content codings, redirects, preconditions."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import httpx2
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from app.api.transport.compression import MINIMUM_BYTES, accepted_coding
from tests.api.conftest import Service

CSV = {"Content-Type": "text/csv"}
PAGE = "https://page.example"


def registered(client: TestClient, name: str = "people") -> str:
    table = "person,age,income\n" + "".join(
        f"p{i},{20 + 3 * i % 41},{1000 + 137 * i % 900}\n" for i in range(60)
    )
    made = client.post(f"/v1/datasets?name={name}", content=table, headers=CSV)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


@pytest.fixture
def copy(admin: TestClient) -> str:
    """The address of a copy's content."""
    dataset = registered(admin)
    admin.put(f"/v1/datasets/{dataset}/levels/public", json={"noise_variance": 0.5})
    issued = admin.post(f"/v1/datasets/{dataset}/copies", json={"level": "public"})
    return f"/v1/copies/{issued.json()['id']}/content"


def raw(client: TestClient, path: str, **headers: str) -> httpx2.Response:
    """The answer whose bytes nobody unpacks."""
    with client.stream("GET", path, headers=headers) as answer:
        answer._content = b"".join(answer.iter_raw())
    return answer


def test_head_is_answered_as_get_without_a_body(admin: TestClient, copy: str) -> None:
    for path in ("/health", "/v1/datasets", "/docs", "/portal/sign-in", copy, "/openapi.json"):
        got, head = admin.get(path), admin.head(path)
        assert head.status_code == got.status_code == 200, path
        assert head.content == b""
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers.get("etag") == got.headers.get("etag")
    assert admin.head("/v1/datasets/ds_none").status_code == 404
    assert admin.head("/v1/attacks/score").status_code == 405


def test_options_names_the_methods(service: Service) -> None:
    nobody = service.client(None)
    answer = nobody.options("/v1/datasets")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    assert nobody.options("/assets/swagger-ui.css").headers["allow"] == "GET, HEAD, OPTIONS"
    assert nobody.options("/v1/nothing").status_code == 404


def preflight(client: TestClient, origin: str) -> httpx2.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization,if-match",
    }
    return client.options("/v1/datasets/ds_1/levels/a", headers=asked)


def test_no_other_origin_is_let_in_by_default(admin: TestClient) -> None:
    for answer in (preflight(admin, PAGE), admin.get("/v1/datasets", headers={"Origin": PAGE})):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_named_origins_may_call_with_a_key_and_never_with_a_cookie(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(sqlite_database, CORS_ORIGINS=f"{PAGE},http://localhost:5173")
    client = service.client()
    allowed = preflight(client, PAGE)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert "if-match" in allowed.headers["access-control-allow-headers"]
    # Refusals as well: a page must be able to read what is wrong.
    for given in (client, service.client(None)):
        answer = given.get("/v1/datasets", headers={"Origin": PAGE})
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert "access-control-allow-credentials" not in answer.headers
    assert preflight(client, "https://other.example").status_code == 400
    other = client.get("/v1/datasets", headers={"Origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers


def unpacked(coding: str, data: bytes) -> bytes:
    if coding == "gzip":
        return gzip.decompress(data)
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read())


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_text_is_compressed_as_the_client_accepts(
    admin: TestClient, copy: str, coding: str
) -> None:
    for path, accept in (
        (copy, "text/csv"),
        (copy, "application/json"),
        ("/docs", "text/html"),
        ("/openapi.json", "*/*"),
    ):
        plain = raw(admin, path, **{"Accept": accept, "Accept-Encoding": "identity"})
        packed = raw(admin, path, **{"Accept": accept, "Accept-Encoding": coding})
        assert packed.headers["content-encoding"] == coding, path
        assert "accept-encoding" in packed.headers["vary"].lower()
        assert "accept-encoding" in plain.headers["vary"].lower()
        assert len(packed.content) < len(plain.content)
        assert unpacked(coding, packed.content) == plain.content
        head = admin.head(path, headers={"Accept": accept, "Accept-Encoding": coding})
        assert head.headers["content-encoding"] == coding
        assert "content-length" not in head.headers


def test_compressed_bytes_are_others_than_those_of_ranges(admin: TestClient, copy: str) -> None:
    plain = admin.get(copy, headers={"Accept-Encoding": "identity"})
    packed = admin.get(copy, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["etag"] == f"W/{plain.headers['etag']}"
    assert packed.headers["accept-ranges"] == "none"
    part = raw(admin, copy, **{"Range": "bytes=5-14", "Accept-Encoding": "gzip"})
    assert part.status_code == 206
    assert "content-encoding" not in part.headers
    assert part.content == plain.content[5:15]
    resumed = {"Range": "bytes=5-", "If-Range": packed.headers["etag"]}
    assert admin.get(copy, headers=resumed).status_code == 200
    for etag in (plain.headers["etag"], packed.headers["etag"]):
        assert admin.get(copy, headers={"If-None-Match": etag}).status_code == 304


def test_what_is_small_packed_or_secret_is_not_compressed(admin: TestClient, copy: str) -> None:
    packed = {"Accept-Encoding": "gzip, zstd"}
    assert "content-encoding" not in raw(admin, "/health", **packed).headers
    parquet = {"Accept": "application/vnd.apache.parquet"}
    assert "content-encoding" not in raw(admin, copy, **packed, **parquet).headers
    signed = admin.post(copy.replace("content", "files"), json={}, headers=packed)
    assert len(signed.content) > MINIMUM_BYTES
    assert "content-encoding" not in signed.headers
    # A page of the portal holds the token of its forms.
    assert "content-encoding" not in raw(admin, "/portal/sign-in", **packed).headers


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0.5, gzip", "gzip"),
        ("zstd;q=0, gzip;q=0.1", "gzip"),
        ("gzip;q=0.1, identity", None),
        ("gzip;q=nonsense", None),
        ("br", None),
        ("", None),
    ],
)
def test_the_coding_of_the_highest_quality_is_taken(accepted: str, coding: str | None) -> None:
    assert accepted_coding(accepted) == coding


def test_redirects_lead_to_the_public_address_whatever_the_host_header_says(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(sqlite_database, PUBLIC_URL="https://data.example")
    client = service.client()
    for path in ("/v1/datasets/?limit=3", "/docs/"):
        answer = client.get(path, headers={"Host": "evil.example"}, follow_redirects=False)
        assert answer.status_code == 308
        assert (
            answer.headers["location"]
            == f"https://data.example{path.replace('/?', '?').rstrip('/')}"
        )
    for path in ("/v1/nothing/", "/v1/principals/x/%0A"):
        assert client.get(path, follow_redirects=False).status_code == 404
    listed = client.get("/llms.txt", headers={"Host": "evil.example"}).text
    assert "https://data.example/guides/" in listed
    assert "evil.example" not in listed


def test_json_without_a_type_is_refused(admin: TestClient) -> None:
    for said in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "multipart/form-data"}):
        answer = admin.post("/v1/principals", content=b'{"name":"a","role":"owner"}', headers=said)
        assert answer.status_code == 415, said
        assert answer.json()["type"] == "/problems/unsupported-media-type"
    made = admin.post("/v1/principals", json={"name": "a", "role": "owner"})
    assert made.status_code == 201


def test_a_change_of_what_somebody_changed_since_is_refused(admin: TestClient) -> None:
    path = f"/v1/datasets/{registered(admin)}"
    known = admin.get(path).headers["etag"]
    assert admin.get(path).headers["etag"] == known
    changes: list[Callable[[str], Any]] = [
        lambda etag: admin.patch(path, json={"description": "new"}, headers={"If-Match": etag}),
        lambda etag: admin.put(
            f"{path}/levels/public", json={"noise_variance": 0.5}, headers={"If-Match": etag}
        ),
        lambda etag: admin.post(
            f"{path}/rows",
            content="person,age,income\nq1,3,4\nq2,5,6\n",
            headers={"If-Match": etag, **CSV},
        ),
        lambda etag: admin.delete(path, headers={"If-Match": etag}),
    ]
    for change in changes:
        stale = change('"0123456789abcdef01234567"')
        assert stale.status_code == 412, stale.text
        assert stale.json()["type"] == "/problems/precondition-failed"
        assert admin.get(path).headers["etag"] == known
        assert change(f'"other", {known}').is_success
        again = admin.get(path)
        if again.is_success:
            assert again.headers["etag"] != known
            known = again.headers["etag"]
    assert admin.get(path).status_code == 404


def test_a_recipient_learns_nothing_by_the_revision(service: Service, admin: TestClient) -> None:
    dataset = registered(admin)
    admin.put(f"/v1/datasets/{dataset}/levels/public", json={"noise_variance": 0.5})
    whose, client = service.principal("recipient")
    admin.put(f"/v1/datasets/{dataset}/grants/{whose}", json={"level": "public"})
    shown = client.get(f"/v1/datasets/{dataset}")
    assert shown.status_code == 200
    assert "etag" not in shown.headers


def test_a_download_of_other_bytes_than_those_named_is_refused(
    admin: TestClient, copy: str
) -> None:
    etag = admin.get(copy, headers={"Accept-Encoding": "identity"}).headers["etag"]
    assert admin.get(copy, headers={"If-Match": etag}).status_code == 200
    assert admin.get(copy, headers={"If-Match": '"other"'}).status_code == 412
