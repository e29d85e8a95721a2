"""Cost of downloading a copy: against making it, against writing it, in memory, and at a cold start."""

from __future__ import annotations

import io
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import numpy as np
import polars as pl
import psutil
import pyarrow as pa

from app.main import open_resources
from app.model import BLOCK_ROWS, Role
from app.service.context import RequestContext
from app.service.copies.compilation import compile_now
from app.service.copies.generation.release import Selection, open_release
from app.settings import settings_from
from app.store.database.engine import reading
from app.store.database.sharing import principals
from bench.measure import Measured, Ratio, interleaved, record
from bench.service import HEADERS, environment, serve

COLUMNS = 10
CATEGORICAL = 5
ARROW = "application/vnd.apache.arrow.stream"
STARTS = 5
HISTORY_LENGTH, LAST = 300, 12
"""Length of a long history, and how many of its last copies are made: their paths vary."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        compile_now(home)
        with serve(home) as (url, _):
            tiny = register(url, rows=1_000)
            small = register(url, rows=1_000_000)
            mixed = register(url, rows=1_000_000, categorical=CATEGORICAL)
            large = register(url, rows=10_000_000)
            later = issue_history(url, small)
        parts = [
            downloads(home, small),
            with_categories(home, small, mixed),
            long_history(home, small, later),
            cold_start(home, tiny),
        ]
        with serve(home) as (url, process):
            parts.append(peak_memory(url, large, process))
    record("downloads", *Measured.of(parts))


def peak_memory(url: str, copy: str, process: subprocess.Popen[bytes]) -> Measured:
    peak = streaming_peak(url, copy, process)
    return Measured([Ratio("megabytes resident while streaming 10⁷ × 10", peak, 600)])


def with_categories(home: Path, small: str, mixed: str) -> Measured:
    """Making a copy in process, with and without categorical columns.

    Batches are dropped as by a download: holding the larger copy would add the first touch of its memory.
    """
    with copy_generator(home) as generated:
        works: dict[str, Callable[[], object]] = {"numbers": partial(consume, generated, small)}
        works["mixed"] = partial(consume, generated, mixed)
        times = interleaved(works, repeats=15)
    claim = "making 10⁶ × 10 and 5 categorical columns, against 10⁶ × 10 alone"
    return Measured([Ratio(claim, times["mixed"] / times["numbers"], 1.5)])


def long_history(home: Path, first: str, later: list[str]) -> Measured:
    """Making the first copy of a data set, and the last ones of a long history, without caches."""
    with copy_generator(home) as generated:
        works: dict[str, Callable[[], object]] = {
            copy: partial(consume, generated, copy) for copy in (first, *later)
        }
        times = interleaved(works, repeats=5)
    mean = sum(times[copy] for copy in later) / len(later)
    claim = "making 10⁶ × 10 at history length 300 (random arrival), against the first copy"
    return Measured([Ratio(claim, mean / times[first], 6)])


def consume(generated: Callable[[str], Iterator[pa.RecordBatch]], copy: str) -> None:
    """Make a copy and drop its batches."""
    for _ in generated(copy):
        pass


def cold_start(home: Path, copy: str) -> Measured:
    """From a new process to the first byte of a copy of 1,000 rows."""
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with serve(home) as (url, _):
            drain(url, copy, ARROW)
            times.append(time.perf_counter() - began)
    compiled = f"{min(times):.2f} to {max(times):.2f} s"
    note = f"Cold start to a copy of 1,000 rows, with compiled code cached: {compiled}."
    return Measured([], notes=[note])


NOTHING_KEPT = {"NOISE_CACHE_BYTES": "1", "COPY_CACHE_BYTES": "1"}


@contextmanager
def copy_generator(home: Path) -> Iterator[Callable[[str], Iterator[pa.RecordBatch]]]:
    """Make copies in this process, without caches."""
    resources = open_resources(settings_from(environment(home, **NOTHING_KEPT)))
    with reading(resources.engine) as connection:
        context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "bench")
    yield lambda copy: open_release(resources, context, copy, Selection()).batches()
    resources.engine.dispose()


def downloads(home: Path, copy: str) -> Measured:
    """10⁶ × 10 as Arrow without caches, and as CSV the first time and later."""
    with copy_generator(home) as generated:
        arrow = time_ratio(home, copy, ARROW, lambda: list(generated(copy)), NOTHING_KEPT)
        ready = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(generated(copy))))

    def write_csv() -> None:
        ready.write_csv(io.BytesIO())

    first = time_ratio(home, copy, "text/csv", write_csv, NOTHING_KEPT)
    again = time_ratio(home, copy, "text/csv", write_csv, {})
    claim = "10⁶ × 10 over HTTP as {}, against {}"
    writer = "polars' writer on the ready array"
    return Measured(
        [
            Ratio(claim.format("Arrow (no cache)", "generating it in process"), arrow, 1.6),
            Ratio(claim.format("CSV (never downloaded before)", writer), first, 1.5),
            Ratio(claim.format("CSV (downloaded before)", writer), again, 1.4),
        ]
    )


def time_ratio(
    home: Path,
    copy: str,
    accept: str,
    other: Callable[[], object],
    settings: dict[str, str],
) -> float:
    """Time of a download, after a first one, over the time of `other` in this process."""
    with serve(home, **settings) as (url, _):
        for _ in range(3):  # until compilation has finished
            drain(url, copy, accept)
        works = {"other": other, "http": lambda: drain(url, copy, accept)}
        times = interleaved(works, repeats=9)
    return times["http"] / times["other"]


def streaming_peak(url: str, copy: str, process: subprocess.Popen[bytes]) -> float:
    """Return the server's peak megabytes while it streams a copy."""
    watched = psutil.Process(process.pid)
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, watched.memory_info().rss / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    drain(url, copy, ARROW)
    done.set()
    watcher.join()
    return peak


def drain(url: str, copy: str, accept: str) -> int:
    """Download and discard a copy with a cheap client; return the number of bytes."""
    server = urlsplit(url)
    connection = HTTPConnection(server.hostname or "", server.port, timeout=300)
    connection.request("GET", f"/v1/copies/{copy}/content", headers={**HEADERS, "accept": accept})
    answer = connection.getresponse()
    if answer.status != 200:
        raise ValueError(f"the service answered {answer.status}")
    buffer, count = bytearray(2**18), 0
    while read := answer.readinto(buffer):
        count += read
    connection.close()
    return count


def register(url: str, rows: int, categorical: int = 0) -> str:
    """Register rows × 10 correlated numbers and categories as a stream; return the id of a copy."""
    schema = pa.schema(
        [(f"x{number}", pa.float64()) for number in range(COLUMNS)]
        + [(f"c{number}", pa.string()) for number in range(categorical)]
    )
    names = np.array([f"category {number}" for number in range(20)])

    def body() -> Iterator[bytes]:
        rng = np.random.default_rng(4)
        mixing = rng.normal(size=(COLUMNS, COLUMNS))
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, schema) as writer:
            for start in range(0, rows, BLOCK_ROWS):
                block = mixing @ rng.standard_normal((COLUMNS, min(BLOCK_ROWS, rows - start)))
                codes = rng.integers(0, len(names), (categorical, block.shape[1]))
                arrays = [pa.array(row) for row in [*block, *names[codes]]]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
        yield sink.getvalue()

    with httpx2.Client(base_url=url, headers=HEADERS, timeout=300) as client:
        made = client.post(
            "/v1/datasets",
            # Tables of one seed begin alike.
            params={"name": f"rows-{rows}-{categorical}", "allow_overlap": True},
            content=body(),
            headers={"content-type": ARROW},
        )
        dataset = made.raise_for_status().json()["id"]
        issued = client.post(f"/v1/datasets/{dataset}/copies", json={"noise_variance": 0.5})
        copy: str = issued.raise_for_status().json()["id"]
        return copy


def issue_history(url: str, copy: str) -> list[str]:
    """Issue copies at random levels until the history has 300; return the last."""
    rng = np.random.default_rng(5)
    with httpx2.Client(base_url=url, headers=HEADERS, timeout=300) as client:
        dataset = client.get(f"/v1/copies/{copy}").raise_for_status().json()["dataset"]
        issued = [
            client.post(
                f"/v1/datasets/{dataset}/copies", json={"noise_variance": variance}
            ).raise_for_status()
            for variance in rng.uniform(0.25, 1.0, HISTORY_LENGTH - 1)
        ]
    return [answer.json()["id"] for answer in issued[-LAST:]]


if __name__ == "__main__":
    main()
