"""Faults around the service, while a crowd works: of its database, its Redis, its disk, the network,
the clock.

Each fault is a block: inside it is there, afterwards it is mended. Then everything in `trials.checks`
must hold. What principals may be answered meanwhile is said with the fault: an outage is a 503 or a 507,
never a 500, and a Redis that fails is nothing at all.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

from tests.store.caches.lying_redis import LIES, Liar, lying_redis
from trials.checks import check
from trials.crowd import Crowd
from trials.kills import installed
from trials.ledger import Ledger
from trials.stage.installation import Forker, Installation
from trials.stage.network import wire_to
from trials.stage.preload import Wishes
from trials.stage.servers import Server, server

LONGEST = 1.5
"""Seconds that a fault lasts, at most."""

DAY = 24 * 3600
OUTAGE = frozenset({503, 507})

Tell = Callable[[Counter[str]], None]


def fault_repeatedly(
    installation: Installation,
    fault: Callable[[random.Random], AbstractContextManager[None]],
    *,
    times: int,
    seed: int,
    excused: frozenset[int] = frozenset(),
    urls: Callable[[], list[str]] | None = None,
    tell: Tell = lambda _: None,
) -> Counter[str]:
    """The same fault so many times, with a look at everything after each."""
    chance, ledger, total = random.Random(seed), Ledger(), Counter[str]()
    with Crowd(ledger, urls or installation.urls, seed=seed, excused=excused) as crowd:
        crowd.settle(installation.urls()[0])
        for number in range(1, times + 1):
            crowd.resume()
            time.sleep(chance.uniform(0, LONGEST / 3))
            with fault(chance):
                time.sleep(chance.uniform(LONGEST / 5, LONGEST))
            crowd.pause()
            for process in installation.processes:
                installation.wait_until_ready(process)
            # A start sweeps: what uploads left that could not tell how they ended.
            installation.kill(installation.processes[0])
            installation.start()
            done = ledger.told() + Counter({"times": 1})
            done["copies compared"] += check(
                installation, ledger, installation.processes[-1].url, fully=number == times
            )
            total += done
            tell(done)
    return total


# The faults


@contextmanager
def stopped(of: Server, number: int) -> Iterator[None]:
    """The server ends by this signal, and starts again on its port."""
    of.end(number)
    try:
        yield
    finally:
        of.begin()


@contextmanager
def paused(of: Server) -> Iterator[None]:
    of.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        of.process.send_signal(signal.SIGCONT)


@contextmanager
def lying(liar: Liar, chance: random.Random) -> Iterator[None]:
    """From now on it answers something else; it never tells the truth."""
    liar.answer = chance.choice(list(LIES.values()))
    yield


@contextmanager
def full(wishes: Wishes, chance: random.Random) -> Iterator[None]:
    """So many writes of a million find no room."""
    wishes.fail_writes(chance.choice([10_000, 50_000, 200_000, 1_000_000]))
    try:
        yield
    finally:
        wishes.fail_writes(0)


@contextmanager
def moved(wishes: Wishes, chance: random.Random) -> Iterator[None]:
    """The clock jumps, forth or back, and stays there until it jumps again."""
    wishes.move_clock(chance.choice([-1, 1]) * chance.choice([90, 3600, DAY, 30 * DAY, 400 * DAY]))
    yield


# Where each of them is tried


def of_postgres(number: int) -> Callable[..., Counter[str]]:
    """PostgreSQL ended by a signal, under two processes."""

    def run(folder: Path, forker: Forker, times: int, seed: int, tell: Tell) -> Counter[str]:
        with server("postgres") as database, ExitStack() as opened:
            installation = opened.enter_context(
                installed(folder, forker, database.url, {"DATABASE_TIMEOUT_SECONDS": "9"})
            )
            for _ in range(2):
                installation.start()
            return fault_repeatedly(
                installation,
                lambda _: stopped(database, number),
                times=times,
                seed=seed,
                excused=OUTAGE,
                tell=tell,
            )

    return run


def of_redis(
    fault: Callable[[Server], AbstractContextManager[None]],
) -> Callable[..., Counter[str]]:
    """A Redis that fails, under a service that asks it for every block."""

    def run(folder: Path, forker: Forker, times: int, seed: int, tell: Tell) -> Counter[str]:
        with server("redis") as redis:
            settings = {"REDIS_URL": redis.url, "NOISE_CACHE_BYTES": "1", "COPY_CACHE_BYTES": "1"}
            with installed(folder, forker, None, settings) as installation:
                installation.start()
                return fault_repeatedly(
                    installation, lambda _: fault(redis), times=times, seed=seed, tell=tell
                )

    return run


def lies(folder: Path, forker: Forker, times: int, seed: int, tell: Tell) -> Counter[str]:
    """A Redis that answers something wrong."""
    with lying_redis(b"+OK\r\n") as liar:
        settings = {"REDIS_URL": liar.url, "NOISE_CACHE_BYTES": "1", "COPY_CACHE_BYTES": "1"}
        with installed(folder, forker, None, settings) as installation:
            installation.start()
            return fault_repeatedly(
                installation, lambda chance: lying(liar, chance), times=times, seed=seed, tell=tell
            )


def network(folder: Path, forker: Forker, times: int, seed: int, tell: Tell) -> Counter[str]:
    """Connections reset between a proxy and the service."""
    with installed(folder, forker, None) as installation, ExitStack() as opened:
        wire = opened.enter_context(wire_to(installation.start().url))

        @contextmanager
        def cut(_: random.Random) -> Iterator[None]:
            wire.target = installation.processes[-1].url
            wire.cut()
            try:
                yield
            finally:
                wire.mend()

        def urls() -> list[str]:
            wire.target = installation.processes[-1].url
            return [wire.url]

        total = fault_repeatedly(installation, cut, times=times, seed=seed, urls=urls, tell=tell)
        cuts = Counter({"connections cut": wire.cuts})
        tell(cuts)
        return total + cuts


def preloaded(
    fault: Callable[[Wishes, random.Random], AbstractContextManager[None]],
    excused: frozenset[int],
) -> Callable[..., Counter[str]]:
    """What a library between the service and its system brings about."""

    def run(folder: Path, forker: Forker, times: int, seed: int, tell: Tell) -> Counter[str]:
        del forker
        folder.mkdir(parents=True)
        with closing(Wishes(folder)) as wishes, ExitStack() as opened:
            faulty = opened.enter_context(closing(Forker(wishes.environment)))
            installation = opened.enter_context(installed(folder / "installation", faulty, None))
            installation.start()
            total = fault_repeatedly(
                installation,
                lambda chance: fault(wishes, chance),
                times=times,
                seed=seed,
                excused=excused,
                tell=tell,
            )
            failed = Counter({"writes that failed": wishes.failed})
        tell(failed)
        return total + failed

    return run


FAULTS: dict[str, Callable[..., Counter[str]]] = {
    "PostgreSQL stopped fast": of_postgres(signal.SIGINT),
    "PostgreSQL killed": of_postgres(signal.SIGKILL),
    "Redis killed": of_redis(lambda redis: stopped(redis, signal.SIGKILL)),
    "Redis paused": of_redis(paused),
    "Redis lying": lies,
    "disk full at random writes": preloaded(full, OUTAGE),
    "network cut": network,
    "clock moved": preloaded(moved, frozenset()),
}
