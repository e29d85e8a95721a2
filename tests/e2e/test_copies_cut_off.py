"""Downloads that end in the middle: a key revoked meanwhile, a client that went away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pyarrow as pa
import pytest
import uvicorn
from fastapi.testclient import TestClient

from app.model import BLOCK_ROWS
from tests.api.conftest import Service
from tests.api.copy_tables import ARROW, CSV, JSON, PARQUET, issue, register

BLOCKS, COLUMNS = 24, 3
"""About 38 MB: more than lies in the sockets between the two ends."""


@pytest.fixture
def service(sqlite_database: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(sqlite_database, tmp_path / "home")
    yield service
    service.close()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    """The app behind a real socket, in a thread of this process."""
    config = uvicorn.Config(service.app, port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def copy(service: Service) -> str:
    rng = np.random.default_rng(0)
    rows = BLOCKS * BLOCK_ROWS
    table = pa.table({f"x{number}": rng.normal(size=rows) for number in range(COLUMNS)})
    admin = service.client()
    copied: str = issue(admin, register(admin, table, columns=None), level="a")["id"]
    return copied


def granted(service: Service, copy: str) -> tuple[str, str]:
    """A recipient who may have the copy: its id and its key."""
    admin: TestClient = service.client()
    made = admin.post("/v1/recipients", json={"name": "reader"}).json()
    dataset = admin.get(f"/v1/copies/{copy}").json()["dataset"]
    grant = admin.put(f"/v1/datasets/{dataset}/grants/{made['id']}", json={"level": "a"})
    assert grant.status_code == 200
    return made["id"], made["key"]


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("key revoked", {"accept": ARROW}),
        ("grant withdrawn", {"accept": ARROW}),
        ("key revoked", {"accept": CSV}),
        ("key revoked", {"accept": PARQUET}),
        ("key revoked", {"accept": JSON}),
        ("key revoked", {"accept": CSV, "range": "bytes=0-"}),
    ],
)
def test_what_ends_the_right_ends_the_download(
    service: Service, url: str, copy: str, end: str, how: dict[str, str]
) -> None:
    recipient, key = granted(service, copy)
    headers = {"authorization": f"Bearer {key}", **how}
    received: list[int] = []
    with httpx2.stream("GET", f"{url}/v1/copies/{copy}/content", headers=headers) as download:
        assert download.status_code == (206 if "range" in how else 200)
        chunks = download.iter_raw()
        received.append(len(next(chunks)))
        admin = service.client()
        if end == "key revoked":
            assert admin.delete(f"/v1/recipients/{recipient}").status_code == 204
        else:
            dataset = admin.get(f"/v1/copies/{copy}").json()["dataset"]
            gone = admin.delete(f"/v1/datasets/{dataset}/grants/{recipient}")
            assert gone.status_code == 204
        with pytest.raises(httpx2.RemoteProtocolError):
            received.extend(len(chunk) for chunk in chunks)
    # Text is longer than the numbers in it.
    assert 0 < sum(received) < BLOCKS * BLOCK_ROWS * COLUMNS * 8
    log = service.client().get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    refusals = [entry for entry in log if entry["action"] == "refusal"]
    assert [entry["caller"] for entry in refusals] == [recipient]


def test_a_client_that_goes_away_stops_the_work(service: Service, url: str, copy: str) -> None:
    headers = {"authorization": service.client().headers["authorization"], "accept": ARROW}
    with httpx2.stream("GET", f"{url}/v1/copies/{copy}/content", headers=headers) as download:
        next(download.iter_raw())
    noise = service.app.state.resources.noise
    for _ in range(6_000):
        if not any(thread.name.startswith("release") for thread in threading.enumerate()):
            break
        time.sleep(0.01)
    else:
        pytest.fail("threads make blocks for nobody")
    whole = BLOCKS * BLOCK_ROWS * COLUMNS * 8
    assert noise.bytes_held < whole, "blocks were made for nobody"
