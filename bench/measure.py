"""How a benchmark measures and what it leaves behind.

A script `bench/<name>.py` has a `main()` that prints what it measures as it goes and ends in one
call of `record`. Every claim is a ratio whose two sides were measured in the same run.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
class Measured:
    """What one part of a script has to say."""

    ratios: Sequence[Ratio]
    series: Sequence[Series] = ()
    notes: Sequence[str] = ()

    @staticmethod
    def of(parts: Sequence[Measured]) -> tuple[list[Ratio], list[Series], list[str]]:
        """All that several parts say, as `record` takes it."""
        return (
            [ratio for part in parts for ratio in part.ratios],
            [line for part in parts for line in part.series],
            [note for part in parts for note in part.notes],
        )


def seconds(work: Callable[[], object], *, repeats: int = 3) -> float:
    """The median wall time of `work` over `repeats` runs, after nothing else."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def interleaved(works: dict[str, Callable[[], object]], *, repeats: int = 3) -> dict[str, float]:
    """Median wall time of each, taken in turn so that a drift of the machine meets all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(seconds(work, repeats=1))
    return {name: statistics.median(values) for name, values in times.items()}


def record(
    name: str, ratios: Sequence[Ratio], series: Sequence[Series] = (), notes: Sequence[str] = ()
) -> None:
    """Print the claims and keep them in bench/results/<name>.json for docs/benchmarks.md."""
    for ratio in ratios:
        verdict = "holds" if ratio.holds else "DOES NOT HOLD"
        print(f"{ratio.claim}: {ratio.measured:.3g} ({ratio.sense} {ratio.bound:g}) {verdict}")
    RESULTS.mkdir(exist_ok=True)
    result = {
        "machine": machine(),
        "ratios": [asdict(ratio) | {"holds": ratio.holds} for ratio in ratios],
        "series": [asdict(line) for line in series],
        "notes": list(notes),
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def machine() -> str:
    """Processor, cores, memory and Python, as the machine tells."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.processor() or "an unnamed processor",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"
