"""Fifty clients of four processes ask for twenty new levels of one data set at once."""

from __future__ import annotations

import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import httpx2
import numpy as np

from tests.e2e.serving import HEADERS, serving

CLIENTS, PROCESSES, LEVELS, DOWNLOADS = 50, 4, 20, 2
ROWS = 300


def test_one_history_no_variance_twice_and_every_download_alike(
    database_url: str, tmp_path: Path
) -> None:
    variances = [round(0.2 + 0.04 * number, 3) for number in range(LEVELS)]
    with serving(database_url, tmp_path / "home", processes=PROCESSES) as urls:
        dataset = registered(urls[0])
        together = Barrier(CLIENTS)

        def client_work(number: int) -> tuple[list[tuple[float, int, str]], dict[str, bytes]]:
            order = random.Random(number)
            with httpx2.Client(
                base_url=urls[number % PROCESSES], headers=HEADERS, timeout=120
            ) as client:
                answers = []
                together.wait()
                for variance in order.sample(variances, LEVELS):
                    answer = client.post(
                        f"/v1/datasets/{dataset}/copies", json={"noise_variance": variance}
                    )
                    answers.append((variance, answer.status_code, answer.json()["id"]))
                bodies = {
                    copy: client.get(
                        f"/v1/copies/{copy}/content", headers={"accept": "text/csv"}
                    ).content
                    for _, _, copy in order.sample(answers, DOWNLOADS)
                }
                return answers, bodies

        with ThreadPoolExecutor(CLIENTS) as pool:
            results = list(pool.map(client_work, range(CLIENTS)))
        entries = httpx2.get(
            f"{urls[1]}/v1/datasets/{dataset}/history",
            headers=HEADERS,
            params={"limit": 1000},
            timeout=60,
        ).json()["entries"]

    assert sorted(entry["noise_variance"] for entry in entries) == variances
    assert [entry["sequence"] for entry in entries] == list(range(1, LEVELS + 1))
    for before, after in pairwise(entries):
        assert after["previous_hash"] == before["hash"]
    copies: dict[float, set[str]] = defaultdict(set)
    statuses: list[int] = []
    downloaded: dict[str, set[bytes]] = defaultdict(set)
    for answers, bodies in results:
        for variance, status, copy in answers:
            statuses.append(status)
            copies[variance].add(copy)
        for copy, body in bodies.items():
            assert body.count(b"\n") == ROWS + 1
            downloaded[copy].add(body)
    assert statuses.count(201) == LEVELS
    assert statuses.count(200) == CLIENTS * LEVELS - LEVELS
    assert {len(ids) for ids in copies.values()} == {1}
    assert {len(bodies) for bodies in downloaded.values()} == {1}
    assert len({next(iter(bodies)) for bodies in downloaded.values()}) == len(downloaded)


def registered(url: str) -> str:
    x, y = np.random.default_rng(0).normal(size=(2, ROWS))
    body = "x,y\n" + "\n".join(f"{a!r},{b!r}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    made = httpx2.post(
        f"{url}/v1/datasets",
        params={"name": "shared"},
        content=body,
        headers={**HEADERS, "content-type": "text/csv"},
        timeout=60,
    )
    assert made.status_code == 201, made.text
    dataset: str = made.json()["id"]
    return dataset
