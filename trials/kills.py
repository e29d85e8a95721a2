"""SIGKILL at random moments, from outside.

Each installation takes a number of kills and is then discarded. A kill hits a process under load or one that is starting.
`trials.invariants` are checked after each.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.store.blobs.folder import ASIDE
from tests.databases import fresh_database
from trials.environment.installation import Forker, Installation
from trials.invariants import check_invariants
from trials.ledger import Ledger
from trials.workload import Workload

ROUNDS = 20
"""Rounds per installation: one or more kills, a start, and a check."""

FULLY = 5
"""Every so many rounds, and in the last, untouched copies are compared too."""

WHOLE_STARTS = 50
"""One start in so many is not forked."""

ALSO_STARTING = 0.25
"""Probability of also killing a process that is starting."""

ALL_AT_ONCE = 0.25
"""Probability of killing all processes at once, as in a power failure."""

LONGEST, LEAST = 3.0, 0.05
"""Bounds in seconds of the workload before a kill."""


@contextmanager
def temporary_installation(
    folder: Path, forker: Forker, postgres: str | None, settings: dict[str, str] | None = None
) -> Iterator[Installation]:
    """Create an installation on SQLite or a new PostgreSQL database, and delete it afterwards.

    It is kept when an invariant was violated.
    """
    chosen = dict(settings or {})
    if postgres is None:
        installation = Installation(folder / "home", forker, chosen)
        try:
            yield installation
        finally:
            installation.stop()
    else:
        with fresh_database(postgres) as url:
            installation = Installation(folder / "home", forker, {**chosen, "DATABASE_URL": url})
            try:
                yield installation
            finally:
                installation.stop()
    shutil.rmtree(folder)


def kill_repeatedly(
    folder: Path,
    forker: Forker,
    *,
    postgres: str | None,
    processes: int,
    rounds: int,
    seed: int,
    report: Callable[[Counter[str]], None] = lambda _: None,
) -> Counter[str]:
    """Run rounds on a new installation and return the counts, also reported per round."""
    rng = random.Random(seed)
    ledger, total = Ledger(), Counter[str]()
    with temporary_installation(folder, forker, postgres) as installation:
        for _ in range(processes):
            installation.start()
        with Workload(ledger, installation.urls, seed=seed) as workload:
            workload.prepare(installation.urls()[0])
            longest = 0.3
            for number in range(1, rounds + 1):
                done = kill_once(installation, workload, rng, longest)
                # Adapt to the machine: some kills must come before anything was acknowledged.
                longest = min(LONGEST, max(LEAST, longest * (0.8 if ledger.answers() else 1.5)))
                fully = number % FULLY == 0 or number == rounds
                url = installation.processes[-1].url
                done["copies compared"] += check_invariants(installation, ledger, url, fully=fully)
                done += (
                    Counter({"rounds": 1, "looked at fully": int(fully)}) + ledger.drain_outcomes()
                )
                total += done
                report(done)
        aside = len(list((installation.home / "blobs" / ASIDE).glob("*")))
        last = Counter({"installations": 1, "uploads set aside": aside})
        report(last)
    return total + last


def kill_once(
    installation: Installation, workload: Workload, rng: random.Random, longest: float
) -> Counter[str]:
    """Kill one process or all, start replacements, and pause the workload."""
    done = Counter[str]()
    workload.resume()
    time.sleep(rng.uniform(0, longest))
    if rng.random() < ALSO_STARTING:
        # Kill a new process during its start, its clean-up or its first requests.
        newcomer = installation.begin()
        newcomer.ready = True  # the workload may already use its port
        time.sleep(rng.uniform(0, longest))
        installation.kill(newcomer)
        done += Counter({"kills": 1, "kills while starting": 1})
    running = list(installation.processes)
    victims = running if rng.random() < ALL_AT_ONCE else [rng.choice(running)]
    for victim in victims:
        installation.kill(victim)
        done["kills"] += 1
    if rng.random() < 0.5:
        workload.pause()  # else the next process starts and cleans up under load
    for _ in victims:
        whole = rng.randrange(WHOLE_STARTS) == 0
        installation.start(whole=whole)
        done["starts from nothing"] += whole
    workload.pause()
    return done
