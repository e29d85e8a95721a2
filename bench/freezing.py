"""Cost of freezing, which precedes the first copy of a data set, against one pass of reading."""

from __future__ import annotations

import tempfile
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa

from app.model import BLOCK_ROWS, Column, Kind, Part, Storage
from app.numerics.copies.shapes.gaps.runs import compile_runs
from app.service.datasets.protection.freeze import FreezeInput, measure_rows
from app.service.executor import Threads
from app.service.resources import Resources
from app.store.blobs.store import BlobStore
from app.store.vault import Vault
from bench.measure import Measured, Ratio, interleaved, record

ROWS = 1_000_000
NUMBERS = 10
CATEGORIES = (3, 8, 20, 60, 200)
MISSING = 0.05


EFFECTS = {
    "independent": 0.0,
    "dependent": 1.0,
}
"""Standard deviation of each category's effect on each number; the numbers have about √10."""

ROUNDS = 25


def main() -> None:
    compile_runs()
    with tempfile.TemporaryDirectory() as folder:
        store = BlobStore.at(folder, Vault(bytes(32)))
        measured = [_measure(store, *kind) for kind in EFFECTS.items()]
    record("freezing", *Measured.of(measured))


def _measure(store: BlobStore, kind: str, effect: float) -> Measured:
    blob = kind.replace(" ", "-")
    rows = FreezeInput(_columns(), (_store(store, blob, effect),), ())
    resources = cast("Resources", SimpleNamespace(blobs=store, executor=Threads()))
    names = [column.name for column in rows.columns]

    def reading() -> None:
        for _ in store.read_rows(blob, 0, ROWS, names):
            pass

    def freezing() -> None:
        measure_rows(resources, rows, bytes(32))

    took = interleaved({"reading": reading, "freezing": freezing}, repeats=ROUNDS)
    claim = (
        f"freezing {ROWS:,} × {NUMBERS} numbers with {MISSING:.0%} missing and {len(CATEGORIES)}"
        f" {kind} categorical columns, over reading them once"
    )
    ratio = Ratio(claim, took["freezing"] / took["reading"], 1.8)
    note = (
        f"With {kind} categories one pass takes {took['reading']:.2f} s and freezing"
        f" {took['freezing']:.2f} s: medians of {ROUNDS} interleaved rounds."
    )
    return Measured([ratio], notes=[note])


def _columns() -> tuple[Column, ...]:
    numeric = [Column(f"x{j}", Kind.NUMERIC, Storage.NUMBER, "") for j in range(NUMBERS)]
    text = [Column(f"c{j}", Kind.CATEGORICAL, Storage.TEXT, "") for j in range(len(CATEGORIES))]
    return (*numeric, *text)


def _store(store: BlobStore, blob: str, effect: float) -> Part:
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(NUMBERS, NUMBERS))
    effects = [effect * rng.normal(size=(size, NUMBERS)) for size in CATEGORIES]
    schema = pa.schema(
        [
            (column.name, pa.float64() if column.storage is Storage.NUMBER else pa.large_string())
            for column in _columns()
        ]
    )
    with store.writer(blob, schema) as writer:
        for start in range(0, ROWS, BLOCK_ROWS):
            n = min(BLOCK_ROWS, ROWS - start)
            codes = [rng.integers(0, size, n) for size in CATEGORIES]
            X = rng.normal(size=(n, NUMBERS)) @ mixing
            for own, by_category in zip(codes, effects, strict=True):
                X += by_category[own]
            X[rng.random(X.shape) < MISSING] = np.nan
            numbers = [pa.array(column, from_pandas=True) for column in X.T]
            texts = [pa.array([f"v{one}" for one in own], pa.large_string()) for own in codes]
            writer.write(pa.record_batch([*numbers, *texts], schema=schema))
        writer.finish()
    return Part(0, 0, ROWS, blob, "")


if __name__ == "__main__":
    main()
