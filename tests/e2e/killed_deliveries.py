"""Many agreements, one append, and workers that are killed again and again: what came of it.

    python -m tests.e2e.killed_deliveries --agreements 1000 --refreshed 200 --kills 50 --postgres

prints the figures of a whole run, on SQLite without the last word; `test_killed_deliveries.py` runs a
small one. After each kill, while no worker lives, an agreement is terminated: nothing more may be
delivered under it, and nothing more be told of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import count as counting
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from app.service.resources import Resources
from app.store.database import chained_logs, tables
from app.store.database.engine import reading
from app.store.database.sharing import agreements
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import PEOPLE, Parties, parties
from tests.api.sharing.agreements.receiving import Receiver, add_webhook, receiving
from tests.binaries import running
from tests.databases import fresh_database
from tests.e2e.serving import environment
from tests.forked import Forked, fork_server
from trials.environment.installation import COMPILED

MORE = PEOPLE.replace("\np", "\nq")
LEASE_SECONDS = 2
SETTINGS = {"WEBHOOK_NETWORKS": "127.0.0.0/8", "JOB_LEASE_SECONDS": str(LEASE_SECONDS)}
EVENTS = ["copy.ready", "rows.refreshed"]
SETTLED_SECONDS = 0.3
"""For what a killed worker had sent to come in."""

RULE = {"least_privacy": 0.5, "longest_days": 36_525}


@dataclass(frozen=True)
class Found:
    """What came of a run.

    where:
        terminated        agreements that were terminated: some before any worker, one after each kill
        expected          deliveries that the other agreements ask for
        delivered         deliveries of those that ended well
        receipts          entries of their logs that say so
        twice             causes with more than one receipt
        files, wrong_files  pushed files, and those without the checksum of their receipt
        told              deliveries of those of which a message was received and verified
        messages          messages received, again and again counted
        after_termination messages received and receipts written after their agreement was terminated
        broken_logs       agreements whose log is not whole
        kills             workers that were killed, and how many of them at work
    """

    agreements: int
    refreshed: int
    terminated: int
    expected: int
    delivered: int
    receipts: int
    twice: int
    files: int
    wrong_files: int
    told: int
    messages: int
    after_termination: int
    broken_logs: int
    kills: int
    killed_at_work: int
    seconds: float


def run(
    database_url: str, home: Path, *, count: int, refreshed: int, kills: int, patience: float
) -> Found:
    """The whole story; workers live some seconds each until `kills` of them were killed."""
    began = time.monotonic()
    place = home / "pushed"
    place.mkdir(parents=True)
    settings = {**SETTINGS, "DELIVERY_TARGETS": f"partner={place}"}
    service = Service(database_url, home, **settings)
    with ExitStack() as stack:
        stack.callback(service.close)
        receiver = stack.enter_context(receiving())
        two = parties(service)
        add_webhook(two.recipient, receiver, events=EVENTS)
        form = {**RULE, "dataset": two.dataset}
        assert two.owner.post("/v1/agreement-rules", json=form).status_code == 201
        made = [_agreed(two, number, refreshed) for number in range(count)]
        # Some end before anybody has delivered anything: nothing of them may ever be told.
        early = made[-max(1, count // 50) :]
        resources: Resources = service.app.state.resources
        ended = Ended(two, resources, receiver, made[refreshed : -len(early)])
        for agreement in early:
            ended.terminate(agreement)
        workers = Workers(database_url, home, settings)
        following = set(made[:refreshed])

        def lacking(rounds: int) -> bool:
            """Whether some agreement that goes on lacks a delivery of its so many."""
            made_of = _delivered(resources)
            return any(
                made_of[one] < (rounds if one in following else 1) for one in ended.others(made)
            )

        killed = workers.kill(kills // 2, resources, patience, ended.terminate_next)
        workers.finish(lambda: not lacking(1))
        _append(two)
        killed += workers.kill(kills - kills // 2, resources, patience, ended.terminate_next)
        workers.finish(lambda: _nothing_waits(resources) and not lacking(2))
        others = ended.others(made)
        found = _found(resources, place, receiver, others)
        after_termination = ended.after()
    return Found(
        agreements=count,
        refreshed=refreshed,
        terminated=len(made) - len(others),
        expected=len(others) + refreshed,
        after_termination=after_termination,
        kills=kills,
        killed_at_work=killed,
        seconds=round(time.monotonic() - began, 1),
        **found,
    )


class Ended:
    """Agreements that are terminated while no worker lives, and what comes of them afterwards."""

    def __init__(
        self, two: Parties, resources: Resources, receiver: Receiver, candidates: list[str]
    ) -> None:
        self._two, self._resources, self._receiver = two, resources, receiver
        self._candidates = candidates
        self._seen: dict[str, tuple[int, int]] = {}

    def terminate(self, agreement: str) -> None:
        self._two.say(self._two.recipient, agreement, "terminate")
        receipts = _delivered(self._resources)[agreement]
        self._seen[agreement] = (len(self._receiver.got), receipts)

    def terminate_next(self) -> None:
        """The next that does not follow the rows: most of them wait for their delivery."""
        time.sleep(SETTLED_SECONDS)
        self.terminate(self._candidates.pop())

    def others(self, made: list[str]) -> list[str]:
        return [one for one in made if one not in self._seen]

    def after(self) -> int:
        """What was delivered or told under one of them since."""
        told = self._receiver.verified()
        delivered = _delivered(self._resources)
        return sum(
            sum(one["data"]["agreement"] == agreement for one in told[heard:])
            + delivered[agreement]
            - receipts
            for agreement, (heard, receipts) in self._seen.items()
        )


class Workers:
    """One worker process at a time, forked from one that has imported what a worker imports."""

    def __init__(self, database_url: str, home: Path, settings: dict[str, str]) -> None:
        compiled = {"NUMBA_CACHE_DIR": str(COMPILED)}
        self._environment = environment(database_url, home, **settings) | compiled
        self._logs = (home / f"worker-{number}.log" for number in counting())
        self._rng = random.Random(1)

    def kill(
        self, kills: int, resources: Resources, patience: float, then: Callable[[], None]
    ) -> int:
        """Start and kill workers; how many of them were killed at work."""
        at_work = 0
        for _ in range(kills):
            worker = self._started()
            # At some moment of its work, not of its start.
            time.sleep(self._rng.uniform(0.05, patience))
            at_work += _running(resources)
            worker.kill()
            worker.wait()
            then()
        return at_work

    def finish(self, holds: Callable[[], bool]) -> None:
        """Let a worker work in peace until `holds`."""
        if holds():
            return
        worker = self._started()
        try:
            while not holds():
                assert worker.poll() is None
                time.sleep(0.05)
        finally:
            worker.terminate()
            worker.wait()

    def _started(self) -> Forked:
        """A worker that has said that it works."""
        log = next(self._logs)
        log.touch()
        worker = fork_server().fork(["worker"], self._environment, log)
        while "works on jobs" not in log.read_text():
            assert worker.poll() is None, log.read_text()
            time.sleep(0.02)
        return worker


def _agreed(two: Parties, number: int, refreshed: int) -> str:
    """An agreement by rule; the first ones follow the rows, every tenth is pushed."""
    push = {"channel": "push", "target": "partner"}
    made = two.request(
        refresh="on_append" if number < refreshed else "once",
        deliveries=[push if number % 10 == 0 else {"channel": "pull"}],
    )
    agreement = str(made["id"])
    assert two.say(two.recipient, agreement, "verify")["state"] == "FINALIZED"
    return agreement


def _append(two: Parties) -> None:
    at = f"/v1/datasets/{two.dataset}/rows"
    headers = {"content-type": "text/csv"}
    added = two.owner.post(at, content=MORE, headers=headers, params={"allow_overlap": "true"})
    assert added.status_code == 201, added.text


def _delivered(resources: Resources) -> Counter[str]:
    """How many deliveries ended well, by agreement."""
    column = tables.deliveries.c.agreement
    query = select(column).where(tables.deliveries.c.state == "delivered")
    with reading(resources.engine) as connection:
        return Counter(connection.execute(query).scalars())


def _running(resources: Resources) -> int:
    """Whether somebody works on a job; the leases of one who was killed run out meanwhile."""
    soon = datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS / 2)
    live = (tables.jobs.c.state == "running") & (tables.jobs.c.lease_until > soon)
    return int(_count(resources, live) > 0)


def _nothing_waits(resources: Resources) -> bool:
    unfinished = tables.jobs.c.state.in_(["queued", "running"])
    ours = tables.jobs.c.kind.in_(["webhook", "deliver", "plan-deliveries"])
    return _count(resources, unfinished & ours) == 0


def _count(resources: Resources, condition: Any) -> int:
    with reading(resources.engine) as connection:
        query = select(func.count()).where(condition)
        return int(connection.execute(query).scalar_one())


def _found(
    resources: Resources, place: Path, receiver: Receiver, others: list[str]
) -> dict[str, int]:
    receipts: list[dict[str, Any]] = []
    broken = 0
    with reading(resources.engine) as connection:
        for agreement in agreements.page(connection, after="", limit=10_000):
            broken += bool(list(chained_logs.agreement_faults(connection, agreement)))
            receipts += [
                {**entry.facts, "agreement": agreement.id}
                for entry in chained_logs.agreement_page(
                    connection, agreement.id, after=0, limit=1_000_000
                )
                if entry.event == "delivery"
            ]
    causes = Counter((one["agreement"], one["cause"]) for one in receipts)
    going_on = set(others)
    files = {
        f"file-sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}": path
        for path in place.rglob("*.parquet")
    }
    pushed = [one for one in receipts if one["channel"] == "push"]
    on_disk = [path for path in place.rglob("*") if path.is_file()]
    told = receiver.verified()
    return {
        "delivered": sum(n for one, n in _delivered(resources).items() if one in going_on),
        "receipts": sum(one["agreement"] in going_on for one in receipts),
        "twice": sum(times > 1 for times in causes.values()),
        "files": len(on_disk),
        "wrong_files": abs(len(on_disk) - len(pushed))
        + sum(one["checksum"] not in files for one in pushed),
        "told": len(
            {one["data"]["delivery"] for one in told if one["data"]["agreement"] in going_on}
        ),
        "messages": len(told),
        "broken_logs": broken,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agreements", type=int, default=1_000)
    parser.add_argument("--refreshed", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--patience", type=float, default=4.0)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of its own")
    chosen = parser.parse_args()
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = f"sqlite:///{folder}/killed.sqlite"
        if chosen.postgres:
            server = stack.enter_context(running("postgres"))
            database = stack.enter_context(fresh_database(server))
        found = run(
            database,
            folder / "home",
            count=chosen.agreements,
            refreshed=chosen.refreshed,
            kills=chosen.kills,
            patience=chosen.patience,
        )
        print(json.dumps(asdict(found), indent=1))


if __name__ == "__main__":
    main()
