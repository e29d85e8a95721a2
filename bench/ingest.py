"""Registering a large CSV over HTTP: time against plain pyarrow, and resident memory.

The plain side is what one would write by hand: pyarrow reads the CSV in a stream and writes the same
Parquet, row groups of 65,536 rows and doubles without a dictionary, and does nothing else. The
service's side is a request to a running server: the body over a socket, every cell checked, kinds,
moments and categories found, the rows encrypted and on disk, the data set committed.
Each side runs in a process of its own, so that its peak of resident memory is its own. On neither
side the start counts: a port is open seconds before the service behind it is there, and a small table
is registered first.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from app.model import BLOCK_ROWS
from app.store.blobs.store import row_blocks
from bench.measure import Ratio, Series, record

ROWS, COLUMNS = 5_000_000, 10
SIZES = (500_000, 1_500_000, ROWS)
REPEATS = 3
MEBIBYTE = 2**20
KEY = "bench-administrator-key-0123456789abcdef"
SENT_BYTES = 256 * 1024


def write_csv(path: Path, rows: int) -> None:
    """Standard normals in full precision, made and written in parts."""
    rng = np.random.default_rng(1)
    names = [f"c{j}" for j in range(COLUMNS)]
    with path.open("wb") as file:
        for start in range(0, rows, 500_000):
            part = rng.normal(size=(min(500_000, rows - start), COLUMNS))
            pl.DataFrame(part, schema=names).write_csv(file, include_header=start == 0)


def plain(source: Path, target: Path) -> None:
    """Pyarrow from CSV to Parquet, with its own defaults but for the layout of the file."""
    reader = pa.csv.open_csv(source)
    with pq.ParquetWriter(target, reader.schema, use_dictionary=False) as writer:
        for block in row_blocks(iter(reader)):
            writer.write_table(block, row_group_size=BLOCK_ROWS)


def plain_seconds(source: Path, folder: Path) -> float:
    """How long `plain` takes in a process of its own, its start and imports not counted."""
    code = (
        "import sys, time; from pathlib import Path; from bench.ingest import plain\n"
        "began = time.perf_counter(); plain(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(time.perf_counter() - began)"
    )
    command = [sys.executable, "-c", code, str(source), str(folder / "plain.parquet")]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(answer.stdout)


@contextmanager
def server(home: Path) -> Iterator[tuple[int, int]]:
    """A fresh service on this machine: its port and process id."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")} | {
        "CORNERWAVE_HOME": str(home),
        "CORNERWAVE_PORT": str(port),
        "CORNERWAVE_ADMIN_KEY": KEY,
    }
    command = [sys.executable, "-m", "app", "serve"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                if process.poll() is not None:
                    raise RuntimeError("the service does not start") from None
                time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def registered(source: Path, folder: Path) -> tuple[float, float]:
    """Seconds of one registration, and the server's peak resident memory in MiB."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as home,
        server(Path(home)) as (port, process),
    ):
        first = Path(home) / "first.csv"
        write_csv(first, 1_000)
        _register(port, first)
        seconds = _register(port, source)
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    return seconds, int(peak[1]) * 1024 / MEBIBYTE


def _register(port: int, source: Path) -> float:
    """Seconds of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, blocksize=SENT_BYTES)
    headers = {
        "Authorization": f"Bearer {KEY}",
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
                seconds, peak = registered(source, folder)
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
