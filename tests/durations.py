"""Processor time of every test: recorded, reported, used to start the longest modules first.

`make durations` runs the suite and writes `tests/durations.json`: seconds of user and system time by test,
of the test process and of the processes that ended while the test ran. What fixtures of a wider scope took is recorded
under their own names. `make check` fails when a test outside the slow tier, or such a fixture, took more than `BUDGET`
seconds there (`python -m tests.durations`).
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

RECORD = Path(__file__).with_name("durations.json")
BUDGET = 5.0
"""Seconds of processor time that one test of the fast tier may take; a budget, not a time limit."""
SHOWN = 20
BROWSER = "tests/browser/"


def recorded() -> dict[str, float]:
    """Return the recorded processor seconds by node id; empty without a record."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


SHARED: list[Callable[[], float]] = []
"""Processor seconds of processes that serve many tests; without them the last of the tests would pay for all."""


@contextmanager
def counting(seconds: Callable[[], float]) -> Iterator[None]:
    """Count shared processes for as long as they live."""
    SHARED.append(seconds)
    try:
        yield
    finally:
        SHARED.remove(seconds)


def processor_seconds() -> float:
    """Return user and system time of this process, of its ended children and of `SHARED`."""
    spent = os.times()
    own = spent.user + spent.system + spent.children_user + spent.children_system
    return own + sum(seconds() for seconds in SHARED)


def seconds_of(process: int, *, and_descendants: bool = False) -> float:
    """Return the processor seconds of a process and of the children it has waited for."""
    seconds = 0.0
    with suppress(psutil.NoSuchProcess):
        found = psutil.Process(process)
        for one in [found, *found.children(recursive=True)] if and_descendants else [found]:
            with suppress(psutil.NoSuchProcess):
                seconds += sum(one.cpu_times()[:4])
    return seconds


class DurationsPlugin:
    """Measure every test; the controller collects what the workers measured."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._shared: str | None = None
        self._fixtures: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._begin = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Measure what many tests share apart from the test that happens to ask first."""
        if fixturedef.scope == "function" or self._shared is not None:
            return (yield)
        self._shared, begin = fixturedef.argname, processor_seconds()
        try:
            return (yield)
        finally:
            self._shared, seconds = None, processor_seconds() - begin
            self._begin += seconds
            self._fixtures[f"{fixturedef.baseid}::({fixturedef.argname})"] = seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = processor_seconds()
        report.user_properties.append(("fixture_seconds", self._fixtures))
        self._fixtures = {}
        # What shared processes had used is no longer counted once they ended.
        report.user_properties.append(("processor_seconds", max(0.0, now - self._begin)))
        self._begin = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # user_properties of the setup report are repeated in those of call and teardown: the last one is new.
        seconds = [value for name, value in report.user_properties if name == "processor_seconds"]
        self._seconds[report.nodeid] += float(str(seconds[-1])) if seconds else 0.0
        fixtures = [value for name, value in report.user_properties if name == "fixture_seconds"]
        for name, value in dict[str, float](fixtures[-1] if fixtures else {}).items():  # type: ignore[call-overload]  # pytest types them as objects
            self._seconds[name] = max(self._seconds[name], value)  # each worker has its own

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._seconds:
            return
        slowest = sorted(self._seconds.items(), key=lambda pair: -pair[1])[:SHOWN]
        terminalreporter.section(
            f"processor seconds: {sum(self._seconds.values()):.0f} in all, the {len(slowest)} slowest"
        )
        for nodeid, seconds in slowest:
            terminalreporter.write_line(f"{seconds:8.1f}  {nodeid}")
        if path := self._config.getoption("record_durations"):
            record(Path(path), self._seconds)


def record(path: Path, seconds: dict[str, float]) -> None:
    """Write what was measured, and keep what the file says of modules that did not run and still exist."""
    measured = {_owner(nodeid) for nodeid in seconds}
    before = json.loads(path.read_text()) if path.exists() else {}
    kept = {
        nodeid: value
        for nodeid, value in before.items()
        if _owner(nodeid) not in measured and Path(_owner(nodeid)).exists()
    }
    kept |= {nodeid: round(value, 2) for nodeid, value in seconds.items()}
    text = json.dumps(dict(sorted(kept.items())), indent=0, ensure_ascii=False)
    path.write_text(text + "\n")


def _owner(nodeid: str) -> str:
    """Return the module of a test, or the folder of a shared fixture."""
    return nodeid.partition("::")[0]


def scope_of(nodeid: str) -> str:
    """Return what runs in one worker and without others in between: a module, or all that shares a browser."""
    return BROWSER if nodeid.startswith(BROWSER) else nodeid.partition("::")[0]


def longest_first(items: list[pytest.Item]) -> None:
    """Order scopes by recorded processor time, longest first; unknown ones come before known ones.

    Tests of one scope stay together and in their order: they share its fixtures.
    """
    by_scope: defaultdict[str, float] = defaultdict(float)
    known = recorded()
    for item in items:
        by_scope[scope_of(item.nodeid)] += known.get(item.nodeid, BUDGET if known else 0.0)
    items.sort(key=lambda item: -by_scope[scope_of(item.nodeid)])


def scheduler_by_scope(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler of pytest-xdist that gives out whole scopes in their order."""
    from xdist.scheduler import LoadScopeScheduling

    class ByScope(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    return ByScope(config, log)


def main() -> int:
    over = {nodeid: seconds for nodeid, seconds in recorded().items() if seconds > BUDGET}
    for nodeid, seconds in sorted(over.items(), key=lambda pair: -pair[1]):
        print(
            f"{seconds:.1f} s of processor time, {BUDGET:.0f} are allowed outside the slow tier: {nodeid}"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
