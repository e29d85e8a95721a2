"""The trials by name, with the full number of each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.binaries import running
from tests.databases import sqlalchemy_url
from trials import faults, kills, load, proxies
from trials.fuzzing import bodies, messages, readers
from trials.fuzzing.written import FORMATS, SENT
from trials.stage.furnishing import SETTINGS, furnished
from trials.stage.installation import Forker, Process, last_lines
from trials.stage.watching import watched
from trials.state import State
from trials.verdicts import expect

KILLS = 10_000
CASES, CASES_EACH = 1_000_000, 40_000
BODIES, BODIES_EACH = 100_000, 1_000
"""In all, and of one installation."""

CLIENTS, LOAD_SECONDS = 200, 600.0
ADDRESS_SPACE = 4 * 2**30
"""Bytes that a fuzzed service may have in its address space, code and stacks of threads included."""

FAULTS_EACH = 100
PROXIES_EACH = 10
TIMES = 5
"""That one installation meets the same fault."""

Tell = Callable[[Mapping[str, int]], None]
Tells = Mapping[str, Tell]


@dataclass(frozen=True)
class Surroundings:
    """What a trial works with: the counts so far, a folder, the share of the full number."""

    state: State
    folder: Path
    share: float
    console: Console

    @contextmanager
    def counting(self, trials: Iterable[str], what: str, wanted: int) -> Iterator[Tells]:
        """Bars for `what` is counted of some trials; counts that are told are kept at once."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self.console) as bars:

            def telling(trial: str) -> Tell:
                bar = bars.add_task(trial, total=wanted, completed=self.state.of(trial, what))

                def tell(more: Mapping[str, int]) -> None:
                    self.state.add(trial, more)
                    bars.update(bar, completed=self.state.of(trial, what))

                return tell

            yield {trial: telling(trial) for trial in trials}

    @contextmanager
    def watching(self, trial: str, process: Process) -> Iterator[None]:
        """While the block runs, /health is watched; what came of it is kept with the trial."""
        with watched(process) as told:
            yield
        self.state.add(trial, {f"health {name}": n for name, n in told["counts"].items()})
        worst = self.state.figures.get(f"health, {trial}", {})
        figures = {name: max(n, worst.get(name, 0.0)) for name, n in told["figures"].items()}
        resident = max(process.resident_bytes() / 2**20, worst.get("resident_mib", 0.0))
        self.state.measure(f"health, {trial}", figures | {"resident_mib": resident})

    def missing(self, trials: Iterable[str], what: str, wanted: int) -> str | None:
        """The trial that is furthest behind, if one is."""
        behind = min(trials, key=lambda trial: self.state.of(trial, what))
        return behind if self.state.of(behind, what) < wanted else None


def run_kills(around: Surroundings) -> None:
    """Half of the kills on SQLite with one process, half on PostgreSQL with three, in turn."""
    wanted = round(KILLS * around.share / 2)
    with closing(Forker()) as forker, running("postgres") as server:
        kinds = {"kills on SQLite": (None, 1), "kills on PostgreSQL": (sqlalchemy_url(server), 3)}
        with around.counting(kinds, "kills", wanted) as tells:
            while name := around.missing(kinds, "kills", wanted):
                postgres, processes = kinds[name]
                kills.kill_repeatedly(
                    around.folder / name.replace(" ", "-"),
                    forker,
                    postgres=postgres,
                    processes=processes,
                    rounds=kills.ROUNDS,
                    seed=random.randrange(2**32),
                    tell=tells[name],
                )


def run_faults(around: Surroundings) -> None:
    """Every fault so many times, the rarest first."""
    wanted = round(FAULTS_EACH * around.share)
    with closing(Forker()) as forker, around.counting(faults.FAULTS, "times", wanted) as tells:
        while name := around.missing(faults.FAULTS, "times", wanted):
            folder = around.folder / name.replace(" ", "-")
            times = min(TIMES, wanted - around.state.of(name, "times"))
            faults.FAULTS[name](folder, forker, times, random.randrange(2**32), tells[name])


def run_fuzz(around: Surroundings) -> None:
    """Requests over all operations, with memory limited and /health watched."""
    wanted, name = round(CASES * around.share), "requests"
    with around.counting([name], "cases", wanted) as tells:
        while around.missing([name], "cases", wanted):
            with limited_service(around) as process, around.watching(name, process):
                left = min(CASES_EACH, wanted - around.state.of(name, "cases"))
                so_far = around.state.counts.get(name, {})
                seed = random.randrange(2**32)
                messages.nothing_wrong(messages.fuzz(process.url, left, seed, tells[name], so_far))


def run_bodies(around: Surroundings) -> None:
    """Tables with changed bytes in each format, with memory limited and /health watched."""
    wanted = round(BODIES * around.share)
    kinds = {f"{kind} bodies": kind for kind in SENT}
    with around.counting(kinds, "cases", wanted) as tells:
        while around.missing(kinds, "cases", wanted):
            with limited_service(around) as process, around.watching("bodies", process):
                for name, kind in kinds.items():
                    left = min(BODIES_EACH, wanted - around.state.of(name, "cases"))
                    seed = random.randrange(2**32)
                    messages.nothing_wrong(
                        bodies.send_mutated(process.url, kind, left, seed, tells[name])
                    )


def run_readers(around: Surroundings) -> None:
    """Tables with changed bytes in every format that is read, without HTTP, with memory limited."""
    wanted = round(BODIES * around.share)
    kinds = {f"{kind} read": kind for kind in FORMATS}
    with around.counting(kinds, "cases", wanted) as tells:
        while name := around.missing(kinds, "cases", wanted):
            left = min(BODIES_EACH, wanted - around.state.of(name, "cases"))
            seed = random.randrange(2**32)
            wrong = readers.read_mutated(kinds[name], left, seed, tells[name])
            expect(not wrong, f"{len(wrong)} bodies neither read nor refused: {'; '.join(wrong)}")


def run_proxies(around: Surroundings) -> None:
    """The examples of docs/operations, for the proxies that this machine has."""
    wanted = round(PROXIES_EACH * around.share)
    kinds = {f"proxy {name}": name for name in proxies.installed_proxies()}
    if not kinds:
        around.console.print("proxies: neither nginx nor Caddy is installed here")
        return
    with closing(Forker()) as forker, around.counting(kinds, "times", wanted) as tells:
        while name := around.missing(kinds, "times", wanted):
            folder = around.folder / kinds[name]
            proxies.try_proxy(kinds[name], folder, forker, tells[name])
            around.state.measure(name, {"version": proxies.version_of(kinds[name])})


def run_load(around: Surroundings) -> None:
    """Two hundred clients for ten minutes; what is measured last is what counts."""
    if around.state.of("load", "runs"):
        return
    samples = round(LOAD_SECONDS / load.SAMPLE_SECONDS)
    with (
        around.counting(["load"], "samples", samples) as tells,
        limited_service(around) as process,
        around.watching("load", process),
    ):
        measured = load.load(
            process,
            furnished(process.url, random.Random(1)).ids,
            clients=CLIENTS,
            seconds=LOAD_SECONDS,
            tell=tells["load"],
        )
    around.state.add("load", measured.statuses + Counter({"runs": 1}))
    about = {"clients": CLIENTS, "seconds": LOAD_SECONDS}
    around.state.measure("load", about | measured.figures())


@contextmanager
def limited_service(around: Surroundings) -> Iterator[Process]:
    """A service on PostgreSQL that may have only so much memory."""
    with (
        closing(Forker()) as forker,
        running("postgres") as server,
        kills.installed(
            around.folder / "fuzzed", forker, sqlalchemy_url(server), SETTINGS
        ) as installation,
    ):
        installation.address_space = ADDRESS_SPACE
        process = installation.start()
        yield process
        expect(process.alive(), f"the service ended: {last_lines(process.log)}")


TRIALS: dict[str, Callable[[Surroundings], None]] = {
    "faults": run_faults,
    "kills": run_kills,
    "load": run_load,
    "requests": run_fuzz,
    "bodies": run_bodies,
    "readers": run_readers,
    "proxies": run_proxies,
}
