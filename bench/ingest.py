"""Registering a large CSV: time against plain pyarrow, and resident memory.

The plain side is what one would write by hand: pyarrow reads the CSV in a stream and writes the same
Parquet, row groups of 65,536 rows and doubles without a dictionary, and does nothing else. The
service's side also checks every cell, finds kinds, moments and categories, and encrypts.
Each side runs in a process of its own, so that its peak of resident memory is its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from app.api.tables.reading import read_batches
from app.model import BLOCK_ROWS, Limits
from app.service.ingest import ingest
from app.store.blobs import BlobStore
from app.store.row_blocks import row_blocks
from app.store.vault import Vault
from bench.measure import Ratio, Series, record

ROWS, COLUMNS = 5_000_000, 10
SIZES = (500_000, 1_500_000, ROWS)
REPEATS = 3
MEBIBYTE = 2**20

Side = Callable[[Path, Path], None]


def write_csv(path: Path, rows: int) -> None:
    """Standard normals in full precision, made and written in parts."""
    rng = np.random.default_rng(1)
    names = [f"c{j}" for j in range(COLUMNS)]
    with path.open("wb") as file:
        for start in range(0, rows, 500_000):
            part = rng.normal(size=(min(500_000, rows - start), COLUMNS))
            pl.DataFrame(part, schema=names).write_csv(file, include_header=start == 0)


def plain(source: Path, folder: Path) -> None:
    """Pyarrow from CSV to Parquet, with its own defaults but for the layout of the file."""
    reader = pa.csv.open_csv(source)
    with pq.ParquetWriter(folder / "plain.parquet", reader.schema, use_dictionary=False) as writer:
        for block in row_blocks(iter(reader)):
            writer.write_table(block, row_group_size=BLOCK_ROWS)


def ours(source: Path, folder: Path) -> None:
    """The service's path from the body of a request to a finished blob."""
    store, limits = BlobStore.at(str(folder / "blobs"), Vault(bytes(32))), Limits()
    with (
        source.open("rb") as body,
        read_batches(body, "text/csv", None, limits, folder) as stream,
        store.writer("bench", stream.schema) as upload,
    ):
        found = ingest(stream, {}, upload, limits)
        upload.finish()
    assert found.rows == upload.rows
    assert not np.isnan(found.moments.covariance()).any()


def measured(side: Side, source: Path, folder: Path) -> tuple[float, float]:
    """Seconds and peak resident MiB of one run in a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_timed, args=(side, source, folder, sender))
    process.start()
    try:
        seconds, peak = receiver.recv()
    finally:
        process.join()
    return seconds, peak


def _timed(
    side: Side, source: Path, folder: Path, sender: multiprocessing.connection.Connection
) -> None:
    began = time.perf_counter()
    side(source, folder)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEBIBYTE
    sender.send((seconds, peak))


def main() -> None:
    growth: list[tuple[float, float]] = []
    memory: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = folder / "table.csv"
        for size in SIZES:
            write_csv(source, size)
            print(f"{size} × {COLUMNS}: {source.stat().st_size / MEBIBYTE:.0f} MiB of CSV")
            times: dict[str, list[float]] = {"plain": [], "ours": []}
            peaks: dict[str, list[float]] = {"plain": [], "ours": []}
            for _ in range(REPEATS if size == ROWS else 1):
                for name, side in (("plain", plain), ("ours", ours)):
                    seconds, peak = measured(side, source, folder)
                    times[name].append(seconds)
                    peaks[name].append(peak)
                    print(f"  {name}: {seconds:.2f} s, {peak:.0f} MiB resident at most")
            growth.append((size, float(np.median(times["ours"]))))
            memory.append((size, max(peaks["ours"])))
    ratio = float(np.median(times["ours"]) / np.median(times["plain"]))
    record(
        "ingest",
        [
            Ratio(f"CSV {ROWS} × {COLUMNS} to encrypted rows, time over plain pyarrow", ratio, 2.0),
            Ratio("peak resident memory of that, MiB", memory[-1][1], 600.0),
        ],
        [
            Series("Registering a CSV", "seconds", "rows", "seconds", growth),
            Series("Registering a CSV, memory", "resident", "rows", "MiB", memory),
        ],
        ["In process: reading, checking, moments and the encrypted blob, without HTTP."],
    )


if __name__ == "__main__":
    main()
