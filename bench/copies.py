"""What a copy costs: against a plain generator, at the end of a long history, and in the paper."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import numpy as np
import polars as pl
import psutil
import pyarrow as pa
from numpy.typing import NDArray

from app.main import open_resources
from app.model import Role
from app.numerics.brownian import draws_needed, path_block
from app.numerics.gaussian import covariance_factor
from app.numerics.grid import grid_exponents
from app.numerics.multilevel import bridges
from app.numerics.noise import BLOCK_ROWS, draw_key
from app.numerics.perturbation import perturbed, perturbed_copy
from app.service.asking import Ask
from app.service.release import Selection, open_release
from app.settings import settings_from
from app.store import callers
from app.store.engine import reading
from bench.measure import Ratio, Series, interleaved, record, seconds

FloatArray = NDArray[np.float64]

COLUMNS = 10
ARROW = "application/vnd.apache.arrow.stream"
ADMIN_KEY = "benchmark-administrator-key-0123456789"
HEADERS = {"Authorization": f"Bearer {ADMIN_KEY}"}
HISTORY_LENGTH = 300
HISTORIES = 12
"""Random histories over which the cost at length 300 is averaged; a path's length varies."""


def main() -> None:
    parts = (against_a_plain_generator, at_the_end_of_a_history, as_in_the_paper, over_http)
    measured = [part() for part in parts]
    record(
        "copies",
        [ratio for part in measured for ratio in part.ratios],
        [line for part in measured for line in part.series],
        [note for part in measured for note in part.notes],
    )


@dataclass(frozen=True)
class Measured:
    """What one part of the script has to say."""

    ratios: Sequence[Ratio]
    series: Sequence[Series] = ()
    notes: Sequence[str] = ()


def key_of(number: int) -> bytes:
    return draw_key(bytes(32), hashlib.sha256(str(number).encode()).digest())


def against_a_plain_generator() -> Measured:
    """One new copy, shaped and on the grid, beside numpy's standard_normal plus add.

    Both write to arrays that were there before: the first touch of new memory may cost a virtual
    machine more than either.
    """
    rng = np.random.Generator(np.random.PCG64(1))
    history, keys = bridges([0.5]), {0: key_of(0)}
    costs: dict[str, list[tuple[float, float]]] = {
        "PCG64 + add": [],
        "1 thread": [],
        "2 threads": [],
    }
    for rows in (BLOCK_ROWS, 250_000, 1_000_000):
        X = rng.standard_normal((COLUMNS, rows))
        L = covariance_factor(np.cov(X[:, :10_000]) + 0.5)
        exponents = grid_exponents(np.diag(L @ L.T), 0.5)
        out = np.zeros_like(X)

        copy = partial(perturbed_copy, X, history, keys, 0, L=L, exponents=exponents, out=out)
        works: dict[str, Callable[[], object]] = {
            "PCG64 + add": partial(plain, rng, X, out),
            "1 thread": partial(copy, threads=1),
            "2 threads": partial(copy, threads=2),
        }
        times = interleaved(works, repeats=9)
        for name, cost in times.items():
            costs[name].append((rows * COLUMNS, cost))
        print({name: f"{cost / rows / COLUMNS * 1e9:.1f} ns/value" for name, cost in times.items()})
    base = costs["PCG64 + add"][-1][1]
    claim = "one new copy of 10⁶ × 10, {}, against PCG64 standard_normal plus add"
    return Measured(
        [
            Ratio(claim.format(threads), costs[threads][-1][1] / base, bound)
            for threads, bound in (("1 thread", 2.5), ("2 threads", 1.4))
        ],
        [
            Series("Cost of one copy", name, "values", "seconds", points)
            for name, points in costs.items()
        ],
    )


def plain(rng: np.random.Generator, X: FloatArray, out: FloatArray) -> None:
    """Standard normals, and the originals added to them."""
    rng.standard_normal(out=out)
    np.add(out, X, out=out)


def at_the_end_of_a_history() -> Measured:
    """The copy after many random levels, with nothing at hand and with its neighbours at hand."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((COLUMNS, BLOCK_ROWS))
    L = covariance_factor(np.cov(X) + 0.5)
    alone: list[tuple[float, float]] = []
    cached: list[tuple[float, float]] = []
    for length in (1, 10, 100, HISTORY_LENGTH):
        single, several, beside, draws = [], [], [], []
        for number in range(HISTORIES):
            variances = rng.uniform(0.25, 1.0, length).tolist()
            times, needed = cost_at_end(X, L, variances, number)
            draws.append(needed)
            single.append(times["first"])
            several.append(times["nothing at hand"])
            beside.append(times["neighbours at hand"])
        alone.append((length, statistics.mean(several) / statistics.mean(single)))
        cached.append((length, statistics.mean(beside) / statistics.mean(single)))
        print(
            f"history of {length}: {alone[-1][1]:.2f} without, {cached[-1][1]:.2f} with the cache"
        )
    claim = "a copy at history length 300 (random arrival), {} cached, against length 1"
    return Measured(
        [
            Ratio(claim.format("nothing"), alone[-1][1], 15),
            Ratio(claim.format("neighbours"), cached[-1][1], 1.5),
        ],
        [
            Series("Cost against history", f"{what} cached", "levels", "times a first copy", points)
            for what, points in (("nothing", alone), ("neighbours", cached))
        ],
        [f"At length 300 a copy needed {statistics.mean(draws):.1f} draws on average."],
    )


def cost_at_end(
    X: FloatArray, L: FloatArray, variances: list[float], seed: int
) -> tuple[dict[str, float], int]:
    """Seconds of the first copy and of the last one of a history; draws behind the last one."""
    history = bridges(variances)
    keys = {i: key_of(1000 * seed + i) for i in range(len(variances))}
    last = len(variances) - 1
    rows = X.shape[1]

    def path(target: int, known: dict[int, FloatArray] | None = None) -> FloatArray:
        return path_block(
            history, keys, target, start=0, stop=rows, columns=L.shape[1], known=known
        )

    ends = [end for end in (history[last].lower, history[last].upper) if end is not None]
    neighbours = {end: path(end) for end in ends}

    def copy(target: int, known: dict[int, FloatArray] | None = None) -> Callable[[], FloatArray]:
        exponents = grid_exponents(np.diag(L @ L.T), variances[target])
        return lambda: perturbed(X, path(target, known), L, exponents)

    times = interleaved(
        {
            "first": copy(0),
            "nothing at hand": copy(last),
            "neighbours at hand": copy(last, neighbours),
        },
        repeats=2,
    )
    return times, len(draws_needed(history, last, {}))


def as_in_the_paper() -> Measured:
    """23 new copies of 10⁵ values given 7 [li2012, experiment 2]."""
    from papers.li2012 import PAPER_SECONDS, corner_wave_copies

    rng = np.random.default_rng(3)
    X = rng.gamma(1.2, 15.0, size=(1, 100_000))
    variances = rng.uniform(0.25, 1.0, 30).tolist()
    here = seconds(lambda: corner_wave_copies(X, variances, 7), repeats=5)
    note = f"23 copies of 10⁵ values given 7: {here:.3f} s here, {PAPER_SECONDS} s in li2012."
    # Side by side and no claim: the two were not measured in one run.
    return Measured([], notes=[note])


def over_http() -> Measured:
    """Downloads from a server process, beside the same work in this one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with served(home) as (url, _):
            small = registered(url, rows=1_000_000)
            large = registered(url, rows=10_000_000)
        downloads = download_measured(home, small)
        with served(home) as (url, process):
            peak = streaming_peak(url, large, process)
    note = f"The server held {peak:.0f} MB at most while it streamed 10⁷ × 10 as Arrow."
    claim = "megabytes resident while streaming 10⁷ × 10"
    return Measured([*downloads.ratios, Ratio(claim, peak, 600)], notes=[*downloads.notes, note])


NOTHING_KEPT = {"NOISE_CACHE_BYTES": "1", "COPY_CACHE_BYTES": "1"}
NOISE_KEPT = {"NOISE_CACHE_BYTES": str(2**27), "COPY_CACHE_BYTES": "1"}


def download_measured(home: Path, copy: str) -> Measured:
    """10⁶ × 10 as Arrow with nothing at hand, and as CSV with more and more of it."""
    resources = open_resources(settings_from(environment(home, **NOTHING_KEPT)))
    with reading(resources.engine) as connection:
        ask = Ask(callers.with_role(connection, Role.ADMIN)[0], "bench")

    def generated() -> list[pa.RecordBatch]:
        return list(open_release(resources, ask, copy, Selection()).batches())

    arrow = against(home, copy, ARROW, generated, NOTHING_KEPT)
    ready = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(generated())))
    resources.engine.dispose()

    def written() -> None:
        ready.write_csv(io.BytesIO())

    csv = against(home, copy, "text/csv", written, {})
    noise_kept = against(home, copy, "text/csv", written, NOISE_KEPT)
    nothing_kept = against(home, copy, "text/csv", written, NOTHING_KEPT)
    claim = "10⁶ × 10 over HTTP as {}, against {}"
    return Measured(
        [
            Ratio(claim.format("Arrow (nothing kept)", "generating it in process"), arrow, 1.6),
            Ratio(
                claim.format("CSV (downloaded before)", "polars' writer on the ready array"),
                csv,
                1.4,
            ),
        ],
        notes=[
            f"As CSV for the first time, against the same: {nothing_kept:.2f} times, and "
            f"{noise_kept:.2f} times when its noise is cached."
        ],
    )


def against(
    home: Path,
    copy: str,
    accept: str,
    other: Callable[[], object],
    settings: dict[str, str],
) -> float:
    """Time of a download, after a first one, over the time of `other` in this process."""
    with served(home, **settings) as (url, _):
        drained(url, copy, accept)
        works = {"other": other, "http": lambda: drained(url, copy, accept)}
        times = interleaved(works, repeats=9)
    return times["http"] / times["other"]


def streaming_peak(url: str, copy: str, process: subprocess.Popen[bytes]) -> float:
    """The most megabytes the server held while it streamed a copy."""
    watched = psutil.Process(process.pid)
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, watched.memory_info().rss / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    drained(url, copy, ARROW)
    done.set()
    watcher.join()
    return peak


def drained(url: str, copy: str, accept: str) -> int:
    """Download a copy and throw it away, with a client that costs little; the number of bytes."""
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


def registered(url: str, rows: int) -> str:
    """Register rows × 10 correlated numbers, sent as they are made; the id of a copy."""
    schema = pa.schema([(f"x{number}", pa.float64()) for number in range(COLUMNS)])

    def body() -> Iterator[bytes]:
        rng = np.random.default_rng(4)
        mixing = rng.normal(size=(COLUMNS, COLUMNS))
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, schema) as writer:
            for start in range(0, rows, BLOCK_ROWS):
                block = mixing @ rng.standard_normal((COLUMNS, min(BLOCK_ROWS, rows - start)))
                writer.write_batch(pa.record_batch([pa.array(row) for row in block], schema=schema))
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
        yield sink.getvalue()

    with httpx2.Client(base_url=url, headers=HEADERS, timeout=300) as client:
        made = client.post(
            "/v1/datasets",
            params={"name": f"rows-{rows}"},
            content=body(),
            headers={"content-type": ARROW},
        )
        dataset = made.raise_for_status().json()["id"]
        issued = client.post(f"/v1/datasets/{dataset}/copies", json={"noise_variance": 0.5})
        copy: str = issued.raise_for_status().json()["id"]
        return copy


def environment(home: Path, **settings: str) -> dict[str, str]:
    return {
        "CORNERWAVE_HOME": str(home),
        "CORNERWAVE_ADMIN_KEY": ADMIN_KEY,
        **{f"CORNERWAVE_{name}": value for name, value in settings.items()},
    }


@contextmanager
def served(home: Path, **settings: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server process on a port of this machine, ended with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "serve"],
        env={**os.environ, **environment(home, PORT=str(port), **settings)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            try:
                httpx2.get(f"{url}/health").raise_for_status()
                break
            except httpx2.TransportError:
                time.sleep(0.05)
        yield url, process
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
