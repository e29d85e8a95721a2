"""Downloads that end in the middle: a key revoked meanwhile, a client that went away."""

from __future__ import annotations

import json
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
from app.store.database.engine import reading
from app.store.database.sharing import transfers
from tests.api.conftest import Service
from tests.api.copies.copy_tables import ARROW, CSV, JSON, PARQUET, issue, register
from tests.api.dsp.transfer_story import agreed as agreed_by_rule
from tests.api.dsp.transfer_story import started

BLOCKS, COLUMNS = 24, 3
"""About 38 MB: more than lies in the sockets between the two ends."""

JSON_ROWS = 8 * BLOCK_ROWS


@pytest.fixture
def service(sqlite_database: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(sqlite_database, tmp_path / "home", WEBHOOK_NETWORKS="203.0.113.0/24")
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
    made = admin.post("/v1/principals", json={"name": "reader"}).json()
    dataset = admin.get(f"/v1/copies/{copy}").json()["dataset"]
    grant = admin.put(f"/v1/datasets/{dataset}/grants/{made['id']}", json={"level": "a"})
    assert grant.status_code == 200
    return made["id"], made["key"]


def agreed(service: Service, copy: str) -> tuple[str, str]:
    """The same by an agreement that both sides have carried to its end."""
    admin: TestClient = service.client()
    made = admin.post("/v1/principals", json={"name": "reader"}).json()
    dataset = admin.get(f"/v1/copies/{copy}").json()["dataset"]
    terms = {"items": [{"dataset": dataset, "level": "a"}], "purpose": "research"}
    offered = admin.post("/v1/agreements", json={**terms, "recipient": made["id"]}).json()
    reader = service.client(made["key"])
    steps = ((reader, "accept"), (admin, "agree"), (reader, "verify"), (admin, "finalize"))
    for client, message in steps:
        said = client.post(f"/v1/agreements/{offered['id']}/{message}", json={})
        assert said.status_code == 200, said.text
    return made["id"], made["key"]


def transferred(service: Service, copy: str) -> tuple[str, str]:
    """The same by a transfer of a data space: the key is the transfer's own."""
    admin: TestClient = service.client()
    made = admin.post("/v1/principals", json={"name": "reader"}).json()
    named = {"participant_id": "did:web:reader.example"}
    admin.put(f"/v1/principals/{made['id']}/participant", json=named)
    at = f"/v1/datasets/{admin.get(f'/v1/copies/{copy}').json()['dataset']}"
    level = admin.get(f"{at}/levels").json()["levels"][0]
    offered = {"noise_variance": level["noise_variance"], "offered": True}
    assert admin.put(f"{at}/levels/a", json=offered).status_code == 200
    assert admin.patch(at, json={"listed": True}).status_code == 200
    rule = {"least_privacy": 0.01, "longest_days": 30}
    assert admin.post("/v1/agreement-rules", json=rule).status_code == 201
    connector = service.client(made["key"])
    begun = started(connector, agreed_by_rule(connector), "reader")
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        transfer = transfers.one(connection, begun)
    assert transfer is not None
    assert transfer.address is not None
    address = json.loads(resources.vault.open(transfer.address, f"transfer:{begun}"))
    return made["id"], address["endpointProperties"][0]["value"]


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("transfer suspended", {"accept": ARROW}),
        ("key revoked", {"accept": ARROW}),
        ("grant withdrawn", {"accept": ARROW}),
        ("agreement terminated", {"accept": ARROW}),
        ("key revoked", {"accept": CSV}),
        ("key revoked", {"accept": PARQUET}),
        ("key revoked", {"accept": JSON}),
        ("key revoked", {"accept": CSV, "range": "bytes=0-"}),
    ],
)
def test_what_ends_the_right_ends_the_download(
    service: Service, url: str, copy: str, end: str, how: dict[str, str]
) -> None:
    by_agreement = end == "agreement terminated"
    ways = {"agreement terminated": agreed, "transfer suspended": transferred}
    recipient, key = ways.get(end, granted)(service, copy)
    headers = {"authorization": f"Bearer {key}", **how}
    received: list[int] = []
    # JSON is written up to a length.
    rows = {"rows": f"0:{JSON_ROWS}"} if how["accept"] == JSON else {}
    address = f"{url}/v1/copies/{copy}/content"
    with httpx2.stream("GET", address, params=rows, headers=headers, timeout=60) as download:
        assert download.status_code == (206 if "range" in how else 200)
        chunks = download.iter_raw()
        received.append(len(next(chunks)))
        admin = service.client()
        if end == "key revoked":
            assert admin.delete(f"/v1/principals/{recipient}").status_code == 204
        elif end == "transfer suspended":
            [transfer] = admin.get("/v1/transfers").json()["transfers"]
            stopped = admin.post(f"/v1/transfers/{transfer['id']}/suspend", json={})
            assert stopped.status_code == 200
        elif by_agreement:
            listed = admin.get("/v1/agreements", params={"state": "FINALIZED"}).json()
            agreement = listed["agreements"][0]["id"]
            assert admin.post(f"/v1/agreements/{agreement}/terminate", json={}).status_code == 200
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
    assert [entry["principal"] for entry in refusals] == [recipient]


def test_a_client_that_goes_away_stops_the_work(service: Service, url: str, copy: str) -> None:
    headers = {"authorization": service.client().headers["authorization"], "accept": ARROW}
    with httpx2.stream(
        "GET", f"{url}/v1/copies/{copy}/content", headers=headers, timeout=60
    ) as download:
        next(download.iter_raw())
    noise = service.app.state.resources.noise
    for _ in range(6_000):
        if service.app.state.resources.downloads.budget.taken == 0:
            break
        time.sleep(0.01)
    else:
        pytest.fail("threads make blocks for nobody")
    whole = BLOCKS * BLOCK_ROWS * COLUMNS * 8
    assert noise.bytes_held < whole, "blocks were made for nobody"
