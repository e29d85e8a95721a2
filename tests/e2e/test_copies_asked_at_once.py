"""Clients of several processes ask for the same new levels of one data set at once."""

from __future__ import annotations

import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import httpx2
import numpy as np
import pytest

from tests.e2e.busy_clients import until_served
from tests.e2e.serving import HEADERS, serving

DOWNLOADS = 2
ROWS = 300
FULL = {"clients": 50, "processes": 4, "levels": 20}


@pytest.mark.parametrize(
    ("database_url", "size"),
    [
        ("postgres", {"clients": 8, "processes": 2, "levels": 5}),
        pytest.param("sqlite", FULL, marks=pytest.mark.slow),
        pytest.param("postgres", FULL, marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_one_history_no_variance_twice_and_every_download_alike(
    database_url: str, size: dict[str, int], tmp_path: Path
) -> None:
    clients, processes, levels = size["clients"], size["processes"], size["levels"]
    variances = [round(0.2 + 0.04 * number, 3) for number in range(levels)]
    with serving(database_url, tmp_path / "home", processes=processes) as urls:
        dataset = registered(urls[0])
        together = Barrier(clients)

        def client_work(number: int) -> tuple[list[tuple[float, int, str]], dict[str, bytes]]:
            order = random.Random(number)
            with httpx2.Client(
                base_url=urls[number % processes], headers=HEADERS, timeout=None
            ) as client:

                def issued(variance: float) -> tuple[float, int, str]:
                    form = {"noise_variance": variance}
                    at = f"/v1/datasets/{dataset}/copies"
                    answer = until_served(lambda: client.post(at, json=form))
                    assert answer.status_code in (200, 201), answer.text
                    return variance, answer.status_code, answer.json()["id"]

                def downloaded(copy: str) -> bytes:
                    at, csv = f"/v1/copies/{copy}/content", {"accept": "text/csv"}
                    answer = until_served(lambda: client.get(at, headers=csv))
                    assert answer.status_code == 200, answer.text
                    return answer.content

                together.wait()
                answers = [issued(variance) for variance in order.sample(variances, levels)]
                taken = order.sample(answers, DOWNLOADS)
                return answers, {copy: downloaded(copy) for _, _, copy in taken}

        with ThreadPoolExecutor(clients) as pool:
            results = list(pool.map(client_work, range(clients)))
        entries = httpx2.get(
            f"{urls[1]}/v1/datasets/{dataset}/history",
            headers=HEADERS,
            params={"limit": 1000},
            timeout=60,
        ).json()["entries"]

    assert sorted(entry["noise_variance"] for entry in entries) == variances
    assert [entry["sequence"] for entry in entries] == list(range(1, levels + 1))
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
    assert statuses.count(201) == levels
    assert statuses.count(200) == clients * levels - levels
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
