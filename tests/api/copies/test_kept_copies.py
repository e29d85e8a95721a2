"""Blocks of copies that are kept for the next download: the same bytes, the same refusals."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from app.main import BESIDE_VALUES
from app.model import BLOCK_ROWS
from app.store.blobs.store import BlobStore
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    ARROW,
    CSV,
    append,
    content,
    copy_database,
    issue,
    mixed_table,
    register,
)

ROWS = 500


@pytest.fixture
def keeping(sqlite_database: str, tmp_path: Path) -> Iterator[Service]:
    """A service that keeps what it releases."""
    service = Service(sqlite_database, tmp_path / "home", COPY_CACHE_BYTES=str(2**24))
    yield service
    service.close()


@pytest.fixture
def making(keeping: Service, sqlite_database: str, tmp_path: Path) -> Iterator[Service]:
    """Another on the same data, which makes every row anew."""
    service = Service(sqlite_database, tmp_path / "home", NOISE_CACHE_BYTES="1")
    yield service
    service.close()


def same(kept: TestClient, made: TestClient, copy: str, **params: Any) -> None:
    for accept in (CSV, ARROW):
        twice = [content(kept, copy, accept, **params) for _ in range(2)]
        anew = content(made, copy, accept, **params)
        assert twice[0].content == twice[1].content == anew.content != b""
        assert twice[0].headers["etag"] == anew.headers["etag"]


def without_gaps(seed: int) -> pa.Table:
    """Rows without missing cells: all that is said of the columns stays as it was."""
    table = mixed_table(ROWS, seed)
    return table.set_column(3, "score", table.column("score").fill_null(1.5))


def test_what_is_kept_is_what_would_be_made(keeping: Service, making: Service) -> None:
    kept, made = keeping.client(), making.client()
    dataset = register(kept, mixed_table(ROWS))
    copies = [issue(kept, dataset, level=level)["id"] for level in ("b", "a")]
    for copy in copies:
        same(kept, made, copy)
        same(kept, made, copy, rows="10:77")
        same(kept, made, copy, columns="score,city")
    append(kept, dataset, without_gaps(seed=1))
    for copy in copies:
        same(kept, made, copy, rows=f"{ROWS - 5}:{ROWS + 5}")
        same(kept, made, copy)
    kept.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [0, 5, ROWS]})
    for copy in copies:
        same(kept, made, copy)
        same(kept, made, copy, rows="3:9")
    assert keeping.app.state.resources.copies.bytes_held > 0
    assert making.app.state.resources.copies.bytes_held == 0


def test_what_names_a_kept_batch_does_not_grow_with_its_parts(keeping: Service) -> None:
    client = keeping.client()
    dataset = register(client, without_gaps(seed=0))
    copy = issue(client, dataset, level="a")["id"]
    for seed in range(1, 9):
        append(client, dataset, without_gaps(seed).slice(0, 60))
        content(client, copy, CSV)
    names = list(keeping.app.state.resources.copies._blocks)
    assert len(names) > 4
    assert len({len(pickle.dumps(name)) for name in names}) == 1


def test_a_copy_that_is_kept_needs_no_original(
    keeping: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keeping.client()
    dataset = register(client, mixed_table(ROWS))
    copy, other = (issue(client, dataset, level=level)["id"] for level in ("b", "a"))
    whole = content(client, copy, CSV).content
    monkeypatch.setattr(BlobStore, "read_rows", None)
    assert content(client, copy, CSV).content == whole
    assert content(client, other, CSV).status_code == 500


def test_kept_blocks_are_told_apart(keeping: Service, making: Service) -> None:
    """Two data sets with the same columns, of two blocks each, and rows retired in the second."""
    kept, made = keeping.client(), making.client()
    rows = BLOCK_ROWS + 1_000
    copies = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        table = pa.table({"x": rng.normal(size=rows), "n": np.arange(rows) % 9})
        dataset = register(kept, table, name=f"set-{seed}", columns='{"n": "passthrough"}')
        copies.append(issue(kept, dataset, level="b")["id"])
        gone = [3, BLOCK_ROWS + 5, BLOCK_ROWS + 7]
        kept.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": gone})
    for copy in copies:
        same(kept, made, copy)
    whole = pa.ipc.open_stream(content(kept, copies[0]).content).read_all()
    everything = rows - 3
    assert whole.num_rows == everything
    first = pa.ipc.open_stream(content(made, copies[0], rows=f"0:{BLOCK_ROWS}").content).read_all()
    assert whole.slice(0, BLOCK_ROWS - 1).equals(first)
    append(kept, dataset, pa.table({"x": [1.0], "n": [0.5]}))  # the first block's rows stay
    same(kept, made, copies[-1])


def test_the_etag_changes_with_the_bytes(keeping: Service, making: Service) -> None:
    """When rows are retired, and when what was whole so far has a fraction now."""
    kept, made = keeping.client(), making.client()
    dataset = register(kept, mixed_table(ROWS))
    copy = issue(kept, dataset, level="b")["id"]
    before = content(kept, copy, CSV, rows="0:9")
    retired = kept.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [4]})
    assert retired.status_code == 200
    after = content(kept, copy, CSV, rows="0:9")
    assert after.headers["etag"] != before.headers["etag"]
    fraction = without_gaps(seed=1)
    fraction = fraction.set_column(5, "batch", pa.array(np.full(ROWS, 0.5)))
    content(kept, copy, CSV)
    append(kept, dataset, fraction)
    now = content(kept, copy, CSV, rows="0:9")
    assert now.headers["etag"] != after.headers["etag"]
    assert now.content != after.content
    same(kept, made, copy)


def test_what_was_kept_before_a_restore_is_not_taken_for_what_came_after(
    keeping: Service, making: Service, sqlite_database: str, tmp_path: Path
) -> None:
    kept, made = keeping.client(), making.client()
    dataset = register(kept, mixed_table(ROWS))
    copy = issue(kept, dataset, level="b")["id"]
    backup = f"sqlite:///{tmp_path}/backup.sqlite"
    copy_database(sqlite_database, backup)
    append(kept, dataset, without_gaps(seed=1))
    lost = content(kept, copy, CSV)
    copy_database(backup, sqlite_database)
    append(kept, dataset, without_gaps(seed=2))  # as many rows, under the same ordinals
    after = content(kept, copy, CSV)
    assert after.content == content(made, copy, CSV).content != lost.content
    assert after.headers["etag"] != lost.headers["etag"]


def test_what_is_kept_for_one_is_not_for_another(keeping: Service) -> None:
    owner = keeping.client()
    dataset = register(owner, mixed_table(ROWS))
    copy = issue(owner, dataset, level="b")["id"]
    assert content(owner, copy).status_code == 200
    recipient, client = keeping.principal("recipient")
    assert content(client, copy).status_code == 404
    grant = f"/v1/datasets/{dataset}/grants/{recipient}"
    owner.put(grant, json={"level": "c"})  # more perturbed than the copy
    assert content(client, copy).status_code == 404
    owner.put(grant, json={"level": "b", "columns": ["age"]})
    assert content(client, copy, CSV).content.splitlines()[0] == b"age"
    owner.delete(grant)
    assert content(client, copy).status_code == 404


def test_a_row_group_is_kept_until_the_last_of_its_rows_has_left(making: Service) -> None:
    client = making.client()
    rng = np.random.default_rng(1)
    table = pa.table({f"x{number}": rng.normal(size=20_000) for number in range(40)})
    dataset = register(client, table, columns=None, levels=False)
    copy = issue(client, dataset, noise_variance=0.5)["id"]
    whole = pa.ipc.open_stream(content(client, copy).content).read_all()
    assert whole.column(0).num_chunks == 3
    for rows, kept in (("0:8192", True), ("8192:16384", True), ("16384:20000", False)):
        found = pa.ipc.open_stream(content(client, copy, rows=rows).content).read_all()
        assert found.equals(whole.slice(int(rows.split(":")[0]), found.num_rows))
        assert (making.app.state.resources.row_groups.bytes_held > 0) is kept


def test_a_copy_that_does_not_fit_leaves_the_room_to_those_that_do(
    keeping: Service, making: Service
) -> None:
    kept, made = keeping.client(), making.client()
    copies = []
    for rows, columns in ((1_000, 3), (3 * BLOCK_ROWS, 11)):  # the second takes 17.3 MB of 16.8
        rng = np.random.default_rng(rows)
        table = pa.table({f"x{number}": rng.normal(size=rows) for number in range(columns)})
        dataset = register(kept, table, name=f"rows-{rows}", columns=None, levels=False)
        copies.append(issue(kept, dataset, noise_variance=0.5)["id"])
    small, large = copies
    held = keeping.app.state.resources.copies
    same(kept, made, small)
    before = held.bytes_held
    assert before > 0
    same(kept, made, large)
    assert held.bytes_held == before
    same(kept, made, large, rows=f"0:{BLOCK_ROWS}")  # what is asked for does fit
    assert held.bytes_held == before + BLOCK_ROWS * 11 * 8 + 2 * BESIDE_VALUES  # cut in two
