"""Fault injection under load: database, Redis, disk, network, clock.

Each fault is a context manager. After it, `trials.invariants` must hold. An outage may be answered with 503 or 507, never with
500; a Redis failure must not show at all.
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
from trials.environment.fault_injection import FaultInjector
from trials.environment.installation import Forker, Installation
from trials.environment.servers import Server, server
from trials.environment.tcp_proxy import tcp_proxy
from trials.invariants import check_invariants
from trials.kills import temporary_installation
from trials.ledger import Ledger
from trials.workload import Workload

LONGEST = 1.5
"""Longest fault in seconds."""

DAY = 24 * 3600
OUTAGE = frozenset({503, 507})

Report = Callable[[Counter[str]], None]


def fault_repeatedly(
    installation: Installation,
    fault: Callable[[random.Random], AbstractContextManager[None]],
    *,
    times: int,
    seed: int,
    tolerated: frozenset[int] = frozenset(),
    urls: Callable[[], list[str]] | None = None,
    report: Report = lambda _: None,
) -> Counter[str]:
    """Inject a fault several times under load, checking all invariants after each."""
    rng, ledger, total = random.Random(seed), Ledger(), Counter[str]()
    with Workload(ledger, urls or installation.urls, seed=seed, tolerated=tolerated) as workload:
        workload.prepare(installation.urls()[0])
        for number in range(1, times + 1):
            workload.resume()
            time.sleep(rng.uniform(0, LONGEST / 3))
            with fault(rng):
                time.sleep(rng.uniform(LONGEST / 5, LONGEST))
            workload.pause()
            for process in installation.processes:
                installation.wait_until_ready(process)
            # A start cleans up after uploads that could not.
            installation.kill(installation.processes[0])
            installation.start()
            done = ledger.drain_outcomes() + Counter({"times": 1})
            done["copies compared"] += check_invariants(
                installation, ledger, installation.processes[-1].url, fully=number == times
            )
            total += done
            report(done)
    return total


# Faults


@contextmanager
def server_stopped(server: Server, number: int) -> Iterator[None]:
    """Stop the server by a signal and restart it on its port."""
    server.end(number)
    try:
        yield
    finally:
        server.begin()


@contextmanager
def server_paused(server: Server) -> Iterator[None]:
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


@contextmanager
def redis_lying(liar: Liar, rng: random.Random) -> Iterator[None]:
    """Make Redis answer something wrong from now on."""
    liar.answer = rng.choice(list(LIES.values()))
    yield


@contextmanager
def disk_full(injector: FaultInjector, rng: random.Random) -> Iterator[None]:
    """Make a number of writes per million fail with ENOSPC."""
    injector.fail_writes(rng.choice([10_000, 50_000, 200_000, 1_000_000]))
    try:
        yield
    finally:
        injector.fail_writes(0)


@contextmanager
def clock_moved(injector: FaultInjector, rng: random.Random) -> Iterator[None]:
    """Move the clock; it stays moved until the next jump."""
    injector.move_clock(rng.choice([-1, 1]) * rng.choice([90, 3600, DAY, 30 * DAY, 400 * DAY]))
    yield


# Trials of each fault


def postgres_fault(number: int) -> Callable[..., Counter[str]]:
    """PostgreSQL stopped by a signal, under two processes."""

    def run(folder: Path, forker: Forker, times: int, seed: int, report: Report) -> Counter[str]:
        with server("postgres") as database, ExitStack() as opened:
            installation = opened.enter_context(
                temporary_installation(
                    folder, forker, database.url, {"DATABASE_TIMEOUT_SECONDS": "9"}
                )
            )
            for _ in range(2):
                installation.start()
            return fault_repeatedly(
                installation,
                lambda _: server_stopped(database, number),
                times=times,
                seed=seed,
                tolerated=OUTAGE,
                report=report,
            )

    return run


def redis_fault(
    fault: Callable[[Server], AbstractContextManager[None]],
) -> Callable[..., Counter[str]]:
    """A Redis failure under a service that needs it for every block."""

    def run(folder: Path, forker: Forker, times: int, seed: int, report: Report) -> Counter[str]:
        with server("redis") as redis:
            settings = {"REDIS_URL": redis.url, "NOISE_CACHE_BYTES": "1", "COPY_CACHE_BYTES": "1"}
            with temporary_installation(folder, forker, None, settings) as installation:
                installation.start()
                return fault_repeatedly(
                    installation, lambda _: fault(redis), times=times, seed=seed, report=report
                )

    return run


def lying_redis_trial(
    folder: Path, forker: Forker, times: int, seed: int, report: Report
) -> Counter[str]:
    """A Redis that answers something wrong."""
    with lying_redis(b"+OK\r\n") as liar:
        settings = {"REDIS_URL": liar.url, "NOISE_CACHE_BYTES": "1", "COPY_CACHE_BYTES": "1"}
        with temporary_installation(folder, forker, None, settings) as installation:
            installation.start()
            return fault_repeatedly(
                installation,
                lambda rng: redis_lying(liar, rng),
                times=times,
                seed=seed,
                report=report,
            )


def network_fault(
    folder: Path, forker: Forker, times: int, seed: int, report: Report
) -> Counter[str]:
    """Connection resets between client and service."""
    with temporary_installation(folder, forker, None) as installation, ExitStack() as opened:
        proxy = opened.enter_context(tcp_proxy(installation.start().url))

        @contextmanager
        def cut(_: random.Random) -> Iterator[None]:
            proxy.target = installation.processes[-1].url
            proxy.cut()
            try:
                yield
            finally:
                proxy.restore()

        def urls() -> list[str]:
            proxy.target = installation.processes[-1].url
            return [proxy.url]

        total = fault_repeatedly(
            installation, cut, times=times, seed=seed, urls=urls, report=report
        )
        cuts = Counter({"connections cut": proxy.cuts})
        report(cuts)
        return total + cuts


def preloaded_fault(
    fault: Callable[[FaultInjector, random.Random], AbstractContextManager[None]],
    tolerated: frozenset[int],
) -> Callable[..., Counter[str]]:
    """Faults injected by a preloaded library."""

    def run(folder: Path, forker: Forker, times: int, seed: int, report: Report) -> Counter[str]:
        del forker
        folder.mkdir(parents=True)
        with closing(FaultInjector(folder)) as injector, ExitStack() as opened:
            faulty = opened.enter_context(closing(Forker(injector.environment)))
            installation = opened.enter_context(
                temporary_installation(folder / "installation", faulty, None)
            )
            installation.start()
            total = fault_repeatedly(
                installation,
                lambda rng: fault(injector, rng),
                times=times,
                seed=seed,
                tolerated=tolerated,
                report=report,
            )
            failed = Counter({"writes that failed": injector.failed})
        report(failed)
        return total + failed

    return run


FAULTS: dict[str, Callable[..., Counter[str]]] = {
    "PostgreSQL stopped fast": postgres_fault(signal.SIGINT),
    "PostgreSQL killed": postgres_fault(signal.SIGKILL),
    "Redis killed": redis_fault(lambda redis: server_stopped(redis, signal.SIGKILL)),
    "Redis paused": redis_fault(server_paused),
    "Redis lying": lying_redis_trial,
    "disk full at random writes": preloaded_fault(disk_full, OUTAGE),
    "network cut": network_fault,
    "clock moved": preloaded_fault(clock_moved, frozenset()),
}
