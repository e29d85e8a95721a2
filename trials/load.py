"""Many principals at once for a long time: how long each route takes, and whether memory stays flat.

Each principal asks, waits for the answer and thinks for about a second, so that 200 of them ask for
about 200 answers a second at most.
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

from trials.crowd import ADMIN, CSV, PLAIN, table
from trials.stage.installation import Process
from trials.verdicts import expect

THINK_SECONDS = (0.5, 1.5)
SAMPLE_SECONDS = 2.0
SHED = 503


@dataclass
class Measured:
    """Seconds by route, statuses, and the resident memory over time."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)
    resident: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """p50 and p99 by route in milliseconds, and the memory in each quarter of the time."""
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
    present: Mapping[str, str],
    *,
    clients: int,
    seconds: float,
    tell: Callable[[Counter[str]], None] = lambda _: None,
) -> Measured:
    """So many clients for so long; Broken when one is answered wrongly."""
    measured = Measured()
    asyncio.run(_load(process, present, clients, seconds, measured, tell))
    wrong = {
        what: number
        for what, number in measured.statuses.items()
        if int(what.rsplit(" ", 1)[1]) not in (200, 201, 409, 422, SHED)
    }
    expect(not wrong, f"under load: {wrong}")
    return measured


async def _load(
    process: Process,
    present: Mapping[str, str],
    clients: int,
    seconds: float,
    measured: Measured,
    tell: Callable[[Counter[str]], None],
) -> None:
    until = time.monotonic() + seconds
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with (
        httpx2.AsyncClient(
            base_url=process.url, headers=ADMIN, timeout=120, verify=PLAIN, limits=limits
        ) as client,
        asyncio.TaskGroup() as tasks,
    ):
        for number in range(clients):
            tasks.create_task(_client(client, present, number, until, measured))
        while time.monotonic() < until:
            await asyncio.sleep(min(SAMPLE_SECONDS, seconds / 8))
            measured.resident.append(process.resident_bytes())
            tell(Counter({"samples": 1}))


async def _client(
    client: httpx2.AsyncClient,
    present: Mapping[str, str],
    number: int,
    until: float,
    measured: Measured,
) -> None:
    chance = random.Random(number)
    address = f"/v1/datasets/{present['dataset_id']}"
    copy = f"/v1/copies/{present['copy_id']}"
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
                content=table(chance, 2).encode(),
                headers={"Content-Type": CSV},
            ),
        ),
        (
            "POST /v1/identifiability",
            1,
            lambda: client.post(
                "/v1/identifiability",
                content=table(chance, 30).encode(),
                headers={"Content-Type": CSV},
            ),
        ),
    ]
    await asyncio.sleep(chance.uniform(0, THINK_SECONDS[1]))
    while time.monotonic() < until:
        route, _, context = chance.choices(wants, [weight for _, weight, _ in wants])[0]
        began = time.monotonic()
        answer = await context()
        if answer.status_code != SHED:
            measured.seconds[route].append(time.monotonic() - began)
        measured.statuses[f"{route} {answer.status_code}"] += 1
        await asyncio.sleep(chance.uniform(*THINK_SECONDS))
