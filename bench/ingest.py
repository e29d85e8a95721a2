"""Registering a large CSV over HTTP: time against plain pyarrow, and resident memory.

The plain side streams the CSV to the same Parquet layout with pyarrow and does nothing else. The service receives the body over a socket,
checks every cell, infers types, computes moments and categories, encrypts and stores the rows and commits. Each side runs in its own process
for its own peak memory. Start-up does not count; a small table is registered first.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from app.model import BLOCK_ROWS
from app.store.blobs.store import row_blocks
from bench.measure import Ratio, Series, record
from bench.service import HEADERS, peak_bytes, serve

ROWS, COLUMNS = 5_000_000, 10
SIZES = (500_000, 1_500_000, ROWS)
REPEATS = 3
MEBIBYTE = 2**20
SENT_BYTES = 256 * 1024


def write_csv(path: Path, rows: int) -> None:
    """Write standard normals in full precision, in parts."""
    rng = np.random.default_rng(1)
    names = [f"c{j}" for j in range(COLUMNS)]
    with path.open("wb") as file:
        for start in range(0, rows, 500_000):
            part = rng.normal(size=(min(500_000, rows - start), COLUMNS))
            pl.DataFrame(part, schema=names).write_csv(file, include_header=start == 0)


def plain(source: Path, target: Path) -> None:
    """Convert CSV to Parquet by pyarrow, with the service's layout."""
    reader = pa.csv.open_csv(source)
    with pq.ParquetWriter(target, reader.schema, use_dictionary=False) as writer:
        for block in row_blocks(iter(reader)):
            writer.write_table(block, row_group_size=BLOCK_ROWS)


def plain_seconds(source: Path, folder: Path) -> float:
    """Time `plain` in a process of its own, without start and imports."""
    code = (
        "import sys, time; from pathlib import Path; from bench.ingest import plain\n"
        "began = time.perf_counter(); plain(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(time.perf_counter() - began)"
    )
    command = [sys.executable, "-c", code, str(source), str(folder / "plain.parquet")]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(answer.stdout)


def register(source: Path, folder: Path) -> tuple[float, float]:
    """Return the seconds of one registration and the server's peak resident memory in MiB."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as home,
        serve(Path(home)) as (url, process),
    ):
        first = Path(home) / "first.csv"
        write_csv(first, 1_000)
        _register(url, first)
        seconds = _register(url, source)
        return seconds, peak_bytes(process.pid) / MEBIBYTE


def _register(url: str, source: Path) -> float:
    """Return the seconds of one request."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, blocksize=SENT_BYTES)
    headers = {
        **HEADERS,
        "Content-Type": "text/csv",
        "Content-Length": str(source.stat().st_size),
    }
    address = f"/v1/datasets?name={source.stem}&allow_overlap=true"
    began = time.perf_counter()
    with source.open("rb") as body:
        connection.request("POST", address, body, headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
    seconds = time.perf_counter() - began
    connection.close()
    assert answer.status == 201, told
    return seconds


def main() -> None:
    growth: dict[str, list[tuple[float, float]]] = {"plain pyarrow": [], "registration": []}
    memory: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = folder / "table.csv"
        for size in SIZES:
            write_csv(source, size)
            print(f"{size} × {COLUMNS}: {source.stat().st_size / MEBIBYTE:.0f} MiB of CSV")
            plain_times, times, peaks = [], [], []
            for _ in range(REPEATS if size == ROWS else 1):
                plain_times.append(plain_seconds(source, folder))
                seconds, peak = register(source, folder)
                times.append(seconds)
                peaks.append(peak)
                print(
                    f"  {plain_times[-1]:.2f} s plain, {seconds:.2f} s registered, {peak:.0f} MiB"
                )
            growth["plain pyarrow"].append((size, statistics.median(plain_times)))
            growth["registration"].append((size, statistics.median(times)))
            memory.append((size, max(peaks)))
    ratio = growth["registration"][-1][1] / growth["plain pyarrow"][-1][1]
    record(
        "ingest",
        [
            Ratio(
                f"registering a CSV of {ROWS:,} × {COLUMNS} over HTTP, time over plain pyarrow",
                ratio,
                2.0,
            ),
            Ratio("peak resident memory of the server for it, in MiB", memory[-1][1], 600.0),
        ],
        [
            *(
                Series("Registering a CSV", line, "rows", "seconds", points)
                for line, points in growth.items()
            ),
            Series("Memory of a registration", "server", "rows", "MiB resident at most", memory),
        ],
        ["Plain pyarrow writes unencrypted Parquet and computes nothing."],
    )


if __name__ == "__main__":
    main()
