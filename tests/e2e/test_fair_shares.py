"""One principal's slow senders, slow receivers and many jobs do not keep the others waiting: the attacks in full size."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import numpy as np
import pytest

from tests.e2e.running import Service, serving

CSV = {"Content-Type": "text/csv"}
TABLE = b"city,job\n" + b"a,x\nb,y\na,x\n" * 10
ADDRESS = "/v1/identifiability?confidential=city"
CONNECTIONS, PIECE, PAUSE_SECONDS = 8, 92, 0.1
"""Of each of three keys: 8 connections of 92 bytes ten times a second, 22 KB/s in all."""

pytestmark = pytest.mark.slow


def principal(service: Service, name: str, role: str = "recipient") -> httpx2.Client:
    made = service.client.post("/v1/principals", json={"name": name, "role": role}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    return httpx2.Client(base_url=service.url, headers=headers, timeout=300)


def half_sent(service: Service, client: httpx2.Client, sent: bytes, length: int) -> socket.socket:
    """An upload of which only the beginning came."""
    connection = socket.create_connection(("127.0.0.1", urlsplit(service.url).port or 80))
    head = (
        f"POST {ADDRESS} HTTP/1.1",
        "Host: cornerwave",
        f"Authorization: {client.headers['authorization']}",
        "Content-Type: text/csv",
        f"Content-Length: {length}",
    )
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + sent)
    return connection


@contextmanager
def repeated(action: Callable[[], None]) -> Iterator[None]:
    """An action again and again, beside the block."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(PAUSE_SECONDS):
            action()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_three_keys_that_drip_hold_up_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, {}) as service, ExitStack() as opened:
        keys = [opened.enter_context(principal(service, f"slow-{n}")) for n in range(3)]
        dripping = [
            opened.enter_context(half_sent(service, key, b"a,b\n", 10**9))
            for key in keys
            for _ in range(CONNECTIONS)
        ]

        def drip() -> None:
            for connection in dripping:
                connection.sendall(b"1,2\n" * (PIECE // 4))

        other = opened.enter_context(principal(service, "other"))
        with repeated(drip):
            time.sleep(2)
            for client in (other, keys[0]):
                began = time.monotonic()
                answer = client.post(ADDRESS, content=TABLE, headers=CSV)
                print(f"an upload beside {len(dripping)}: {time.monotonic() - began:.2f} s")
                assert answer.status_code == 200


def test_thirty_uploads_of_three_bytes_hold_up_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, {}) as service, ExitStack() as opened:
        key = opened.enter_context(principal(service, "one"))
        for length in (3, 1_000):
            for _ in range(30):
                opened.enter_context(half_sent(service, key, b"a,b", length))
            began = time.monotonic()
            assert key.post(ADDRESS, content=TABLE, headers=CSV).status_code == 200
            print(f"an upload after 30 of 3 bytes: {time.monotonic() - began:.2f} s")


def test_many_jobs_of_one_principal_delay_another_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1_000, 6))
    table = b"a,b,c,d,e,f\n" + b"\n".join(b",".join(b"%.3f" % v for v in row) for row in rows)
    address, later = "/v1/synthesis/compare?seed=1", {"Prefer": "respond-async", **CSV}
    with serving(tmp_path, {}) as service, ExitStack() as opened:
        many, one = (opened.enter_context(principal(service, name)) for name in ("many", "one"))
        jobs = [
            many.post(address, content=table, headers=later).headers["Location"] for _ in range(25)
        ]
        began = time.monotonic()
        mine = one.post(address, content=table, headers=later).headers["Location"]
        while one.get(mine).json()["state"] not in ("done", "failed"):
            time.sleep(0.1)
        states = [many.get(job).json()["state"] for job in jobs]
        print(
            f"a job beside 25 of another: {time.monotonic() - began:.1f} s, {states.count('done')} before it"
        )
        assert one.get(mine).json()["state"] == "done"
        assert states.count("queued") > 15
        for job in jobs:
            many.delete(job)


def test_two_receivers_that_drip_stop_no_job(tmp_path: Path) -> None:
    with serving(tmp_path, {"WEBHOOK_NETWORKS": "127.0.0.0/8"}) as service, ExitStack() as opened:
        listening = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        accepted: list[socket.socket] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    accepted.append(listening.accept()[0])
                    accepted[-1].sendall(b"HTTP/1.1 200 OK\r\nX: ")

        def drip() -> None:
            for connection in accepted:
                with suppress(OSError):
                    connection.sendall(b"x")

        receiving = threading.Thread(target=accept)
        receiving.start()
        owner = opened.enter_context(principal(service, "owner", "owner"))
        form = {"name": "recipient", "role": "recipient"}
        made = service.client.post("/v1/principals", json=form).json()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        for number in range(10):
            hook = owner.post("/v1/webhooks", json={"url": f"{url}/{number}"})
            assert hook.status_code == 201, hook.text
        people = b"age,income\n" + b"".join(b"%d,%d\n" % (n % 50, n * n % 901) for n in range(50))
        dataset = owner.post("/v1/datasets?name=d", content=people, headers=CSV).json()["id"]
        owner.put(f"/v1/datasets/{dataset}/levels/public", json={"noise_variance": 1.5})
        said = owner.post(
            "/v1/agreements",
            json={
                "recipient": made["id"],
                "items": [{"dataset": dataset, "level": "public"}],
                "purpose": "research",
                "legal_basis": "GDPR Art. 6(1)(e)",
                "terms": "Use it well.",
                "ends_at": "2099-01-01T00:00:00Z",
            },
        )
        assert said.status_code == 201, said.text
        with repeated(drip):
            while len(accepted) < 2:
                time.sleep(0.05)
            began = time.monotonic()
            later = {"Prefer": "respond-async", **CSV}
            job = owner.post(ADDRESS, content=TABLE, headers=later).headers["Location"]
            while owner.get(job).json()["state"] != "done":
                time.sleep(0.05)
            print(
                f"a job beside {len(accepted)} dripping receivers: {time.monotonic() - began:.2f} s"
            )
        listening.shutdown(socket.SHUT_RDWR)
        receiving.join()
        for connection in accepted:
            connection.close()
