"""Writing a copy as files: one process, one Dask worker, two, and two with one killed.

    python -m bench.scaling [--rows 20000000] [--columns 10] [--folder /dev/shm]

Workers have one thread. On a shared disk the disk is measured; a folder in memory avoids that. Files of all runs are compared by hash. Memory
is the largest VmHWM of a worker, and cost is processor time, whatever else the machine does. The script writes its figures into docs/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fastapi.testclient import TestClient

from app.service.copies.compilation import compile_now
from app.service.dask_executor import Cluster
from app.service.executor import Executor, Threads
from app.store.database import tables
from app.store.database.engine import writing
from bench.measure import Ratio, record
from bench.report import markdown_table
from bench.service import peak_bytes, processor_seconds
from tests.api.conftest import Service
from tests.clusters import RunningCluster, dask_cluster

FILE_ROWS = 1_000_000
PAGE = Path(__file__).resolve().parents[1] / "docs" / "scaling.md"
BEGIN, END = "<!-- written by bench/scaling.py -->", "<!-- until here -->"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where everything is written")
    chosen, _ = parser.parse_known_args()
    found: dict[str, Any] = {"rows": chosen.rows, "columns": chosen.columns}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        home = Path(folder) / "home"
        roots = Path(folder) / "in"
        _write_source(roots, chosen.rows, chosen.columns)
        service = Service(
            f"sqlite:///{folder}/bench.sqlite",
            home,
            IMPORT_ROOTS=str(roots),
            MAX_UPLOAD_BYTES=str(2**40),
            RELEASE_CACHE_BYTES=str(2**40),
        )
        client = service.client()
        copy = _copy(client)
        found["one process, one thread"], expected = _run(service, client, copy, Threads(1))
        for workers in (1, 2):
            with dask_cluster(Path(folder), workers) as running:
                measured, hashes = _on_cluster(service, client, copy, running)
            found[f"{workers} worker" + "s" * (workers > 1)] = measured
            measured["same bytes"] = hashes == expected
        with dask_cluster(Path(folder), 2) as running:
            later = found["2 workers"]["seconds"] / 2
            measured, hashes = _on_cluster(service, client, copy, running, kill_after=later)
            measured |= {"same bytes": hashes == expected, "killed after seconds": later}
            found["2 workers, one killed"] = measured
        service.close()
    found["speed-up"] = found["1 worker"]["seconds"] / found["2 workers"]["seconds"]
    values = chosen.rows * chosen.columns
    found["core seconds per 10^9 values"] = found["1 worker"]["core seconds"] / values * 1e9
    found["bytes per value"] = found["1 worker"]["bytes"] / values
    print(json.dumps(found, indent=1))
    clusters = [found[name] for name in ("1 worker", "2 workers", "2 workers, one killed")]
    same = sum(one["same bytes"] for one in clusters) / len(clusters)
    largest = max(one["largest worker MB"] for one in clusters)
    ratios = [
        Ratio("Two Dask workers against one, writing files", found["speed-up"], 1.8, "at least"),
        Ratio(
            "Share of runs with the bytes of one process, also with a worker killed",
            same,
            1.0,
            "at least",
        ),
        Ratio("Memory of a worker in units of 700 MB", largest / 700, 1.0),
    ]
    cost = found["core seconds per 10^9 values"]
    _write_page(found)
    record("scaling", ratios, [], [f"{cost:.0f} core seconds for 10⁹ values, in files."])


def _write_page(found: dict[str, Any]) -> None:
    """Replace the figures in the page, with extrapolations to larger copies."""
    cost, width = found["core seconds per 10^9 values"], found["bytes per value"]
    measured = []
    for name in (name for name in found if "process" in name or "worker" in name):
        one = found[name]
        memory = f"{one['largest worker MB']:.0f} MB" if "largest worker MB" in one else "–"
        same = {True: "yes", False: "NO"}.get(one.get("same bytes", ""), "–")
        measured.append((name, f"{one['seconds']:.1f}", memory, same))
    larger = []
    for rows, label in ((1e9, "10⁹ × 10"), (1e11, "10¹¹ × 10"), (1e12, "10¹² × 10")):
        hours, size = cost * rows * 10 / 1e9 / 3600, width * rows * 10 / 1e12
        on_cores = (f"{hours / cores:,.2f}" for cores in (16, 256))
        larger.append((label, f"{rows * 10:.0e}", f"{hours:,.1f}", *on_cores, f"{size:,.2f} TB"))
    lines = [
        f"Measured: a copy of {found['rows']:,} × {found['columns']}, on {os.cpu_count()} cores.",
        "",
        *markdown_table(
            ("written by", "seconds", "largest worker", "bytes as by one process"), measured
        ),
        "",
        f"Two workers against one: {found['speed-up']:.2f} times as fast. A core takes {cost:.0f} s for"
        f" 10⁹ values, which take {width:.1f} GB as files. From that:",
        "",
        *markdown_table(
            ("copy", "values", "core hours", "hours on 16 cores", "hours on 256 cores", "files"),
            larger,
        ),
    ]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


def _write_source(folder: Path, rows: int, columns: int) -> None:
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        here = min(FILE_ROWS, rows - start)
        table = pa.table({f"x{column}": rng.normal(size=here) for column in range(columns)})
        pq.write_table(table, folder / f"{number:05d}.parquet", use_dictionary=False)


def _copy(client: TestClient) -> str:
    made = client.post("/v1/datasets?name=bench&allow_overlap=true", json={"source": "*.parquet"})
    assert made.status_code == 201, made.text
    dataset = made.json()["id"]
    client.put(f"/v1/datasets/{dataset}/levels/a", json={"noise_variance": 1.0})
    issued = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "a"})
    assert issued.status_code == 201, issued.text
    copy: str = issued.json()["id"]
    return copy


def _run(
    service: Service, client: TestClient, copy: str, executor: Executor
) -> tuple[dict[str, Any], list[str]]:
    """Seconds for writing all files again, and their hashes."""
    resources = service.app.state.resources
    with writing(resources.engine) as connection:
        connection.execute(tables.released_files.delete())
    object.__setattr__(resources, "executor", executor)
    began = time.perf_counter()
    answer = client.post(f"/v1/copies/{copy}/files", json={})
    seconds = time.perf_counter() - began
    assert answer.status_code == 200, answer.text
    files = answer.json()["files"]
    size = sum(file["size_bytes"] for file in files)
    return {"seconds": seconds, "files": len(files), "bytes": size}, [f["sha256"] for f in files]


def _on_cluster(
    service: Service,
    client: TestClient,
    copy: str,
    running: RunningCluster,
    kill_after: float | None = None,
) -> tuple[dict[str, Any], list[str]]:
    executor = Cluster(running.address, compile_now)
    # Warm up every worker.
    list(executor.map(_warm_up, range(8 * len(running.workers))))
    _run(service, client, copy, executor)
    stop = threading.Event()
    highest = dict.fromkeys([worker.pid for worker in running.workers], 0)
    before = sum(map(processor_seconds, highest))
    alone = time.process_time()
    watching = threading.Thread(target=_watch, args=(highest, stop))
    watching.start()
    if kill_after is not None:
        threading.Timer(kill_after, running.workers[0].kill).start()
    try:
        measured, hashes = _run(service, client, copy, executor)
        measured["core seconds"] = sum(map(processor_seconds, highest)) - before
        measured["core seconds of the service"] = time.process_time() - alone
    finally:
        stop.set()
        watching.join()
        executor.close()
    measured["largest worker MB"] = max(highest.values()) / 1e6
    return measured, hashes


def _warm_up(_: int) -> None:
    """Import everything that a first task needs."""
    import app.service.copies.files.file_writer  # noqa: F401

    time.sleep(0.2)


def _watch(highest: dict[int, int], stop: threading.Event) -> None:
    while not stop.wait(0.5):
        for pid, before in list(highest.items()):
            highest[pid] = max(before, peak_bytes(pid))


if __name__ == "__main__":
    main()
