"""Load test: latency per route and memory over time.

Each client thinks for about a second between two requests, so 200 clients make at most about 200 requests a second.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx2

from trials.environment.installation import Process
from trials.errors import expect
from trials.workload import ADMIN, CSV, TLS_CONTEXT, table

THINK_SECONDS = (0.5, 1.5)
SAMPLE_SECONDS = 2.0
SHED = 503


@dataclass
class LoadResult:
    """Latencies by route, status counts, and resident memory over time."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)
    resident: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Return p50 and p99 per route in milliseconds, and the median memory in each quarter of the time."""
        routes = {
            route: {
                "answers": len(took),
                "p50_ms": 1000 * quantile(took, 0.50),
                "p99_ms": 1000 * quantile(took, 0.99),
            }
            for route, took in sorted(self.seconds.items())
        }
        quarter = max(1, len(self.resident) // 4)
        starts = range(0, 4 * quarter, quarter)
        return {
            "routes": routes,
            "resident_mib": [
                median(self.resident[start : start + quarter] or self.resident[-1:]) / 2**20
                for start in starts
            ],
        }


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def load(
    process: Process,
    ids: Mapping[str, str],
    *,
    clients: int,
    seconds: float,
    report: Callable[[Counter[str]], None] = lambda _: None,
) -> LoadResult:
    """Run the clients for some seconds; an unexpected status is a violation."""
    result = LoadResult()
    asyncio.run(_load(process, ids, clients, seconds, result, report))
    wrong = {
        what: number
        for what, number in result.statuses.items()
        if int(what.rsplit(" ", 1)[1]) not in (200, 201, 409, 422, SHED)
    }
    expect(not wrong, f"under load: {wrong}")
    return result


async def _load(
    process: Process,
    ids: Mapping[str, str],
    clients: int,
    seconds: float,
    result: LoadResult,
    report: Callable[[Counter[str]], None],
) -> None:
    until = time.monotonic() + seconds
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with (
        httpx2.AsyncClient(
            base_url=process.url, headers=ADMIN, timeout=120, verify=TLS_CONTEXT, limits=limits
        ) as client,
        asyncio.TaskGroup() as tasks,
    ):
        for number in range(clients):
            tasks.create_task(_client(client, ids, number, until, result))
        while time.monotonic() < until:
            await asyncio.sleep(min(SAMPLE_SECONDS, seconds / 8))
            result.resident.append(process.resident_bytes())
            report(Counter({"samples": 1}))


async def _client(
    client: httpx2.AsyncClient,
    ids: Mapping[str, str],
    number: int,
    until: float,
    result: LoadResult,
) -> None:
    rng = random.Random(number)
    address = f"/v1/datasets/{ids['dataset_id']}"
    copy = f"/v1/copies/{ids['copy_id']}"
    wants: list[tuple[str, int, Callable[[], Any]]] = [
        ("GET /health", 2, lambda: client.get("/health")),
        ("GET /v1/datasets", 4, lambda: client.get("/v1/datasets")),
        ("GET /v1/datasets/{id}", 4, lambda: client.get(address)),
        ("GET /v1/copies/{id}", 4, lambda: client.get(copy)),
        ("GET /v1/copies/{id}/content", 6, lambda: client.get(f"{copy}/content")),
        (
            "POST /v1/datasets/{id}/copies",
            2,
            lambda: client.post(f"{address}/copies", json={"level": "met"}),
        ),
        (
            "POST /v1/datasets/{id}/rows",
            1,
            lambda: client.post(
                f"{address}/rows?allow_overlap=true",
                content=table(rng, 2).encode(),
                headers={"Content-Type": CSV},
            ),
        ),
        (
            "POST /v1/identifiability",
            1,
            lambda: client.post(
                "/v1/identifiability",
                content=table(rng, 30).encode(),
                headers={"Content-Type": CSV},
            ),
        ),
    ]
    await asyncio.sleep(rng.uniform(0, THINK_SECONDS[1]))
    while time.monotonic() < until:
        route, _, ask = rng.choices(wants, [weight for _, weight, _ in wants])[0]
        began = time.monotonic()
        answer = await ask()
        if answer.status_code != SHED:
            result.seconds[route].append(time.monotonic() - began)
        result.statuses[f"{route} {answer.status_code}"] += 1
        await asyncio.sleep(rng.uniform(*THINK_SECONDS))
