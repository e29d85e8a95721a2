"""Copies as files: the same ids and bytes for ever, read by signed addresses while the right holds."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from app.api.transport.endpoints import downloads
from app.service.copies.files import file_writer, signed_urls
from app.store.database.copies import released_files
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register, rows_of


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_writer, "FILE_ROWS", 300)


@pytest.fixture
def admin(service: Service) -> TestClient:
    return service.client()


def several_parts(client: TestClient, parts: int = 4) -> str:
    """A data set whose parts have 250 rows, so that each is a file."""
    dataset = register(client, mixed_table(250))
    for seed in range(1, parts):
        append(client, dataset, mixed_table(250, seed=seed))
    return dataset


def files(client: TestClient, copy: str, **form: Any) -> Any:
    answer = client.post(f"/v1/copies/{copy}/files", json=form)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


def path(url: str) -> str:
    return url.removeprefix("http://testserver")


def read(client: TestClient, file: dict[str, Any]) -> pa.Table:
    answer = client.get(path(file["url"]))
    assert answer.status_code == 200, answer.text
    assert len(answer.content) == file["size_bytes"] == int(answer.headers["content-length"])
    assert hashlib.sha256(answer.content).hexdigest() == file["sha256"]
    return pq.read_table(io.BytesIO(answer.content))


def lasting(listed: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What must stay the same of a list."""
    return [
        (f["id"], f["name"], f["size_bytes"], f["sha256"], f["rows"], f["statistics"])
        for f in listed["files"]
    ]


def objects(service: Service) -> list[str]:
    folder = service.home / "blobs" / "released"
    return sorted(found.name for found in folder.glob("*"))


def test_files_hold_the_rows_of_the_copy_and_need_no_key(
    service: Service,
) -> None:
    admin = service.client()
    copy = issue(admin, several_parts(admin), level="b")["id"]
    listed = files(admin, copy)
    assert [file["rows"] for file in listed["files"]] == [250] * 4
    assert listed["rows"] == 1_000
    stranger = service.client(None)
    together = pa.concat_tables([read(stranger, file) for file in listed["files"]])
    assert together.equals(rows_of(admin, copy))
    assert listed["size_bytes"] == sum(file["size_bytes"] for file in listed["files"])


def test_statistics_are_those_of_the_perturbed_values(admin: TestClient) -> None:
    copy = issue(admin, several_parts(admin), level="b")["id"]
    for file in files(admin, copy)["files"]:
        table = read(admin, file)
        for name in table.column_names:
            values = [value for value in table.column(name).to_pylist() if value is not None]
            assert file["statistics"][name] == {
                "missing": table.column(name).null_count,
                "min": min(values),
                "max": max(values),
            }
        footer = pq.ParquetFile(
            io.BytesIO(admin.get(path(file["url"])).content)
        ).metadata.row_group(0)
        column = footer.column(table.column_names.index("income")).statistics
        assert (column.min, column.max) == (min(table["income"].to_pylist()), column.max)


def test_the_same_copy_columns_and_rows_are_the_same_files(
    service: Service, admin: TestClient
) -> None:
    dataset = several_parts(admin)
    copy = issue(admin, dataset, level="b")["id"]
    first = lasting(files(admin, copy))
    before = objects(service)
    assert lasting(files(admin, copy)) == first
    assert objects(service) == before  # nothing was written again
    some = lasting(files(admin, copy, columns=["age", "city"]))
    assert {one[0] for one in some}.isdisjoint(one[0] for one in first)
    assert lasting(files(admin, copy, columns=["city", "age"])) == some
    other = lasting(files(admin, issue(admin, dataset, level="c")["id"]))
    assert {one[0] for one in other}.isdisjoint(one[0] for one in first)


def test_rows_and_columns_are_chosen_as_in_a_download(admin: TestClient) -> None:
    copy = issue(admin, several_parts(admin), level="b")["id"]
    listed = files(admin, copy, columns=["income", "city"], rows="100:620")
    together = pa.concat_tables([read(admin, file) for file in listed["files"]])
    assert together.equals(rows_of(admin, copy, columns=["income", "city"], rows="100:620"))
    assert files(admin, copy, rows="5000:")["files"] == []


def test_rows_that_are_appended_add_files_and_change_only_the_last(admin: TestClient) -> None:
    dataset = several_parts(admin, 3)
    copy = issue(admin, dataset, level="b")["id"]
    before = lasting(files(admin, copy))
    append(admin, dataset, mixed_table(250, seed=7))
    after = lasting(files(admin, copy))
    assert after[:3] == before
    assert len(after) == 4


def test_a_file_that_made_room_is_remade_to_the_bit(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(sqlite_database, RELEASE_CACHE_BYTES="20000")
    admin = service.client()
    copy = issue(admin, several_parts(admin), level="b")["id"]
    listed = files(admin, copy)
    sizes = [file["size_bytes"] for file in listed["files"]]
    assert max(sizes) < 20_000 < sum(sizes)
    assert 0 < len(objects(service)) < 4
    whole = pa.concat_tables([read(admin, file) for file in listed["files"]])
    assert whole.equals(rows_of(admin, copy))
    assert lasting(files(admin, copy)) == lasting(listed)
    with reading(service.app.state.resources.engine) as connection:
        assert released_files.held_bytes(connection) <= 20_000


def test_those_used_last_stay(sqlite_database: str, start_service: Callable[..., Service]) -> None:
    service = start_service(sqlite_database)
    admin = service.client()
    dataset = register(admin, mixed_table(250))
    old, used, new = (issue(admin, dataset, level=level)["id"] for level in "abc")
    listed = [files(admin, copy)["files"][0] for copy in (old, used)]
    size = max(file["size_bytes"] for file in listed)
    files(admin, used)
    resources = service.app.state.resources
    object.__setattr__(resources.limits, "release_cache_bytes", int(2.5 * size))
    files(admin, new)
    with reading(resources.engine) as connection:
        there = {file.copy for file in released_files.longest_unused(connection, 10)}
    assert there == {used, new}


def test_a_file_that_somebody_removed_is_remade(service: Service, admin: TestClient) -> None:
    copy = issue(admin, register(admin, mixed_table(250)), level="b")["id"]
    (file,) = files(admin, copy)["files"]
    before = read(admin, file)
    for found in (service.home / "blobs" / "released").iterdir():
        found.unlink()
    assert read(admin, file).equals(before)


def test_what_is_stored_can_be_read_by_nobody_else(service: Service, admin: TestClient) -> None:
    copy = issue(admin, register(admin, mixed_table(250)), level="b")["id"]
    files(admin, copy)
    (stored,) = (service.home / "blobs" / "released").iterdir()
    content = stored.read_bytes()
    assert b"PAR1" not in content
    assert b"income" not in content


def changed(url: str, **parts: str) -> str:
    for name, value in parts.items():
        url = re.sub(rf"([?&]{name}=)[^&]*", rf"\g<1>{value}", url)
    return url


def test_an_address_that_was_not_given_out_is_refused(admin: TestClient, service: Service) -> None:
    copy = issue(admin, several_parts(admin), level="b")["id"]
    one, other, *_ = (path(file["url"]) for file in files(admin, copy)["files"])
    stranger = service.client(None)
    later = str(int(datetime.now().timestamp()) + 10**6)
    signature = re.search("sig=(.*)", other)
    assert signature
    wrong = [
        changed(one, sig="A" * 43),
        changed(one, sig=signature[1]),
        changed(one, se=later),
        changed(one, by="rc_0000.-"),
        changed(one, sp="w"),
        one.replace("/files/", "/files/0"),
    ]
    for address in wrong:
        answer = stranger.get(address)
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/invalid-signed-url")
    for address in (one.partition("?")[0], changed(one, se="soon")):
        assert stranger.get(address).status_code == 422
    assert stranger.get(one).status_code == 200


def later_by(time: timedelta) -> type[datetime]:
    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + time

    return Later


def test_an_address_ends(
    service: Service, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = issue(admin, register(admin, mixed_table(250)), level="b")["id"]
    listed = files(admin, copy, expires_in_seconds=60)
    url = path(listed["files"][0]["url"])
    assert admin.get(url).status_code == 200
    monkeypatch.setattr(signed_urls, "datetime", later_by(timedelta(seconds=61)))
    assert admin.get(url).json()["type"] == "/problems/invalid-signed-url"


def test_no_address_holds_longer_than_the_operator_allows(admin: TestClient) -> None:
    copy = issue(admin, register(admin, mixed_table(250)), level="b")["id"]
    listed = files(admin, copy, expires_in_seconds=10**6)
    left = datetime.fromisoformat(listed["expires_at"]).timestamp() - datetime.now().timestamp()
    assert left <= 900


def granted(service: Service, dataset: str, **form: Any) -> tuple[str, TestClient]:
    recipient, client = service.principal("recipient")
    put = service.client().put(
        f"/v1/datasets/{dataset}/grants/{recipient}", json={"level": "b", **form}
    )
    assert put.status_code in (200, 201), put.text
    return recipient, client


def test_an_address_ends_with_the_right_behind_it(service: Service, admin: TestClient) -> None:
    dataset = register(admin, mixed_table(250))
    copy = issue(admin, dataset, level="b")["id"]
    stranger = service.client(None)

    recipient, client = granted(service, dataset)
    url = path(files(client, copy)["files"][0]["url"])
    assert stranger.get(url).status_code == 200
    key = admin.get(f"/v1/principals/{recipient}").json()["keys"][0]
    assert admin.delete(f"/v1/principals/{recipient}/keys/{key}").status_code == 204
    assert stranger.get(url).status_code == 401

    recipient, client = granted(service, dataset)
    url = path(files(client, copy)["files"][0]["url"])
    assert admin.delete(f"/v1/datasets/{dataset}/grants/{recipient}").status_code == 204
    assert stranger.get(url).status_code == 404

    recipient, client = granted(service, dataset)
    url = path(files(client, copy)["files"][0]["url"])
    narrower = {"level": "b", "columns": ["age"]}
    admin.put(f"/v1/datasets/{dataset}/grants/{recipient}", json=narrower)
    assert stranger.get(url).status_code == 403
    assert list(files(client, copy)["files"][0]["statistics"]) == ["age"]


def test_rows_that_were_withdrawn_do_not_leave_by_an_older_address(admin: TestClient) -> None:
    dataset = several_parts(admin)
    copy = issue(admin, dataset, level="b")["id"]
    before = files(admin, copy)["files"]
    retired = admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [3, 260]})
    assert retired.status_code == 200
    statuses = [admin.get(path(file["url"])).status_code for file in before]
    assert statuses == [404, 404, 200, 200]
    after = files(admin, copy)
    assert [file["rows"] for file in after["files"]] == [249, 249, 250, 250]
    assert after["files"][2]["id"] == before[2]["id"]
    together = pa.concat_tables([read(admin, file) for file in after["files"]])
    assert together.equals(rows_of(admin, copy))


def test_nobody_gets_files_of_a_copy_that_is_not_for_it(
    service: Service, admin: TestClient
) -> None:
    dataset = register(admin, mixed_table(250))
    copy = issue(admin, dataset, level="a")["id"]
    _, client = granted(service, dataset)  # of level b, which is more perturbed
    _, auditor = service.principal("auditor")
    assert client.post(f"/v1/copies/{copy}/files", json={}).status_code == 404
    assert auditor.post(f"/v1/copies/{copy}/files", json={}).status_code == 403
    assert admin.post("/v1/copies/cp_none/files", json={}).status_code == 404
    assert objects(service) == []
    wrong = admin.post(f"/v1/copies/{copy}/files", json={"columns": ["person"]})
    assert wrong.status_code == 422


def test_no_column_is_not_a_choice_of_columns(admin: TestClient) -> None:
    copy = issue(admin, register(admin, mixed_table(250)), level="a")["id"]
    none = admin.post(f"/v1/copies/{copy}/files", json={"columns": []})
    assert (none.status_code, none.json()["parameter"]) == (422, "columns")


def test_ranges_of_a_file_are_served(admin: TestClient) -> None:
    copy = issue(admin, register(admin, mixed_table(250)), level="b")["id"]
    (file,) = files(admin, copy)["files"]
    url, size = path(file["url"]), file["size_bytes"]
    whole = admin.get(url).content
    for asked, expected in (("0-99", whole[:100]), ("-8", whole[-8:]), ("100-", whole[100:])):
        answer = admin.get(url, headers={"range": f"bytes={asked}"})
        assert (answer.status_code, answer.content) == (206, expected)
        assert answer.headers["content-range"].endswith(f"/{size}")
    assert admin.get(url, headers={"range": f"bytes={size}-"}).status_code == 416
    head = admin.head(url)
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == size
    assert head.headers["accept-ranges"] == "bytes"
    etag = head.headers["etag"]
    assert admin.get(url, headers={"if-none-match": etag}).status_code == 304


def test_the_right_is_asked_for_while_a_file_is_served(
    service: Service, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "CHECKED_BYTES", 1)
    monkeypatch.setattr("app.api.transport.endpoints.downloads.CHUNK_BYTES", 400)
    dataset = register(admin, mixed_table(250))
    copy = issue(admin, dataset, level="b")["id"]
    recipient, client = granted(service, dataset)
    (file,) = files(client, copy)["files"]
    asked = 0
    holds = signed_urls.linked_file

    def counted(*arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 8:
            admin.delete(f"/v1/datasets/{dataset}/grants/{recipient}")
        return holds(*arguments)

    monkeypatch.setattr(signed_urls, "linked_file", counted)
    answer = client.get(path(file["url"]))
    assert len(answer.content) < file["size_bytes"]
    assert asked == 8
    log = admin.get("/v1/audit-log", params={"limit": 1_000}).json()["entries"]
    refused = [entry for entry in log if entry["action"] == "refusal"]
    assert [entry["principal"] for entry in refused] == [recipient]


def test_the_log_tells_who_was_given_addresses(admin: TestClient) -> None:
    copy = issue(admin, several_parts(admin), level="b")["id"]
    files(admin, copy, columns=["age"])
    log = admin.get("/v1/audit-log", params={"limit": 1_000}).json()["entries"]
    (told,) = (entry for entry in log if entry["action"] == "copy.files")
    assert told["subject"] == copy
    assert told["facts"]["files"] == 4
    assert told["facts"]["columns"] == 1


def test_files_go_with_their_data_set(service: Service, admin: TestClient) -> None:
    dataset = several_parts(admin)
    listed = files(admin, issue(admin, dataset, level="b")["id"])
    assert len(objects(service)) == 4
    assert admin.delete(f"/v1/datasets/{dataset}").status_code == 204
    assert objects(service) == []
    assert admin.get(path(listed["files"][0]["url"])).status_code == 404


def test_a_file_is_plain_bytes_to_who_asks_for_them_alone(admin: TestClient) -> None:
    """Generated clients know bytes, and no Parquet."""
    copy = issue(admin, several_parts(admin, parts=1), noise_variance=0.5)
    listed = files(admin, copy["id"])
    address, octets = path(listed["files"][0]["url"]), "application/octet-stream"
    as_it_is = admin.get(address)
    plain = admin.get(address, headers={"Accept": octets})
    part = admin.get(address, headers={"Accept": octets, "Range": "bytes=0-3"})
    assert as_it_is.headers["content-type"] == "application/vnd.apache.parquet"
    assert (plain.headers["content-type"], plain.content) == (octets, as_it_is.content)
    assert (part.status_code, part.headers["content-type"], part.content) == (206, octets, b"PAR1")
