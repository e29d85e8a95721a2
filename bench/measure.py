"""Timing, and the results of a benchmark.

A script `bench/<name>.py` has a `main()` that prints as it goes and ends in one call of `record`. Both sides of a ratio are measured in
the same run.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.report import machine, replace_file

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Ratio:
    """A claim: `measured` must be at most (or at least) `bound`."""

    claim: str
    measured: float
    bound: float
    sense: str = "at most"

    @property
    def holds(self) -> bool:
        return (
            self.measured <= self.bound if self.sense == "at most" else self.measured >= self.bound
        )


@dataclass(frozen=True)
class Series:
    """One line of a growth plot: cost against size, both axes logarithmic."""

    plot: str
    line: str
    size: str
    cost: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Table:
    """Further figures, shown under the claims."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | float]]


@dataclass(frozen=True)
class Measured:
    """Results of one part of a script."""

    ratios: Sequence[Ratio]
    series: Sequence[Series] = ()
    notes: Sequence[str] = ()

    @staticmethod
    def of(parts: Sequence[Measured]) -> tuple[list[Ratio], list[Series], list[str]]:
        """Return the results of several parts as arguments of `record`."""
        return (
            [ratio for part in parts for ratio in part.ratios],
            [line for part in parts for line in part.series],
            [note for part in parts for note in part.notes],
        )


def seconds(work: Callable[[], object], *, repeats: int = 3) -> float:
    """Return the median wall time of `work`."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def interleaved(works: dict[str, Callable[[], object]], *, repeats: int = 3) -> dict[str, float]:
    """Return the median wall time of each, run in turn so that drift of the machine affects all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(seconds(work, repeats=1))
    return {name: statistics.median(values) for name, values in times.items()}


def record(
    name: str,
    ratios: Sequence[Ratio],
    series: Sequence[Series] = (),
    notes: Sequence[str] = (),
    tables: Sequence[Table] = (),
) -> None:
    """Print the claims and save them in bench/results/<name>.json for docs/benchmarks.md."""
    for ratio in ratios:
        verdict = "holds" if ratio.holds else "DOES NOT HOLD"
        print(f"{ratio.claim}: {ratio.measured:.3g} ({ratio.sense} {ratio.bound:g}) {verdict}")
    result = {
        "machine": machine(),
        "ratios": [asdict(ratio) | {"holds": ratio.holds} for ratio in ratios],
        "series": [asdict(line) for line in series],
        "tables": [asdict(table) for table in tables],
        "notes": list(notes),
    }
    keep(RESULTS / f"{name}.json", result)


def keep(file: Path, result: object) -> None:
    """Save a result as JSON."""
    replace_file(file, (json.dumps(result, indent=1) + "\n").encode())
