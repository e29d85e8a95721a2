"""Readers of Parquet fetch one column of a signed file, and hardly more than its share of the bytes."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

import duckdb
import httpx2
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from tests.e2e.running import Service, serving

ROWS, COLUMNS = 300_000, 10
PARQUET = "application/vnd.apache.parquet"


class Meter(BaseHTTPRequestHandler):
    """Passes requests on to the service, and counts the bytes of the answers."""

    behind: ClassVar[str] = ""
    passed: ClassVar[int] = 0
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        connection = HTTPConnection(urlsplit(self.behind).netloc)
        kept = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        connection.request(self.command, self.path, headers=kept)
        answer = connection.getresponse()
        body = answer.read()
        type(self).passed += len(body)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        if answer.getheader("content-length") is None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        connection.close()

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # its name
        pass


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("served"), {}) as running:
        yield running


@pytest.fixture(scope="module")
def file(service: Service) -> Iterator[dict[str, Any]]:
    """A file of ten columns by an address behind the meter, with the bytes of column x3."""
    rng = np.random.default_rng(0)
    table = pa.table({f"x{column}": rng.normal(size=ROWS) for column in range(COLUMNS)})
    body = io.BytesIO()
    pq.write_table(table, body)
    made = service.client.post(
        "/v1/datasets?name=wide", content=body.getvalue(), headers={"content-type": PARQUET}
    )
    made.raise_for_status()
    dataset = made.json()["id"]
    service.client.put(f"/v1/datasets/{dataset}/levels/a", json={"noise_variance": 1.0})
    copy = service.client.post(f"/v1/datasets/{dataset}/copies", json={"level": "a"}).json()["id"]
    listed = service.client.post(f"/v1/copies/{copy}/files", json={})
    listed.raise_for_status()
    (found,) = listed.json()["files"]
    whole = httpx2.get(found["url"], timeout=60).content  # without a key
    footer = pq.ParquetFile(io.BytesIO(whole)).metadata
    share = sum(
        footer.row_group(group).column(3).total_compressed_size
        for group in range(footer.num_row_groups)
    )
    Meter.behind = service.url
    with ThreadingHTTPServer(("127.0.0.1", 0), Meter) as meter:
        threading.Thread(target=meter.serve_forever, args=(0.01,)).start()
        address = found["url"].replace(service.url, f"http://127.0.0.1:{meter.server_port}")
        yield {"url": address, "share": share, "whole": whole}
        meter.shutdown()


class Ranges(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """HTTP as pyarrow and DuckDB take it from Python: the head for the size, ranges for the rest.

    fsspec's own asks for the whole file to see whether it is there, and hangs up.
    """

    protocol = "http"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        size = int(httpx2.head(path).headers["content-length"])
        return {"name": path, "size": size, "type": "file"}

    def glob(self, path: str, **options: Any) -> list[str]:
        return [path]

    def modified(self, path: str) -> datetime:
        return datetime(2020, 1, 1, tzinfo=UTC)

    def _open(self, path: str, *arguments: Any, **options: Any) -> Ranged:
        return Ranged(self, path, cache_type="none", size=self.info(path)["size"])


class Ranged(AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start: int, end: int) -> bytes:
        answer = httpx2.get(self.path, headers={"range": f"bytes={start}-{end - 1}"}, timeout=60)
        assert answer.status_code == 206
        return answer.content


def by_pyarrow(url: str) -> list[float]:
    with Ranges().open(url) as opened:
        return list(pq.read_table(opened, columns=["x3"])["x3"].to_pylist())


def by_polars(url: str) -> list[float]:
    return pl.scan_parquet(url).select("x3").collect()["x3"].to_list()


def by_duckdb(url: str) -> list[float]:
    with duckdb.connect() as connection:
        # The extension that reads HTTP by itself would have to be fetched.
        connection.register_filesystem(Ranges())
        found = connection.execute("SELECT x3 FROM read_parquet(?)", [url]).fetchnumpy()
    return list(found["x3"].tolist())


@pytest.mark.parametrize("reader", [by_pyarrow, by_polars, by_duckdb])
def test_a_column_costs_its_share_of_the_bytes(
    file: dict[str, Any], reader: Callable[[str], list[float]]
) -> None:
    before = Meter.passed
    values = reader(file["url"])
    read = Meter.passed - before
    assert values == pq.read_table(io.BytesIO(file["whole"]), columns=["x3"])["x3"].to_pylist()
    assert 0.9 * file["share"] < read <= 1.2 * file["share"]


def test_the_whole_file_is_more_than_eight_times_as_much(file: dict[str, Any]) -> None:
    assert len(file["whole"]) > 8 * file["share"]
