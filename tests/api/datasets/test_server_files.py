"""Tables that lie below a root are imported, the same as if they were sent; nothing else is reached.

A million rows in a hundred files, from a folder and from a bucket over HTTP, are

    CORNERWAVE_TEST_IMPORT_ROWS=1000000 python -m pytest tests/api/datasets/test_server_files.py -k hundred
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from app.errors import StorageFull
from app.store.blobs.store import RowDigest
from app.store.database.datasets import datasets
from app.store.database.engine import reading
from app.store.import_roots import SourceFile
from tests.api.conftest import Service
from tests.api.copies.copy_tables import COLUMNS, as_parquet, mixed_table
from tests.api.jobs.test_async_requests import ended
from tests.buckets import S3, s3_server

ROWS = int(os.environ.get("CORNERWAVE_TEST_IMPORT_ROWS", "2000"))
TABLE = mixed_table(2_000)


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, Path]:
    """A table, and the folder where it lies in 100 files."""
    table = TABLE if TABLE.num_rows == ROWS else mixed_table(ROWS)
    folder = tmp_path_factory.mktemp("hundred")
    split(folder, table, 100)
    return table, folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "incoming"
    folder.mkdir()
    return folder


@pytest.fixture
def service(sqlite_database: str, start_service: Callable[..., Service], root: Path) -> Service:
    return start_service(sqlite_database, IMPORT_ROOTS=str(root))


@pytest.fixture
def admin(service: Service) -> TestClient:
    return service.client()


def split(folder: Path, table: pa.Table, files: int) -> None:
    folder.mkdir(exist_ok=True)
    rows = -(-table.num_rows // files)
    for number in range(files):
        part = table.slice(number * rows, rows)
        pq.write_table(part, folder / f"part-{number:03d}.parquet")


def imported(client: TestClient, source: str, name: str = "imported", **params: str) -> Any:
    query = {"name": name, "columns": COLUMNS, "allow_overlap": "true", **params}
    return client.post("/v1/datasets", params=query, json={"source": source})


def sent(client: TestClient, table: pa.Table, name: str = "sent") -> Any:
    query = {"name": name, "columns": COLUMNS, "allow_overlap": "true"}
    headers = {"content-type": "application/vnd.apache.parquet"}
    return client.post("/v1/datasets", params=query, content=as_parquet(table), headers=headers)


def checksum(service: Service, dataset: str) -> str:
    """Of all rows as they are stored."""
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        (part,) = datasets.parts(connection, dataset)
    batches = list(resources.blobs.read_rows(part.blob, 0, part.rows))
    digest = RowDigest(batches[0].schema)
    for batch in batches:
        digest.add(batch)
    return digest.digest().hex()


def same(service: Service, one: Any, other: Any) -> None:
    assert {one.status_code, other.status_code} <= {200, 201}, one.text + other.text
    left, right = one.json(), other.json()
    for said in (left, right):
        said.pop("created_at")
        said.pop("name")
        said.pop("warnings")
    assert checksum(service, left.pop("id")) == checksum(service, right.pop("id"))
    assert left == right


def test_a_hundred_files_are_the_same_data_set_as_one_that_is_sent(
    service: Service, root: Path, hundred: tuple[pa.Table, Path]
) -> None:
    table, folder = hundred
    folder.rename(root / "people")
    try:
        with service.client() as running:
            source = f"{root}/people/*.parquet"
            upload = sent(running, table)
            same(service, imported(running, source), upload)
            # And by a job.
            running.headers["Prefer"] = "respond-async"
            job = imported(running, source, name="later").headers["Location"]
            del running.headers["Prefer"]
            shown = ended(running, job)
            assert (shown["state"], shown["done"]) == ("done", shown["total"])
            same(service, running.get(shown["result"]), upload)
    finally:
        (root / "people").rename(folder)


def test_a_disk_that_is_full_in_the_middle_is_told_and_leaves_nothing(
    service: Service, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(root / "people", mixed_table(100_000), 3)
    resources = service.app.state.resources
    full = service.home / "blobs" / "full.partial"
    full.symlink_to("/dev/full")
    monkeypatch.setattr(resources.blobs.place, "unfinished", lambda _name: str(full))
    kinds = resources.jobs.job_types
    monkeypatch.setitem(kinds, "request", replace(kinds["request"], retry_delays=()))
    with service.client() as running:
        running.headers["Prefer"] = "respond-async"
        job = imported(running, f"{root}/people").headers["Location"]
        del running.headers["Prefer"]
        shown = ended(running, job)
        told = shown["problem"]
        assert (shown["state"], told["type"]) == ("failed", "/problems/storage-full")
        assert running.get("/v1/datasets").json()["datasets"] == []
        page = running.get(told["type"])
        assert page.status_code == 200
        assert StorageFull.remedy.split()[0] in page.text
    assert service.stored() == []


def test_blocks_do_not_follow_the_files(service: Service, admin: TestClient, root: Path) -> None:
    table = mixed_table(150_000)
    split(root / "people", table, 7)
    same(service, imported(admin, f"{root}/people"), sent(admin, table))


@pytest.mark.parametrize("source", ["people/*.parquet", "people", "people/part-00?.parquet"])
def test_a_source_may_be_relative_to_a_root(
    service: Service, admin: TestClient, root: Path, source: str
) -> None:
    split(root / "people", TABLE, 3)
    same(service, imported(admin, source), sent(admin, TABLE))


def test_one_file_of_another_format_is_read_too(
    service: Service, admin: TestClient, root: Path
) -> None:
    pyarrow.csv.write_csv(TABLE, root / "people.csv")
    answer = imported(admin, "people.csv")
    assert answer.status_code == 201, answer.text
    assert (answer.json()["rows"], answer.json()["read_as"]["format"]) == (2_000, "csv")


def test_the_files_of_a_source_are_in_one_unit(admin: TestClient, root: Path) -> None:
    def written(name: str, sign: str, start: int) -> None:
        rows = "".join(f"{sign}{one}.5,{one % 7}\n" for one in range(start, start + 50))
        (root / name).write_text(f"pay,n\n{rows}")

    def asked() -> Any:
        return admin.post("/v1/datasets", params={"name": "pay"}, json={"source": "*.csv"})

    written("a.csv", "€", 10)
    written("b.csv", "$", 80)
    assert asked().json()["column"] == "pay"
    assert "numbers with $ here and numbers with € in the first file" in asked().json()["detail"]
    written("b.csv", "€", 80)
    assert asked().status_code == 201


def test_rows_are_appended_from_a_source(service: Service, admin: TestClient, root: Path) -> None:
    dataset = sent(admin, TABLE).json()["id"]
    split(root / "more", mixed_table(500, seed=1), 5)
    answer = admin.post(f"/v1/datasets/{dataset}/rows", json={"source": "more/*.parquet"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["appended"] == 500


def test_a_table_in_json_is_still_a_table(admin: TestClient) -> None:
    body = {"columns": {"source": ["a", "b"] * 40, "x": list(range(80))}}
    answer = admin.post("/v1/datasets", params={"name": "json"}, json=body)
    assert answer.status_code == 201, answer.text
    assert [column["name"] for column in answer.json()["columns"]] == ["source", "x"]


def refused(answer: Any) -> bool:
    return (answer.status_code, answer.json()["type"]) == (403, "/problems/source-not-allowed")


def test_nothing_outside_the_roots_is_reached(
    admin: TestClient, root: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    split(secret, TABLE, 1)
    (tmp_path / "incoming-too").mkdir()
    split(tmp_path / "incoming-too", TABLE, 1)
    for source in (
        str(secret),
        f"{secret}/*.parquet",
        "/etc/passwd",
        "/no/such/place",
        "../secret/*.parquet",
        f"{root}/../secret/part-000.parquet",
        f"{root}-too/part-000.parquet",
        "s3://bucket/people/*.parquet",
        "http://127.0.0.1/people.parquet",
        "gs://bucket/people.parquet",
        f"file://{secret}/part-000.parquet",
    ):
        assert refused(imported(admin, source)), source


def test_links_are_not_followed_out_of_a_root(
    service: Service, admin: TestClient, root: Path, tmp_path: Path
) -> None:
    split(tmp_path / "secret", TABLE, 1)
    split(root / "people", TABLE, 1)
    (root / "folder").symlink_to(tmp_path / "secret")
    (root / "file.parquet").symlink_to(tmp_path / "secret" / "part-000.parquet")
    (root / "loop").symlink_to(root / "loop")
    for source in ("folder/*.parquet", "folder", "file.parquet", "folder/part-000.parquet", "*"):
        assert refused(imported(admin, source)), source
    (root / "within").symlink_to(root / "people")
    same(service, imported(admin, "within/*.parquet"), sent(admin, TABLE))


def test_a_link_put_in_the_place_of_a_file_opens_nothing(
    admin: TestClient, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(tmp_path / "secret", TABLE, 1)
    split(root, TABLE, 2)
    opened = SourceFile.opened

    def swapped(file: SourceFile) -> Any:
        os.unlink(file.path)
        os.symlink(tmp_path / "secret" / "part-000.parquet", file.path)
        return opened(file)

    monkeypatch.setattr(SourceFile, "opened", swapped)
    assert refused(imported(admin, "part-000.parquet"))


def test_without_roots_there_are_no_imports(
    sqlite_database: str, start_service: Callable[..., Service], root: Path
) -> None:
    split(root, TABLE, 1)
    assert refused(imported(start_service(sqlite_database).client(), f"{root}/part-000.parquet"))


def test_only_owners_import(service: Service, root: Path) -> None:
    split(root, TABLE, 1)
    for role in ("recipient", "auditor"):
        _, client = service.principal(role)
        assert imported(client, "part-000.parquet").status_code == 403
        assert imported(client, "part-000.parquet", dry_run="true").status_code == 403
    _, owner = service.principal("owner")
    assert imported(owner, "part-000.parquet").status_code == 201


def changing(monkeypatch: pytest.MonkeyPatch, change: Callable[[SourceFile], None]) -> None:
    """Change a file right after it was opened for the import."""
    opened = SourceFile.opened

    class Changed:
        def __init__(self, file: SourceFile) -> None:
            self._file, self._inner = file, opened(file)

        def __enter__(self) -> Any:
            entered = self._inner.__enter__()
            change(self._file)
            return entered

        def __exit__(self, *error: Any) -> Any:
            return self._inner.__exit__(*error)

    def entered_and_changed(file: SourceFile) -> Changed:
        return Changed(file)

    monkeypatch.setattr(SourceFile, "opened", entered_and_changed)


def longer(file: SourceFile) -> None:
    with open(file.path, "ab") as end:
        end.write(b"more")


def replaced(file: SourceFile) -> None:
    content = Path(file.path).read_bytes()
    os.unlink(file.path)
    Path(file.path).write_bytes(content)


@pytest.mark.parametrize("change", [longer, replaced, lambda file: os.unlink(file.path)])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_that_changes_or_vanishes_is_told_and_nothing_is_stored(
    service: Service,
    admin: TestClient,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[SourceFile], None],
    ending: str,
) -> None:
    split(root, TABLE, 1)
    pyarrow.csv.write_csv(TABLE, root / "part-000.csv")
    before = service.stored()
    changing(monkeypatch, change)
    answer = imported(admin, f"part-000.{ending}")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/source-changed")
    assert service.stored() == before
    assert admin.get("/v1/datasets").json()["datasets"] == []


def test_a_file_that_vanished_before_its_turn_is_told(
    admin: TestClient, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(root, TABLE, 3)
    changing(monkeypatch, lambda _: (root / "part-002.parquet").unlink(missing_ok=True))
    answer = imported(admin, "*.parquet")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/source-changed")
    assert "part-002" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (TABLE.rename_columns(["person", "age", "wages", "score", "city", "batch"]), "'wages'"),
        (TABLE.drop_columns(["city"]), "'city'"),
        (TABLE.select(["age", "person", "income", "score", "city", "batch"]), "order"),
    ],
)
def test_files_with_other_columns_are_refused(
    service: Service, admin: TestClient, root: Path, other: pa.Table, words: str
) -> None:
    split(root, TABLE, 2)
    pq.write_table(other, root / "part-001.parquet")
    answer = imported(admin, "*.parquet")
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-table")
    assert words in answer.json()["detail"]
    assert "part-001.parquet" in answer.json()["detail"]
    assert [path for path in service.stored() if path.suffix == ".parquet"] == []


def test_what_is_no_source_is_told(admin: TestClient, root: Path) -> None:
    (root / "empty").mkdir()
    (root / "broken.parquet").write_bytes(b"PAR1 and nothing")
    os.mkfifo(root / "pipe.parquet")
    for source in ("empty", "none.parquet", "*.csv", "", "a\0b", "pipe.parquet"):
        assert imported(admin, source).status_code == 422, source
    assert imported(admin, "broken.parquet").json()["type"] == "/problems/invalid-table"
    both = admin.post("/v1/datasets?name=x", json={"source": "empty", "sauce": "empty"})
    assert both.status_code == 422


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with s3_server() as server:
        yield server


def test_a_hundred_files_in_a_bucket_are_the_same_data_set(
    sqlite_database: str,
    start_service: Callable[..., Service],
    s3: S3,
    hundred: tuple[pa.Table, Path],
) -> None:
    table, folder = hundred
    for file in sorted(folder.iterdir()):
        s3.client.put_object(Bucket=s3.bucket, Key=f"in/people/{file.name}", Body=file.read_bytes())
    s3.client.put_object(Bucket=s3.bucket, Key="secret/x.parquet", Body=as_parquet(TABLE))
    service = start_service(sqlite_database, IMPORT_ROOTS=s3.url("in"))
    admin = service.client()
    same(service, imported(admin, f"s3://{s3.bucket}/in/people/*.parquet"), sent(admin, table))
    one = imported(admin, f"s3://{s3.bucket}/in/people/part-000.parquet", name="one")
    assert one.json()["rows"] == ROWS // 100
    for source in (
        f"s3://{s3.bucket}/secret/x.parquet",
        f"s3://{s3.bucket}/in/../secret/x.parquet",
        "s3://other/in/people/*.parquet",
        s3.url("in/people/part-000.parquet"),
    ):
        assert refused(imported(admin, source, name="refused")), source
    assert imported(admin, f"s3://{s3.bucket}/in/none", name="none").status_code == 422


def test_an_object_that_changes_is_told(
    sqlite_database: str,
    start_service: Callable[..., Service],
    s3: S3,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    s3.client.put_object(Bucket=s3.bucket, Key="in/one.parquet", Body=as_parquet(TABLE))
    admin = start_service(sqlite_database, IMPORT_ROOTS=s3.url("in")).client()
    changing(
        monkeypatch,
        lambda _: s3.client.put_object(Bucket=s3.bucket, Key="in/one.parquet", Body=b"other"),
    )
    answer = imported(admin, f"s3://{s3.bucket}/in/one.parquet")
    assert answer.json()["type"] == "/problems/source-changed"
