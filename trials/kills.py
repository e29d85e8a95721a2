"""SIGKILL at random moments, from outside, over and over.

Each installation meets a number of kills, one after the other, and is then thrown away. A kill hits a
process that serves a crowd, or one that is just starting. Everything in `trials.checks` is looked at
after each of them.
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
from trials.checks import check
from trials.crowd import Crowd
from trials.ledger import Ledger
from trials.stage.installation import Forker, Installation

ROUNDS = 20
"""Of one installation; each is a kill or several, a start, and a look at everything."""

FULLY = 5
"""In one round of so many, and in the last, also what nobody touched is compared to the last bit."""

WHOLE_STARTS = 50
"""One start of so many is made from nothing, imports and all."""

ALSO_STARTING = 0.25
"""How often a process is killed that has just been started, before another that serves."""

ALL_AT_ONCE = 0.25
"""How often every process is killed at the same moment, as by a loss of power."""

LONGEST, LEAST = 3.0, 0.05
"""Bounds, in seconds, of how long the crowd works before a kill at most."""


@contextmanager
def installed(
    folder: Path, forker: Forker, postgres: str | None, settings: dict[str, str] | None = None
) -> Iterator[Installation]:
    """A new installation, on SQLite or on a new database of the server; gone afterwards.

    It stays for a look when a promise was broken.
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
    tell: Callable[[Counter[str]], None] = lambda _: None,
) -> Counter[str]:
    """So many rounds with a new installation; Broken where a promise is.

    What is counted is returned, and told round by round.
    """
    chance = random.Random(seed)
    ledger, total = Ledger(), Counter[str]()
    with installed(folder, forker, postgres) as installation:
        for _ in range(processes):
            installation.start()
        with Crowd(ledger, installation.urls, seed=seed) as crowd:
            crowd.settle(installation.urls()[0])
            longest = 0.3
            for number in range(1, rounds + 1):
                done = kill_once(installation, crowd, chance, longest)
                # On a machine of any speed, some kills fall before anything was acknowledged.
                longest = min(LONGEST, max(LEAST, longest * (0.8 if ledger.answers() else 1.5)))
                fully = number % FULLY == 0 or number == rounds
                url = installation.processes[-1].url
                done["copies compared"] += check(installation, ledger, url, fully=fully)
                done += Counter({"rounds": 1, "looked at fully": int(fully)}) + ledger.told()
                total += done
                tell(done)
        aside = len(list((installation.home / "blobs" / ASIDE).glob("*")))
        last = Counter({"installations": 1, "uploads set aside": aside})
        tell(last)
    return total + last


def kill_once(
    installation: Installation, crowd: Crowd, chance: random.Random, longest: float
) -> Counter[str]:
    """One process is killed, or all at once; others take their place, and the crowd pauses."""
    done = Counter[str]()
    crowd.resume()
    time.sleep(chance.uniform(0, longest))
    if chance.random() < ALSO_STARTING:
        # One more, killed before it has served much: in its start, its sweep, its first requests.
        newcomer = installation.begin()
        newcomer.ready = True  # to the crowd: its port answers early, or not at all
        time.sleep(chance.uniform(0, longest))
        installation.kill(newcomer)
        done += Counter({"kills": 1, "kills while starting": 1})
    running = list(installation.processes)
    victims = running if chance.random() < ALL_AT_ONCE else [chance.choice(running)]
    for victim in victims:
        installation.kill(victim)
        done["kills"] += 1
    if chance.random() < 0.5:
        crowd.pause()  # else the next process starts, and sweeps, while others are at work
    for _ in victims:
        whole = chance.randrange(WHOLE_STARTS) == 0
        installation.start(whole=whole)
        done["starts from nothing"] += whole
    crowd.pause()
    return done
