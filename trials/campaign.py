"""Trials by name, with the full number of runs of each."""

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
from trials.environment.fixtures import SETTINGS, create_fixtures
from trials.environment.health_probe import probe_health
from trials.environment.installation import Forker, Process, last_lines
from trials.errors import expect
from trials.fuzzing import bodies, http_requests, readers
from trials.fuzzing.formats import FORMATS, HTTP_FORMATS
from trials.state import State

KILLS = 10_000
CASES, CASES_EACH = 1_000_000, 40_000
BODIES, BODIES_EACH = 100_000, 1_000
"""In total, and per installation."""

CLIENTS, LOAD_SECONDS = 200, 600.0
ADDRESS_SPACE = 4 * 2**30
"""Address space limit of a fuzzed service in bytes, code and thread stacks included."""

FAULTS_EACH = 100
PROXIES_EACH = 10
TIMES = 5
"""Repetitions of a fault on one installation."""

Report = Callable[[Mapping[str, int]], None]
Reports = Mapping[str, Report]


@dataclass(frozen=True)
class TrialContext:
    """Counts so far, a folder, and the share of the full number to run."""

    state: State
    folder: Path
    share: float
    console: Console

    @contextmanager
    def progress(self, trials: Iterable[str], what: str, wanted: int) -> Iterator[Reports]:
        """Show a progress bar per trial for the count `what`; reported counts are saved at once."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self.console) as bars:

            def reporter(trial: str) -> Report:
                bar = bars.add_task(trial, total=wanted, completed=self.state.count(trial, what))

                def report(more: Mapping[str, int]) -> None:
                    self.state.add(trial, more)
                    bars.update(bar, completed=self.state.count(trial, what))

                return report

            yield {trial: reporter(trial) for trial in trials}

    @contextmanager
    def health_probe(self, trial: str, process: Process) -> Iterator[None]:
        """Probe /health during the block and save the results with the trial."""
        with probe_health(process) as probe:
            yield
        self.state.add(trial, {f"health {name}": n for name, n in probe["counts"].items()})
        worst = self.state.figures.get(f"health, {trial}", {})
        figures = {name: max(n, worst.get(name, 0.0)) for name, n in probe["figures"].items()}
        resident = max(process.resident_bytes() / 2**20, worst.get("resident_mib", 0.0))
        self.state.measure(f"health, {trial}", figures | {"resident_mib": resident})

    def furthest_behind(self, trials: Iterable[str], what: str, wanted: int) -> str | None:
        """Return the trial furthest behind its target, or None."""
        behind = min(trials, key=lambda trial: self.state.count(trial, what))
        return behind if self.state.count(behind, what) < wanted else None


def run_kills(context: TrialContext) -> None:
    """Kill one process on SQLite and three on PostgreSQL, in turn."""
    wanted = round(KILLS * context.share / 2)
    with closing(Forker()) as forker, running("postgres") as server:
        kinds = {"kills on SQLite": (None, 1), "kills on PostgreSQL": (sqlalchemy_url(server), 3)}
        with context.progress(kinds, "kills", wanted) as reports:
            while name := context.furthest_behind(kinds, "kills", wanted):
                postgres, processes = kinds[name]
                kills.kill_repeatedly(
                    context.folder / name.replace(" ", "-"),
                    forker,
                    postgres=postgres,
                    processes=processes,
                    rounds=kills.ROUNDS,
                    seed=random.randrange(2**32),
                    report=reports[name],
                )


def run_faults(context: TrialContext) -> None:
    """Inject every fault, the least tried first."""
    wanted = round(FAULTS_EACH * context.share)
    with closing(Forker()) as forker, context.progress(faults.FAULTS, "times", wanted) as reports:
        while name := context.furthest_behind(faults.FAULTS, "times", wanted):
            folder = context.folder / name.replace(" ", "-")
            times = min(TIMES, wanted - context.state.count(name, "times"))
            faults.FAULTS[name](folder, forker, times, random.randrange(2**32), reports[name])


def run_requests(context: TrialContext) -> None:
    """Fuzz requests over all operations, with limited memory, probing /health."""
    wanted, name = round(CASES * context.share), "requests"
    with context.progress([name], "cases", wanted) as reports:
        while context.furthest_behind([name], "cases", wanted):
            with limited_service(context) as process, context.health_probe(name, process):
                left = min(CASES_EACH, wanted - context.state.count(name, "cases"))
                so_far = context.state.counts.get(name, {})
                seed = random.randrange(2**32)
                http_requests.expect_no_wrong_answers(
                    http_requests.fuzz(process.url, left, seed, reports[name], so_far)
                )


def run_bodies(context: TrialContext) -> None:
    """Fuzz uploaded tables in each format, with limited memory, probing /health."""
    wanted = round(BODIES * context.share)
    kinds = {f"{kind} bodies": kind for kind in HTTP_FORMATS}
    with context.progress(kinds, "cases", wanted) as reports:
        while context.furthest_behind(kinds, "cases", wanted):
            with limited_service(context) as process, context.health_probe("bodies", process):
                for name, kind in kinds.items():
                    left = min(BODIES_EACH, wanted - context.state.count(name, "cases"))
                    seed = random.randrange(2**32)
                    http_requests.expect_no_wrong_answers(
                        bodies.send_mutated(process.url, kind, left, seed, reports[name])
                    )


def run_readers(context: TrialContext) -> None:
    """Fuzz the table readers in every format without HTTP, with limited memory."""
    wanted = round(BODIES * context.share)
    kinds = {f"{kind} read": kind for kind in FORMATS}
    with context.progress(kinds, "cases", wanted) as reports:
        while name := context.furthest_behind(kinds, "cases", wanted):
            left = min(BODIES_EACH, wanted - context.state.count(name, "cases"))
            seed = random.randrange(2**32)
            wrong = readers.read_mutated(kinds[name], left, seed, reports[name])
            expect(not wrong, f"{len(wrong)} bodies neither read nor refused: {'; '.join(wrong)}")


def run_proxies(context: TrialContext) -> None:
    """Test the example proxy configurations of docs/operations that can run here."""
    wanted = round(PROXIES_EACH * context.share)
    kinds = {f"proxy {name}": name for name in proxies.installed_proxies()}
    if not kinds:
        context.console.print("proxies: neither nginx nor Caddy is installed here")
        return
    with closing(Forker()) as forker, context.progress(kinds, "times", wanted) as reports:
        while name := context.furthest_behind(kinds, "times", wanted):
            folder = context.folder / kinds[name]
            proxies.try_proxy(kinds[name], folder, forker, reports[name])
            context.state.measure(name, {"version": proxies.version_of(kinds[name])})


def run_load(context: TrialContext) -> None:
    """Load the service with 200 clients for ten minutes; the last run counts."""
    if context.state.count("load", "runs"):
        return
    samples = round(LOAD_SECONDS / load.SAMPLE_SECONDS)
    with (
        context.progress(["load"], "samples", samples) as reports,
        limited_service(context) as process,
        context.health_probe("load", process),
    ):
        measured = load.load(
            process,
            create_fixtures(process.url, random.Random(1)).ids,
            clients=CLIENTS,
            seconds=LOAD_SECONDS,
            report=reports["load"],
        )
    context.state.add("load", measured.statuses + Counter({"runs": 1}))
    about = {"clients": CLIENTS, "seconds": LOAD_SECONDS}
    context.state.measure("load", about | measured.figures())


@contextmanager
def limited_service(context: TrialContext) -> Iterator[Process]:
    """Start a service on PostgreSQL with limited address space."""
    with (
        closing(Forker()) as forker,
        running("postgres") as server,
        kills.temporary_installation(
            context.folder / "fuzzed", forker, sqlalchemy_url(server), SETTINGS
        ) as installation,
    ):
        installation.address_space = ADDRESS_SPACE
        process = installation.start()
        yield process
        expect(process.alive(), f"the service ended: {last_lines(process.log)}")


TRIALS: dict[str, Callable[[TrialContext], None]] = {
    "faults": run_faults,
    "kills": run_kills,
    "load": run_load,
    "requests": run_requests,
    "bodies": run_bodies,
    "readers": run_readers,
    "proxies": run_proxies,
}
