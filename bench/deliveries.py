"""Latency of deliveries: from the answer to an append to the receipt and to the webhook.

A service process on SQLite with default settings. Agreements follow the rows (`on_append`), half by pull, half by Delta Sharing. Once with the
workers of the service, once with a separate worker.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Ratio, record
from bench.service import finalize_agreement
from tests.api.sharing.agreements.receiving import LOOPBACK, Receiver, add_webhook, receiving
from tests.e2e.serving import HEADERS, ROOT, environment, serving

ROWS, COLUMNS, MORE, FOLLOWERS = 100_000, 6, 1_000, 10
PROMISED_SECONDS = 60.0
WAIT_SECONDS = 600.0
PARQUET = {"content-type": "application/vnd.apache.parquet"}


class TimedReceiver(Receiver):
    """Webhook receiver that records the first arrival of each delivery."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[str, float] = {}

    def take(self, headers: dict[str, str], body: str) -> None:
        now = time.time()
        super().take(headers, body)
        self.at.setdefault(self.verified()[-1]["data"]["delivery"], now)


def main(trials: int = 20) -> None:
    ratios: list[Ratio] = []
    notes: list[str] = []
    for where, beside in (("in the service", False), ("in a separate process", True)):
        receipts, told = measure(trials, beside=beside)
        for what, seconds in (("receipt", receipts), ("webhook", told)):
            claim = f"seconds from append to {what}, maximum of {len(seconds)}, workers {where}"
            ratios.append(Ratio(claim, max(seconds), PROMISED_SECONDS))
            middle = statistics.median(seconds)
            notes.append(f"Workers {where}: median {middle:.2f} s to the {what}.")
            print(claim, round(max(seconds), 2), "median", round(middle, 2), flush=True)
    notes.append(
        f"{trials} appends of {MORE:,} rows to {ROWS:,} × {COLUMNS}, delivered under {FOLLOWERS} agreements:"
        " half by pull, half by Delta Sharing. SQLite, default settings."
    )
    record("deliveries", ratios, notes=notes)


def measure(trials: int, *, beside: bool) -> tuple[list[float], list[float]]:
    """Seconds to the receipt and to the webhook of every delivery."""
    receipts: list[float] = []
    told: list[float] = []
    rng = np.random.default_rng(18)
    with run_service(beside) as client, receiving(TimedReceiver()) as receiver:
        assert isinstance(receiver, TimedReceiver)
        dataset = register(client, rng)
        agreements = [agree(client, dataset, number, receiver) for number in range(FOLLOWERS)]
        wait_for_deliveries(client, agreements, receiver, 1)
        for trial in range(trials):
            added = client.post(
                f"/v1/datasets/{dataset}/rows", content=table(rng, MORE), headers=PARQUET
            )
            answered = time.time()
            assert added.status_code == 201, added.text
            made = wait_for_deliveries(client, agreements, receiver, trial + 2)
            cause = f"rows:{ROWS + MORE * (trial + 1)}"
            new = [one for one in made if one["cause"] == cause]
            assert len(new) == FOLLOWERS
            for one in new:
                at = datetime.fromisoformat(one["delivered_at"]).timestamp()
                receipts.append(at - answered)
                told.append(receiver.at[one["id"]] - answered)
    return receipts, told


def wait_for_deliveries(
    client: httpx2.Client, agreements: list[str], receiver: TimedReceiver, each: int
) -> list[Any]:
    """Wait until every agreement has `each` deliveries with webhooks, and return all."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        # Polling must not affect the measurement.
        time.sleep(0.5)
        if len(receiver.at) < each * len(agreements):
            continue
        made = []
        for one in agreements:
            asked = client.get(f"/v1/agreements/{one}/deliveries", params={"limit": 1000})
            made += asked.json()["deliveries"]
        if sum(one["state"] == "delivered" for one in made) == each * len(agreements):
            return made
    raise TimeoutError(f"not delivered within {WAIT_SECONDS:g} s")


@contextmanager
def run_service(beside: bool) -> Iterator[httpx2.Client]:
    """Run a service with its own workers or with a separate one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        database = f"sqlite:///{folder}/bench.sqlite"
        settings = LOOPBACK | ({"JOB_THREADS": "0"} if beside else {})
        with serving(database, home, processes=1, **settings) as [url]:
            worker = None
            if beside:
                worker = subprocess.Popen(
                    [sys.executable, "-m", "app", "worker"],
                    cwd=ROOT,
                    env=environment(database, home, **LOOPBACK),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            try:
                with httpx2.Client(base_url=url, headers=HEADERS, timeout=WAIT_SECONDS) as client:
                    yield client
            finally:
                if worker is not None:
                    worker.terminate()
                    worker.wait()


def register(client: httpx2.Client, rng: np.random.Generator) -> str:
    made = client.post(
        "/v1/datasets", params={"name": "growing"}, content=table(rng, ROWS), headers=PARQUET
    )
    assert made.status_code == 201, made.text
    dataset = str(made.json()["id"])
    at = f"/v1/datasets/{dataset}/levels/public"
    assert client.put(at, json={"privacy": 0.6}).status_code == 200
    return dataset


def agree(client: httpx2.Client, dataset: str, number: int, receiver: Receiver) -> str:
    """Return an agreement in force that follows the rows; the administrator acts as owner."""
    made = client.post("/v1/principals", json={"name": f"recipient {number}"}).json()
    form = {
        "recipient": made["id"],
        "items": [{"dataset": dataset, "level": "public"}],
        "purpose": "research",
        "refresh": "on_append",
        "deliveries": [{"channel": ("pull", "delta")[number % 2]}],
    }
    if number == 0:
        add_webhook(client, receiver, events=["copy.ready", "rows.refreshed"])
    own = {"Authorization": f"Bearer {made['key']}"}
    with httpx2.Client(base_url=client.base_url, headers=own, timeout=WAIT_SECONDS) as recipient:
        return finalize_agreement(client, recipient, form)


def table(rng: np.random.Generator, rows: int) -> bytes:
    values = rng.normal(size=(rows, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS))
    sink = io.BytesIO()
    pq.write_table(pa.table({f"x{j}": column for j, column in enumerate(values.T)}), sink)
    return sink.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    main(parser.parse_args().trials)
