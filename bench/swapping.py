"""Swapping: time against the number of identifiable records, for the published method and the optimum."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from app.numerics.swapping.identifiability import identifiability
from app.numerics.swapping.swap import AttributeSwap, Method, SwapPolicy, swapped
from bench.measure import Ratio, Series, interleaved, record, seconds

IntArray = npt.NDArray[np.int64]

CATEGORIES = 5
COMPARED = (1_000, 5_000, 20_000)
"""Sizes at which both methods run."""
OPTIMAL_ONLY = (100_000, 1_000_000)


def make_table(n: int, attributes: int, seed: int) -> tuple[IntArray, list[IntArray]]:
    """Return a confidential attribute and dependent ones; nearly every pattern is unique.

    A tenth of the records are pairs that share pattern and value, so that V is not empty.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.choice(CATEGORIES, n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    known = [
        (rng.binomial(39, 0.25 + 0.1 * hidden * (j % 3) / 2) + rng.integers(0, 8, n)) % 40
        for j in range(attributes)
    ]
    half = n // 20
    for column in (hidden, *known):
        column[half : 2 * half] = column[:half]
    return hidden, known


class Task:
    """One swap to be timed; keeps its last result."""

    def __init__(self, n: int, method: Method, allowed_deviation: int = 0) -> None:
        self.hidden, self.known = make_table(n, 8, seed=n)
        self.policy = SwapPolicy(method=method, allowed_deviation=allowed_deviation)
        self.result: AttributeSwap | None = None

    def __call__(self) -> AttributeSwap:
        rng = np.random.default_rng(0)
        self.result = swapped(self.hidden, self.known, self.known, self.policy, rng)
        return self.result


def compare(n: int) -> tuple[dict[str, float], float]:
    """Seconds of both methods, and the optimum's Σ d less the published method's."""
    greedy, optimal = Task(n, "greedy"), Task(n, "optimal")
    times = interleaved({"greedy": greedy, "optimal": optimal}, repeats=3)
    published = greedy.result or greedy()
    best = Task(n, "optimal", published.deviation)()
    print(
        f"{n:9,} records: greedy {times['greedy']:.3f} s, Σ d {published.objective:.4f};"
        f" optimal {times['optimal']:.3f} s, Σ d {best.objective:.4f}, gap {best.gap}",
        flush=True,
    )
    return times, best.objective - published.objective


def main() -> None:
    began = time.perf_counter()
    hidden, known = make_table(1_000_000, 12, seed=1)
    status = seconds(lambda: identifiability(hidden, known))
    print(f"identifiability of 10⁶ × 12: {status:.2f} s", flush=True)

    optimal: dict[int, float] = {}
    greedy: dict[int, float] = {}
    excess, gaps = [], []
    for n in COMPARED:
        times, above = compare(n)
        greedy[n], optimal[n] = times["greedy"], times["optimal"]
        excess.append(above)
    for n in OPTIMAL_ONLY:
        task = Task(n, "optimal")
        optimal[n] = seconds(task, repeats=3 if n < 1_000_000 else 1)
        found = task.result or task()
        gaps.append(found.gap or 0.0)
        print(
            f"{n:9,} records, {found.before.identifiable:,} identifiable, {found.before.unique:,}"
            f" unique: optimal {optimal[n]:.3f} s, Σ d {found.objective:.4f}, gap {found.gap}",
            flush=True,
        )

    plot, size, cost = "Swapping at five categories", "identifiable records", "seconds"
    record(
        "swapping",
        [
            Ratio("optimum of 10⁶ × 5, in units of 30 s", optimal[1_000_000] / 30, 1),
            Ratio(
                "optimum: time at 10⁶ over ten times the time at 10⁵ (1 is linear)",
                optimal[1_000_000] / (10 * optimal[100_000]),
                1.5,
            ),
            Ratio(
                "published method's time over the optimum's at 20,000 records",
                greedy[20_000] / optimal[20_000],
                20,
                "at least",
            ),
            Ratio("identifiability of 10⁶ × 12, in units of 5 s", status / 5, 1),
            Ratio("largest gap of the optimum", max(gaps), 0),
            Ratio("largest Σ d of the optimum minus the published method's", max(excess), 1e-9),
        ],
        [
            Series(plot, "optimal", size, cost, sorted(optimal.items())),
            Series(plot, "greedy (as published)", size, cost, sorted(greedy.items())),
        ],
        [
            "Times include identifiability, posterior, method and report counts.",
            "In the last ratio the optimum may use the published method's marginal deviation.",
            f"The script took {time.perf_counter() - began:.0f} s.",
        ],
    )


if __name__ == "__main__":
    main()
