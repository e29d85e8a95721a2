"""Memory of the Python client for 10⁷ rows, and its time against plain httpx.

`python -m bench.client` measures at full size and saves; `python -m bench.client try 1000000` prints for so many rows.
"""

from __future__ import annotations

import io
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa

import cornerwave
from bench.measure import Measured, Ratio, record
from bench.service import ADMIN_KEY, peak_bytes, serve
from bench.service import HEADERS as ADMIN
from cornerwave.transport.progress import silent

ROWS, COLUMNS, BATCH_ROWS = 10_000_000, 10, 65_536
UPLOADS, REPEATS = 3, 3
CUTS = 20
HEADERS = {**ADMIN, "Accept-Encoding": "identity"}
PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"

PartResult = dict[str, float | str]


def main() -> None:
    found = measure(ROWS)
    record("client", found.ratios, found.series, found.notes)


def measure(rows: int) -> Measured:
    # Imported here: the measured processes must hold the client alone.
    from app.service.copies.compilation import compile_now

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        compile_now(home)
        with serve(home) as (url, _):
            registering, copy = measure_registration(url, rows)
            downloading = measure_downloads(url, copy, home, rows)
    return Measured(*Measured.of([registering, downloading]))


def measure_registration(url: str, rows: int) -> tuple[Measured, str]:
    """Registration by the client and the same Arrow stream by httpx; new rows each time."""
    plain, ours, peaks, copy = [], [], [], ""
    for number, way in enumerate(("send", "register")):  # the service's first upload takes seconds
        run_in_subprocess(way, url, str(BATCH_ROWS), str(-1 - number))
    for number in range(UPLOADS):
        one = run_in_subprocess("send", url, str(rows), str(2 * number))
        other = run_in_subprocess("register", url, str(rows), str(2 * number + 1))
        print(f"sent {one['seconds']:.1f} s, client {other['seconds']:.1f} s", flush=True)
        plain.append(float(one["seconds"]))
        ours.append(float(other["seconds"]))
        peaks.append(float(other["megabytes"]))
        copy = str(other["copy"])
    size = format_size(rows)
    ratios = [
        Ratio(f"{size} registered from an iterator: megabytes of the client", max(peaks), 300),
        Ratio(
            f"{size} registered from an iterator by the client, against plain httpx",
            statistics.median(ours) / statistics.median(plain),
            1.1,
        ),
    ]
    return Measured(
        ratios,
        notes=[f"Registered in {statistics.median(ours):.0f} s, median of {UPLOADS}."],
    ), copy


def measure_downloads(url: str, copy: str, folder: Path, rows: int) -> Measured:
    """Downloads, each in a process of its own for its peak memory."""
    plain, saved, peaks = [], [], []
    for number in range(REPEATS + 1):  # the first of each warms the service up
        one = run_in_subprocess("plain", url, copy, str(folder))
        other = run_in_subprocess("save", url, copy, str(folder))
        print(f"plain {one['seconds']:.1f} s, client {other['seconds']:.1f} s", flush=True)
        if number:
            plain.append(float(one["seconds"]))
            saved.append(float(other["seconds"]))
            peaks.append(float(other["megabytes"]))
    unknown = run_in_subprocess("checked", url, copy, str(folder))
    known = run_in_subprocess("checked", url, copy, str(folder))
    cut = download_through_drops(url, copy, folder, int(unknown["size"]))
    streaming = statistics.median(plain)
    size = format_size(rows)
    return Measured(
        [
            Ratio(f"{size} downloaded to disk: megabytes of the client", max(peaks), 300),
            Ratio(
                f"{size} downloaded and checked: megabytes of the client",
                max(float(each["megabytes"]) for each in (known, unknown, cut)),
                300,
            ),
            Ratio(
                f"{size} downloaded to disk as Parquet by the client, against plain httpx",
                statistics.median(saved) / streaming,
                1.1,
            ),
            Ratio(
                f"{size} through a proxy that drops connections: resumed downloads with the right checksum",
                float(cut["resumed"]),
                CUTS,
                "at least",
            ),
        ],
        notes=[
            f"Plain httpx streams a copy in {streaming:.1f} s, median of {REPEATS}.",
            f"Time with checksum over plain httpx: {float(known['seconds']) / streaming:.2f} when the"
            f" service knows it, {float(unknown['seconds']) / streaming:.2f} the first time,"
            f" {float(cut['seconds']) / streaming:.2f} through {CUTS} dropped connections.",
        ],
    )


def download_through_drops(url: str, copy: str, folder: Path, size: int) -> PartResult:
    """Download through a proxy that keeps dropping the connection; `save` fails on a wrong checksum."""
    from tests.client.proxy import between

    count = itertools.count()

    def fault(head: bytes) -> int | None:
        return size // (CUTS + 2) if b"/content" in head and next(count) < CUTS else None

    with between(url, fault) as flaky:
        return run_in_subprocess("checked", flaky, copy, str(folder))


def run_in_subprocess(what: str, *arguments: str) -> PartResult:
    """Run a part of the benchmark in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.client", what, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    told: PartResult = json.loads(done.stdout)
    return told


def format_size(rows: int) -> str:
    digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
    power = len(str(rows)) - 1
    return f"10{digits[power]} × {COLUMNS}" if rows == 10**power else f"{rows:,} × {COLUMNS}"


def batches(rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Yield ten correlated columns, a block of rows at a time."""
    rng = np.random.default_rng(seed % 2**32)
    mixing = rng.normal(size=(COLUMNS, COLUMNS))
    names = [f"c{number}" for number in range(COLUMNS)]
    for start in range(0, rows, BATCH_ROWS):
        values = rng.normal(size=(min(BATCH_ROWS, rows - start), COLUMNS)) @ mixing
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in values.T], names)


def register(url: str, rows: str, seed: str) -> PartResult:
    with cornerwave.connect(url, ADMIN_KEY, progress=silent) as cw:
        began = time.perf_counter()
        dataset = cw.register(batches(int(rows), int(seed)), name=f"large-{seed}")
        took = time.perf_counter() - began
        assert dataset.rows == int(rows)
        return {"seconds": took, "copy": dataset.copy(noise_variance=0.25).id}


def send(url: str, rows: str, seed: str) -> PartResult:
    """The same registration by hand, with httpx and pyarrow."""

    def stream() -> Iterator[bytes]:
        written = io.BytesIO()
        made = batches(int(rows), int(seed))
        first = next(made)
        with pa.ipc.new_stream(written, first.schema) as writer:
            for batch in itertools.chain([first], made):
                writer.write_batch(batch)
                yield written.getvalue()
                written.seek(0)
                written.truncate()
        yield written.getvalue()

    began = time.perf_counter()
    with httpx.Client(headers=HEADERS, timeout=900) as client:
        response = client.post(
            f"{url}/v1/datasets",
            params={"name": f"large-{seed}"},
            headers={"Content-Type": ARROW},
            content=stream(),
        )
    assert response.raise_for_status().json()["rows"] == int(rows)
    return {"seconds": time.perf_counter() - began}


def plain(url: str, copy: str, folder: str) -> PartResult:
    began = time.perf_counter()
    with (
        httpx.Client(headers={**HEADERS, "Accept": PARQUET}, timeout=900) as client,
        client.stream("GET", f"{url}/v1/copies/{copy}/content") as response,
        Path(folder, "plain.parquet").open("wb") as file,
    ):
        for chunk in response.raise_for_status().iter_raw():
            file.write(chunk)
    return {"seconds": time.perf_counter() - began}


def save(url: str, copy: str, folder: str, *, verify: bool = False) -> PartResult:
    with cornerwave.connect(url, ADMIN_KEY, progress=silent) as cw:
        content = cornerwave.Copy(
            cw._driver, cornerwave.values.CopyInfo(copy, "", (), 0, 0, "", 0, (), "")
        )
        began = time.perf_counter()
        saved = content.save(Path(folder, "saved.parquet"), verify=verify)
        took = time.perf_counter() - began
        assert saved.verified is verify
        return {"seconds": took, "resumed": saved.resumed, "size": saved.size_bytes}


def checked(url: str, copy: str, folder: str) -> PartResult:
    return save(url, copy, folder, verify=True)


def print_results(rows: str) -> None:
    """Print the results without saving them."""
    found = measure(int(rows))
    for ratio in found.ratios:
        print(f"{ratio.claim}: {ratio.measured:.3g} ({ratio.sense} {ratio.bound:g})")
    print(*found.notes, sep="\n")


PARTS: dict[str, Callable[..., PartResult]] = {
    "register": register,
    "send": send,
    "plain": plain,
    "save": save,
    "checked": checked,
}

if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["try", rows]:
            print_results(rows)
        case [part, *rest]:
            told = PARTS[part](*rest)
            print(json.dumps({**told, "megabytes": peak_bytes() / 2**20}))
