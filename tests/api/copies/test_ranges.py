"""Ranges of a copy's bytes: written once for all of them, and nobody's file for ever."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.api.transport.endpoints import downloads
from app.api.transport.endpoints.downloads import WrittenFile
from app.store.blobs.store import BlobStore
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    CSV,
    PARQUET,
    append_now,
    content,
    issue,
    mixed_table,
    register,
)


@pytest.fixture
def admin(service: Service) -> TestClient:
    return service.client()


@pytest.fixture
def copy(admin: TestClient) -> str:
    copied: str = issue(admin, register(admin, mixed_table(400)), level="a")["id"]
    return copied


def part(client: TestClient, copy: str, asked: str, accept: str = CSV) -> tuple[int, bytes]:
    headers = {"accept": accept, "range": asked}
    answer = client.get(f"/v1/copies/{copy}/content", headers=headers)
    return answer.status_code, answer.content


@pytest.mark.parametrize("accept", [CSV, PARQUET])
def test_the_bytes_are_written_once_for_all_ranges(
    admin: TestClient, copy: str, accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = content(admin, copy, accept).content
    pieces = [part(admin, copy, "bytes=0-99", accept)]
    monkeypatch.setattr(BlobStore, "read_rows", None)
    pieces += [
        part(admin, copy, "bytes=100-4000", accept),
        part(admin, copy, "bytes=4001-", accept),
    ]
    assert [status for status, _ in pieces] == [206] * 3
    assert b"".join(body for _, body in pieces) == whole


def test_other_bytes_are_another_file(admin: TestClient, copy: str) -> None:
    before = part(admin, copy, "bytes=0-")[1]
    assert part(admin, copy, "bytes=0-", PARQUET)[1] == content(admin, copy, PARQUET).content
    dataset = admin.get(f"/v1/copies/{copy}").json()["dataset"]
    append_now(admin, dataset, mixed_table(10, seed=1))
    after = part(admin, copy, "bytes=0-")[1]
    assert after.startswith(before)
    assert after == content(admin, copy, CSV).content != before


def test_a_kept_file_is_only_for_those_who_may_have_the_copy(
    service: Service, admin: TestClient, copy: str
) -> None:
    assert part(admin, copy, "bytes=0-9")[0] == 206
    _, stranger = service.principal("recipient")
    assert part(stranger, copy, "bytes=0-9")[0] == 404


@pytest.mark.parametrize(
    "asked",
    ["bytes=-", "bytes=5-3", "bytes=0-1,3-4", "rows=0-9", f"bytes=0-{'9' * 5000}", "bytes=a-b"],
)
def test_what_is_no_single_range_is_answered_with_everything(
    admin: TestClient, copy: str, asked: str
) -> None:
    assert part(admin, copy, asked) == (200, content(admin, copy, CSV).content)


@pytest.mark.parametrize("asked", ["bytes=-0", f"bytes={10**17}-"])
def test_a_range_outside_is_refused(admin: TestClient, copy: str, asked: str) -> None:
    assert part(admin, copy, asked)[0] == 416


def test_the_longest_unused_files_are_closed(
    admin: TestClient, copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "MOST_KEPT", 2)
    gc.collect()  # what earlier tests left
    before = files_without_a_name()
    for columns in ("age", "income", "score", "city", "batch"):
        path = f"/v1/copies/{copy}/content?columns={columns}"
        answer = admin.get(path, headers={"accept": CSV, "range": "bytes=0-3"})
        assert answer.status_code == 206
    assert files_without_a_name() == before + 2


def test_a_file_ends_with_its_last_holder(tmp_path: Path) -> None:
    before = files_without_a_name()
    written = WrittenFile(tmp_path, iter([memoryview(b"abc"), memoryview(b"defg")]))
    assert (written.size, written.read(2, 3)) == (7, b"cde")
    assert files_without_a_name() == before + 1
    assert list(tmp_path.iterdir()) == []
    del written
    assert files_without_a_name() == before


def files_without_a_name() -> int:
    """Files that this process has open and no folder lists."""
    found = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:  # the listing itself
            continue
        found += target.endswith(" (deleted)")
    return found
