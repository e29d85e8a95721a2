"""Processor time of every test: recorded, reported, used to start the longest modules first.

`make durations` runs the suite and writes `tests/durations.json`: seconds of user and system time by test,
of the test process and of the processes that ended while the test ran. `make check` fails when a test outside the
slow tier took more than `BUDGET` seconds there (`python -m tests.durations`).
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

RECORD = Path(__file__).with_name("durations.json")
BUDGET = 5.0
"""Seconds of processor time that one test of the fast tier may take; a budget, not a time limit."""
SHOWN = 20


def recorded() -> dict[str, float]:
    """Return the recorded processor seconds by node id; empty without a record."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def processor_seconds() -> float:
    """Return user and system time of this process and of its ended children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class DurationsPlugin:
    """Measure every test; the controller collects what the workers measured."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._begin = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = processor_seconds()
        report.user_properties.append(("processor_seconds", now - self._begin))
        self._begin = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # user_properties of the setup report are repeated in those of call and teardown: the last one is new.
        seconds = [value for name, value in report.user_properties if name == "processor_seconds"]
        self._seconds[report.nodeid] += float(str(seconds[-1])) if seconds else 0.0

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
            kept = {nodeid: round(seconds, 2) for nodeid, seconds in sorted(self._seconds.items())}
            Path(path).write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n")


def longest_first(items: list[pytest.Item]) -> None:
    """Order modules by recorded processor time, longest first; unknown modules come before known ones.

    Tests of one module stay together and in their order: they share its fixtures.
    """
    by_module: defaultdict[str, float] = defaultdict(float)
    known = recorded()
    for item in items:
        by_module[item.nodeid.partition("::")[0]] += known.get(
            item.nodeid, BUDGET if known else 0.0
        )
    items.sort(key=lambda item: -by_module[item.nodeid.partition("::")[0]])


def main() -> int:
    over = {nodeid: seconds for nodeid, seconds in recorded().items() if seconds > BUDGET}
    for nodeid, seconds in sorted(over.items(), key=lambda pair: -pair[1]):
        print(
            f"{seconds:.1f} s of processor time, {BUDGET:.0f} are allowed outside the slow tier: {nodeid}"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
