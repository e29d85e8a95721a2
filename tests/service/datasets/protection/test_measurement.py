"""Rows are measured in one pass: moments of all parts together, from all of their row groups."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from app.model import BLOCK_ROWS, Column, Kind, Part, Storage
from app.numerics.copies.shapes.row_moments import RowMoments, row_moments
from app.service.datasets.protection import freeze
from app.service.datasets.protection.freeze import FreezeInput, measure_rows
from app.service.datasets.protection.row_sample import part_batches
from app.service.executor import Threads
from app.service.resources import Resources
from app.store.blobs.store import BlobStore
from app.store.vault import Vault

COLUMNS = (
    Column("x", Kind.NUMERIC, Storage.NUMBER, ""),
    Column("y", Kind.NUMERIC, Storage.NUMBER, ""),
    Column("c", Kind.CATEGORICAL, Storage.TEXT, ""),
)


def keep(store: BlobStore, name: str, X: NDArray[np.float64]) -> None:
    """Numbers, NaN where missing, beside categories that tell nothing of them."""
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), ("c", pa.large_string())])
    rng = np.random.default_rng(len(X))
    with store.writer(name, schema) as writer:
        for start in range(0, len(X), BLOCK_ROWS):
            some = X[start : start + BLOCK_ROWS]
            texts = pa.array(rng.choice(["a", "b", "c"], len(some)), pa.large_string())
            numbers = [pa.array(column, from_pandas=True) for column in some.T]
            writer.write(pa.record_batch([*numbers, texts], schema=schema))
        writer.finish()


def test_every_row_group_of_every_part_is_counted(tmp_path: Path) -> None:
    """Rows that are withdrawn are not; and the last row group is as good as the others."""
    rng = np.random.default_rng(1)
    store = BlobStore.at(str(tmp_path), Vault(bytes(32)))
    sizes = (2 * BLOCK_ROWS + 100, 700)
    tables, parts, first = [], [], 0
    for number, rows in enumerate(sizes):
        X = rng.normal(size=(rows, 2)) + np.arange(rows)[:, None] / 1_000
        X[rng.random(X.shape) < 0.1] = np.nan
        keep(store, f"part-{number}", X)
        parts.append(Part(number, first, rows, f"part-{number}", ""))
        tables.append(X)
        first += rows
    retired = (5, BLOCK_ROWS + 3, sizes[0] + 1)
    resources = cast("Resources", SimpleNamespace(blobs=store, executor=Threads()))
    found = measure_rows(resources, FreezeInput(COLUMNS, tuple(parts), retired), bytes(32))
    assert [column.name for column in found.numeric] == ["x", "y"]
    expected = row_moments(np.delete(np.concatenate(tables), retired, axis=0))
    assert found.moments.rows == expected.rows
    assert found.moments.complete_rows == expected.complete_rows
    np.testing.assert_allclose(
        found.moments.imputed_covariance(), expected.imputed_covariance(), rtol=1e-9
    )


def test_moments_that_fail_are_never_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken beside what reads on: a shape of the other rows would hide these too little."""
    store = BlobStore.at(str(tmp_path), Vault(bytes(32)))
    rows = 3 * BLOCK_ROWS
    keep(store, "part-0", np.random.default_rng(1).normal(size=(rows, 2)))
    asked: list[int] = []

    def failing(X: NDArray[np.float64]) -> RowMoments:
        asked.append(len(X))
        if len(asked) == 2:
            raise MemoryError
        return row_moments(X)

    monkeypatch.setattr(freeze, "row_moments", failing)
    resources = cast("Resources", SimpleNamespace(blobs=store, executor=Threads()))
    parts = (Part(0, 0, rows, "part-0", ""),)
    with pytest.raises(MemoryError):
        measure_rows(resources, FreezeInput(COLUMNS, parts, ()), bytes(32))
    assert len(asked) == 3


def test_few_batches_are_held_however_many_parts_they_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading is faster than counting here; what was read and is not counted must not pile up."""
    store = BlobStore.at(str(tmp_path), Vault(bytes(32)))
    X = np.random.default_rng(1).normal(size=(50, 2))
    parts = tuple(Part(place, 50 * place, 50, f"part-{place}", "") for place in range(20))
    for part in parts:
        keep(store, part.blob, X)
    read: list[pa.RecordBatch] = []
    held: list[int] = []

    def counted(X: NDArray[np.float64]) -> RowMoments:
        time.sleep(0.02)
        held.append(len(read) - len(held))
        return row_moments(X)

    def reading(*arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        for batch in part_batches(*arguments, **options):
            read.append(batch)
            yield batch

    monkeypatch.setattr(freeze, "row_moments", counted)
    monkeypatch.setattr(freeze, "part_batches", reading)
    resources = cast("Resources", SimpleNamespace(blobs=store, executor=Threads()))
    found = measure_rows(resources, FreezeInput(COLUMNS, parts, ()), bytes(32))
    assert found.moments.rows == 20 * 50
    assert max(held) <= freeze.BEHIND + 2
