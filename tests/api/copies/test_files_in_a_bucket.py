"""Released files in an S3 bucket: handed out by the bucket's own URLs, or sealed by the service."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from app.service.copies.files import copy_files, file_writer
from app.settings import WrongSetting, settings_from
from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register
from tests.buckets import S3, s3_server


@pytest.fixture(scope="module")
def running() -> Iterator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture
def s3(running: S3) -> S3:
    for key in running.objects():
        running.client.delete_object(Bucket=running.bucket, Key=key)
    return running


@pytest.fixture
def start(
    sqlite_database: str, start_service: Callable[..., Service], s3: S3
) -> Callable[..., Service]:
    def started(**settings: str) -> Service:
        return start_service(sqlite_database, BLOB_URL=s3.url(), **settings)

    return started


def files(service: Service, **form: Any) -> list[dict[str, Any]]:
    client = service.client()
    copy = issue(client, register(client, mixed_table(250)), level="b")["id"]
    listed: list[dict[str, Any]] = client.post(f"/v1/copies/{copy}/files", json=form).json()[
        "files"
    ]
    return listed


def test_the_bucket_hands_out_files_by_its_own_urls(start: Callable[..., Service], s3: S3) -> None:
    (file,) = files(start())
    assert file["url"].startswith(f"http://{s3.host}/")
    assert "X-Amz-Signature=" in file["url"]
    answer = httpx2.get(file["url"], timeout=60)
    assert hashlib.sha256(answer.content).hexdigest() == file["sha256"]
    part = httpx2.get(file["url"], headers={"range": "bytes=0-3"}, timeout=60)
    assert (part.status_code, part.content) == (206, b"PAR1")


def test_the_service_hands_out_sealed_files_where_the_operator_says_so(
    start: Callable[..., Service], s3: S3
) -> None:
    service = start(SIGNED_URLS="service")
    (file,) = files(service)
    (key,) = s3.objects("store/released/")
    stored = s3.client.get_object(Bucket=s3.bucket, Key=key)["Body"].read()
    assert b"PAR1" not in stored
    content = service.client(None).get(file["url"].removeprefix("http://testserver")).content
    assert hashlib.sha256(content).hexdigest() == file["sha256"]


def test_what_a_url_promises_is_not_removed_for_room(
    start: Callable[..., Service], s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "FILE_ROWS", 300)
    service = start(RELEASE_CACHE_BYTES="10000")
    client = service.client()
    dataset = register(client, mixed_table(250))
    copy = issue(client, dataset, level="b")["id"]
    (first,) = client.post(f"/v1/copies/{copy}/files", json={}).json()["files"]
    append(client, dataset, mixed_table(250, seed=1))
    refused = client.post(f"/v1/copies/{copy}/files", json={})
    assert (refused.status_code, refused.json()["type"]) == (507, "/problems/storage-full")
    assert len(s3.objects("store/released/")) == 1
    assert httpx2.get(first["url"], timeout=60).status_code == 200
    monkeypatch.setattr(copy_files, "_promised", lambda *_: False)  # as when its time is over
    assert client.post(f"/v1/copies/{copy}/files", json={"rows": "250:"}).status_code == 200
    assert httpx2.get(first["url"], timeout=60).status_code == 404


def test_settings_that_do_not_fit_are_told() -> None:
    settings = settings_from({"CORNERWAVE_SIGNED_URLS": "store"})
    with pytest.raises(WrongSetting, match="can be store only where CORNERWAVE_BLOB_URL is s3"):
        settings.presigned  # noqa: B018  # asked for by the start
