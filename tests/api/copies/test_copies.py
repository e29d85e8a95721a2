"""Issuing, showing and downloading copies over HTTP."""

from __future__ import annotations

import ast
import hashlib
import io
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from papers.experiment import SHARED_DATA
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    ARROW,
    CSV,
    JSON,
    PARQUET,
    append,
    append_now,
    content,
    issue,
    mixed_table,
    register,
    rows_of,
)
from tests.example_tables import as_csv, census
from tests.shared_data import needs

ROWS = 400


@pytest.fixture
def dataset(admin: TestClient) -> str:
    return register(admin, mixed_table(ROWS))


def cells(table: pa.Table) -> dict[str, list[Any]]:
    return {name: table.column(name).to_pylist() for name in table.column_names}


def test_a_level_is_issued_once_and_repeated_ever_after(service_on_each_database: Service) -> None:
    client = service_on_each_database.client()
    dataset = register(client, mixed_table(ROWS))
    first = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "b"})
    again = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "b"})
    by_variance = client.post(f"/v1/datasets/{dataset}/copies", json={"noise_variance": 0.5})
    assert (first.status_code, again.status_code, by_variance.status_code) == (201, 200, 200)
    assert first.json() == again.json() == by_variance.json()
    copy = first.json()
    assert copy["dataset"] == dataset
    assert copy["levels"] == ["b"]
    assert copy["noise_variance"] == 0.5
    assert copy["privacy"] == pytest.approx(1 / 3)
    assert copy["sequence"] == 1
    assert copy["rows"] == ROWS
    assert [column["name"] for column in copy["columns"]] == [
        "age",
        "income",
        "score",
        "city",
        "batch",
    ]
    assert client.get(f"/v1/datasets/{dataset}").json()["frozen"] is True
    shown = client.get(f"/v1/copies/{copy['id']}").json()
    assert {name: shown[name] for name in copy} == copy
    assert len(shown["checksum"]) == 64


def test_a_download_has_python_parse_nothing(
    admin: TestClient, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Python 3.11 `ast` fails like this now and then where several threads parse at once."""
    copy = issue(admin, dataset, level="a")["id"]

    def disturbed(_: object) -> object:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ast, "literal_eval", disturbed)
    assert rows_of(admin, copy, ARROW).num_rows == ROWS


def test_all_formats_and_slices_hold_the_same_values(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    whole = cells(rows_of(admin, copy, ARROW))
    for accept in (CSV, PARQUET, JSON):
        assert cells(rows_of(admin, copy, accept)) == whole
    part = cells(rows_of(admin, copy, CSV, rows="17:123", columns="score,city"))
    assert part == {name: whole[name][17:123] for name in ("score", "city")}
    assert cells(rows_of(admin, copy, ARROW, rows=":3", columns=["age", "batch"])) == {
        name: whole[name][:3] for name in ("age", "batch")
    }
    assert rows_of(admin, copy, ARROW, rows="400:500").num_rows == 0
    assert cells(rows_of(admin, copy, PARQUET, rows="399:")) == {
        name: values[399:] for name, values in whole.items()
    }


def test_what_leaves_is_perturbed_typed_and_in_order(admin: TestClient, dataset: str) -> None:
    original = mixed_table(ROWS)
    copy = issue(admin, dataset, level="b")
    table = rows_of(admin, copy["id"])
    assert table.column_names == ["age", "income", "score", "city", "batch"]
    assert table.column("batch").to_pylist() == original.column("batch").to_pylist()
    assert table.schema.field("batch").type == pa.int64()
    assert table.column("score").is_null().to_pylist() == (
        original.column("score").is_null().to_pylist()
    )
    exponents = {column["name"]: column["grid_exponent"] for column in copy["columns"]}
    for name in ("age", "income", "score"):
        values = table.column(name).drop_null().to_numpy()
        steps = values / 2.0 ** exponents[name]
        np.testing.assert_array_equal(steps, np.rint(steps))
        noise = values - original.column(name).drop_null().to_numpy()
        scale = np.std(original.column(name).drop_null().to_numpy()) * np.sqrt(0.5)
        assert 0.8 * scale < noise.std() < 1.2 * scale
    assert exponents["city"] is None
    kept = np.array(table.column("city").to_pylist()) == original.column("city").to_pylist()
    q = 1 / (1 + copy["applied_variance"])
    assert kept.mean() == pytest.approx(q + (1 - q) * 0.38, abs=0.08)
    assert set(table.column("city").to_pylist()) == {"Rome", "Oslo", "Bern"}


def test_whole_numbers_and_bounds_are_kept_where_the_owner_asks(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(ROWS))
    form = {"age": {"round_to_integer": True, "lower": 17.5, "upper": 90}, "income": {"lower": 0}}
    assert admin.put(f"/v1/datasets/{dataset}/columns", json=form).status_code == 200
    table = rows_of(admin, issue(admin, dataset, level="d")["id"])
    assert table.schema.field("age").type == pa.int64()
    ages = table.column("age").to_numpy()
    assert (ages.min(), ages.max()) == (18, 90)
    assert table.column("income").to_numpy().min() == 0
    changed = admin.put(f"/v1/datasets/{dataset}/columns", json={"age": {"lower": 0}})
    assert changed.json()["type"] == "/problems/dataset-frozen"


def test_a_batch_comes_in_the_order_asked_whichever_way_it_is_drawn(admin: TestClient) -> None:
    asked = ["c", "a", "d", "b"]
    for algorithm, drawn in (
        ("parallel", [1.0, 0.25, 4.0, 0.5]),
        ("sequential", [0.25, 0.5, 1, 4]),
    ):
        dataset = register(admin, mixed_table(ROWS), name=algorithm)
        form = {"levels": asked, "algorithm": algorithm}
        answer = admin.post(f"/v1/datasets/{dataset}/copies/batch", json=form)
        assert answer.status_code == 201
        assert [copy["levels"] for copy in answer.json()["copies"]] == [[name] for name in asked]
        entries = admin.get(f"/v1/datasets/{dataset}/history").json()["entries"]
        assert [entry["noise_variance"] for entry in entries] == drawn
        again = admin.post(f"/v1/datasets/{dataset}/copies/batch", json=form)
        assert (again.status_code, again.json()) == (200, answer.json())


def test_a_batch_with_one_unknown_level_draws_nothing(admin: TestClient, dataset: str) -> None:
    form = {"levels": ["a", "nobody's"]}
    assert admin.post(f"/v1/datasets/{dataset}/copies/batch", json=form).status_code == 404
    assert admin.get(f"/v1/datasets/{dataset}/history").json()["entries"] == []
    assert admin.get(f"/v1/datasets/{dataset}").json()["frozen"] is False


def test_the_history_tells_what_was_drawn_and_pages(admin: TestClient, dataset: str) -> None:
    copies = [issue(admin, dataset, level=level) for level in ("b", "d", "a", "c")]
    page = admin.get(f"/v1/datasets/{dataset}/history", params={"limit": 3}).json()
    rest = admin.get(
        f"/v1/datasets/{dataset}/history", params={"cursor": page["next_cursor"]}
    ).json()
    entries = page["entries"] + rest["entries"]
    assert [entry["copy_id"] for entry in entries] == [copy["id"] for copy in copies]
    assert [entry["noise_variance"] for entry in entries] == [0.5, 4.0, 0.25, 1.0]
    assert [(entry["lower"], entry["upper"]) for entry in entries] == [
        (None, None),
        (0.5, None),
        (None, 0.5),
        (0.5, 4.0),
    ]
    for before, after in pairwise(entries):
        assert after["previous_hash"] == before["hash"]
    assert {entry["recipe"] for entry in entries} == {"aes256ctr-segments-v2+aes256ctr-records-v3"}
    assert rest["next_cursor"] is None


def test_old_rows_keep_their_values_when_rows_are_added(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    before = cells(rows_of(admin, copy))
    append(admin, dataset, mixed_table(ROWS, seed=9))
    whole = rows_of(admin, copy)
    assert whole.num_rows == 2 * ROWS
    assert {name: values[:ROWS] for name, values in cells(whole).items()} == before
    later = issue(admin, dataset, level="c")["id"]
    both = np.stack(
        [rows_of(admin, one).column("income").to_numpy()[ROWS:] for one in (copy, later)]
    )
    noise = both - mixed_table(ROWS, seed=9).column("income").to_numpy()
    # √(0.25 / 1) = ½ in expectation, with a standard error of 0.04.
    assert 0.25 < np.corrcoef(noise)[0, 1] < 0.75, "copies of later rows follow the same path"


def test_retired_rows_disappear_from_later_downloads(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    before = rows_of(admin, copy)
    retired = [0, 5, 399]
    assert (
        admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": retired}).status_code
        == 200
    )
    after = rows_of(admin, copy)
    kept = [row for row in range(ROWS) if row not in retired]
    assert cells(after) == cells(before.take(kept))
    assert rows_of(admin, copy, rows="0:6").num_rows == 4
    assert admin.get(f"/v1/copies/{copy}").json()["rows"] == ROWS - 3


def test_an_unchanged_copy_is_not_sent_again(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    path = f"/v1/copies/{copy}/content"
    as_it_is = {"accept": CSV, "accept-encoding": "identity"}
    etag = admin.get(path, headers=as_it_is).headers["etag"]
    assert not etag.startswith("W/")
    assert etag != content(admin, copy, PARQUET).headers["etag"]
    same = admin.get(path, headers={"accept": CSV, "if-none-match": f'"x", {etag}'})
    assert (same.status_code, same.content) == (304, b"")
    append_now(admin, dataset, mixed_table(1, seed=3))
    changed = admin.get(path, headers={"accept": CSV, "if-none-match": etag})
    assert changed.status_code == 200


@pytest.mark.parametrize("accept", [CSV, PARQUET])
def test_ranges_are_parts_of_the_whole(admin: TestClient, dataset: str, accept: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    whole = content(admin, copy, accept)
    total = len(whole.content)
    for asked, expected in [
        ("bytes=0-99", whole.content[:100]),
        ("bytes=1000-", whole.content[1000:]),
        ("bytes=-8", whole.content[-8:]),
        (f"bytes=10-{10 * total}", whole.content[10:]),
    ]:
        headers = {"accept": accept, "range": asked}
        part = admin.get(f"/v1/copies/{copy}/content", headers=headers)
        assert part.status_code == 206
        assert part.content == expected
        assert part.headers["content-range"].endswith(f"/{total}")
        assert int(part.headers["content-length"]) == len(expected)
    other = {"accept": accept, "range": "bytes=0-9", "if-range": '"other"'}
    assert admin.get(f"/v1/copies/{copy}/content", headers=other).content == whole.content
    beyond = {"accept": accept, "range": f"bytes={total}-"}
    refused = admin.get(f"/v1/copies/{copy}/content", headers=beyond)
    assert refused.status_code == 416
    assert refused.headers["content-range"] == f"bytes */{total}"


def test_formats_without_ranges_answer_whole(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    whole = content(admin, copy, ARROW)
    assert whole.headers["accept-ranges"] == "none"
    headers = {"accept": ARROW, "range": "bytes=0-9"}
    assert admin.get(f"/v1/copies/{copy}/content", headers=headers).content == whole.content


def test_the_checksum_is_of_the_values(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    first = admin.get(f"/v1/copies/{copy}").json()["checksum"]
    assert admin.get(f"/v1/copies/{copy}").json()["checksum"] == first
    other = issue(admin, dataset, level="b")["id"]
    assert admin.get(f"/v1/copies/{other}").json()["checksum"] != first
    append_now(admin, dataset, mixed_table(1, seed=3))
    assert admin.get(f"/v1/copies/{copy}").json()["checksum"] != first


def test_the_checksum_can_be_computed_from_a_download(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(50))
    admin.put(f"/v1/datasets/{dataset}/columns", json={"score": {"round_to_integer": True}})
    copy = issue(admin, dataset, level="a")["id"]
    digests = b""
    for values in rows_of(admin, copy).columns:
        digest = hashlib.sha256()
        for cell in values.to_pylist():
            match cell:
                case None:
                    digest.update(bytes(9))
                case str():
                    digest.update(b"\1" + struct.pack("<q", len(cell.encode())) + cell.encode())
                case int():
                    digest.update(b"\1" + struct.pack("<q", cell))
                case _:
                    digest.update(b"\1" + struct.pack("<d", cell))
        digests += digest.digest()
    expected = hashlib.sha256(digests).hexdigest()
    assert admin.get(f"/v1/copies/{copy}").json()["checksum"] == expected


def test_what_passes_through_is_unchanged_however_large(admin: TestClient) -> None:
    large = [1e20, 2e20, -3e25, 4.0]
    table = pa.table({"x": [1.0, 2.0, 4.0, 9.0], "large": large})
    dataset = register(admin, table, columns='{"large": "passthrough"}')
    copy = issue(admin, dataset, level="a")["id"]
    assert rows_of(admin, copy).column("large").to_pylist() == large


def test_values_at_a_bound_lie_on_the_grid_too(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(ROWS))
    bounds = {"score": {"lower": 0.1, "upper": 0.7}}
    assert admin.put(f"/v1/datasets/{dataset}/columns", json=bounds).status_code == 200
    copy = issue(admin, dataset, level="d")
    exponents = {column["name"]: column["grid_exponent"] for column in copy["columns"]}
    released = rows_of(admin, copy["id"]).column("score").drop_null().to_numpy()
    steps = released / 2.0 ** exponents["score"]
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert 0.1 <= released.min() < 0.1001
    assert 0.6999 < released.max() <= 0.7


def test_bounds_that_no_integer_meets_are_refused(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(ROWS))
    form = {"age": {"round_to_integer": True, "lower": 0.2, "upper": 0.8}}
    assert admin.put(f"/v1/datasets/{dataset}/columns", json=form).status_code == 422


def test_a_table_of_several_blocks_comes_out_whole(admin: TestClient) -> None:
    rows = 2 * 65_536 + 100
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.normal(size=rows), "y": rng.normal(size=rows)})
    dataset = register(admin, table, columns=None)
    append(admin, dataset, table.slice(0, 70_000), allow_versions="true")
    copy = issue(admin, dataset, noise_variance=0.5)["id"]
    whole = rows_of(admin, copy)
    assert whole.num_rows == rows + 70_000
    boundary = f"{rows - 5}:{rows + 5}"
    assert cells(rows_of(admin, copy, rows=boundary)) == cells(whole.slice(rows - 5, 10))
    assert pq.read_table(io.BytesIO(content(admin, copy, PARQUET).content)).equals(
        whole.combine_chunks()
    )
    noise = whole.column("x").to_numpy()[rows:] - table.column("x").to_numpy()[:70_000]
    first = whole.column("x").to_numpy()[:70_000] - table.column("x").to_numpy()[:70_000]
    assert abs(np.corrcoef(noise, first)[0, 1]) < 0.02, "the same row again has other noise"


@pytest.mark.parametrize(
    "table", ["generated", pytest.param("public", marks=needs("data/adult.csv"))]
)
def test_a_mixed_table_is_issued_whole(admin: TestClient, table: str) -> None:
    """A census: six numeric and nine categorical columns, gaps in three of them."""
    public = table == "public"
    body = (SHARED_DATA / "adult.csv").read_bytes() if public else as_csv(census(10_000))
    # Of sixteen different values it would be a category; as a number the records tell it.
    params = {"name": "adult", "columns": '{"education_num": "numeric"}'}
    made = admin.post(
        "/v1/datasets", params=params, content=body, headers={"content-type": CSV}
    ).json()
    assert {column["kind"] for column in made["columns"]} == {"numeric", "categorical"}
    variance = 0.5
    copy = issue(admin, made["id"], noise_variance=variance)
    original = pyarrow.csv.read_csv(io.BytesIO(body))
    released = rows_of(admin, copy["id"])
    rows = original.num_rows
    assert released.num_rows == rows
    assert released.column_names == original.column_names
    applied = copy["applied_variance"]
    assert variance < applied < variance + np.sqrt(variance * (1 + variance)) + 1e-9
    kept = (1 + applied) ** -1.25
    for column in copy["columns"]:
        before, after = original.column(column["name"]), released.column(column["name"])
        if column["perturbation"] == "noise":
            spread = np.var(after.to_numpy()) / np.var(before.to_numpy())
            assert spread == pytest.approx(1 + applied, rel=0.05)
            continue
        assert after.null_count == pytest.approx(before.null_count, abs=2 * np.sqrt(rows))
        shares = [count["counts"] / rows for count in pc.value_counts(before).to_pylist()]
        if before.null_count:
            continue  # equal is not defined for missing cells
        same = pc.mean(pc.equal(before, after)).as_py()
        assert same == pytest.approx(kept + (1 - kept) * sum(s * s for s in shares), abs=0.02)
