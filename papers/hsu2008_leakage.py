"""Theorem 1 and figure 8 of [hsu2008]: leaked records, in theory and in PRIMP's output."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from app.numerics.synthesis.leakage import leakage, mass_function
from app.numerics.synthesis.methods import METHODS
from app.numerics.tables import MixedTable
from app.numerics.utility.reappearance import nearest_distances, units
from papers.experiment import Picture, Result, Table, render

Values = NDArray[np.float64]


def figure_8(quick: bool, seed: int) -> Result:
    """Leakage: theory against enumeration, simulated permutations and PRIMP itself."""
    permutations = 20_000 if quick else 100_000
    runs = 100 if quick else 2000
    rng = np.random.default_rng(seed)
    off = max(
        float(np.abs(_enumerated(n, m) - mass_function(n, m)).max())
        for n, m in itertools.product(range(1, 5), range(2, 5))
    )
    numbers = {"largest difference from enumeration": off}
    tables = []
    for m in (2, 3):
        counted = np.bincount(_leaks_of_permutations(50, m, permutations, rng), minlength=6)[:6]
        released = np.array([_records_released(50, m, rng) for _ in range(runs)])
        theory, expected = mass_function(50, m, most=5), leakage(50, m)
        cells = 4 if m == 2 else 2
        observed = np.append(counted[:cells], permutations - counted[:cells].sum())
        wanted = np.append(theory[:cells], 1 - theory[:cells].sum()) * permutations
        numbers |= {
            f"p-value/{m}": float(stats.chisquare(observed, wanted).pvalue),
            f"mean/{m}": expected.mean,
            f"released mean/{m}": float(released.mean()),
            f"released error/{m}": math.sqrt(expected.variance / runs),
        }
        tables.append(
            Table(
                f"Number of leaked records, 50 records, {m} components",
                ["k", "P{N = k}", "permutations", "PRIMP's output", "as printed"],
                [
                    [
                        k,
                        float(theory[k]),
                        counted[k] / permutations,
                        float((released == k).mean()),
                        _as_printed(50, m, k),
                    ]
                    for k in range(6)
                ],
            )
        )
    return Result(
        numbers=numbers,
        settings={"permutations": permutations, "runs of PRIMP": runs},
        tables=tables,
        pictures=[_leakage_curves()],
        remarks=[
            f"For all n ≤ 4 and m ≤ 4 the mass function differs from enumeration by at most {off:.1e}.",
            *(
                f"{m} components: simulated permutations give p = {numbers[f'p-value/{m}']:.2f}; PRIMP's output "
                f"held {numbers[f'released mean/{m}']:.3f} original records on average, expected {numbers[f'mean/{m}']:.3f}."
                for m in (2, 3)
            ),
            "The printed mass function adds up to "
            f"{sum(_as_printed(50, 3, k) for k in range(51)):.2f} for three components.",
        ],
    )


def _enumerated(n: int, m: int) -> Values:
    """P{N = k} by enumeration; the first permutation is fixed to the identity."""
    counts = Counter(
        sum(all(permutation[i] == i for permutation in chosen) for i in range(n))
        for chosen in itertools.product(itertools.permutations(range(n)), repeat=m - 1)
    )
    return np.array([counts[k] for k in range(n + 1)]) / counts.total()


def _leaks_of_permutations(
    n: int, m: int, trials: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    places = np.broadcast_to(np.arange(n, dtype=np.int16), (trials, n))
    met = np.ones((trials, n), dtype=np.bool_)
    for _ in range(m - 1):
        met &= rng.permuted(places, axis=1) == places
    return np.asarray(met.sum(axis=1))


def _records_released(n: int, m: int, rng: np.random.Generator) -> int:
    """Number of records of a random table in PRIMP's output, to rounding."""
    values = rng.exponential(size=(n, m)) @ rng.normal(size=(m, m))
    none = np.empty((n, 0), dtype=np.intp)
    original = MixedTable(values, none, ())
    released = MixedTable(METHODS["primp"](values, rng).values, none, ())
    nearest = nearest_distances(original, released, deviation=units(original))
    return int((nearest <= 1e-9).sum())


def _as_printed(n: int, m: int, k: int) -> float:
    """The mass function as printed in the paper."""
    total, term = 1.0, 1.0
    for taken in range(1, n - k + 1):
        term /= taken * float(n - taken + 1) ** (m - 2)
        total -= (-1) ** (taken + 1) * term
    return total / math.factorial(k)


def _leakage_curves() -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    mean_axes, none_axes = figure.subplots(1, 2)
    sizes = np.unique(np.geomspace(2, 1000, 60).astype(int))
    for m in (2, 3, 4, 5):
        found = [leakage(int(n), m) for n in sizes]
        mean_axes.loglog(sizes, [one.mean for one in found], label=f"m = {m}")
        none_axes.semilogx(sizes, [1 - one.risk for one in found], label=f"m = {m}")
    mean_axes.set(xlabel="records", ylabel="expected number leaked", ylim=(1e-9, 3))
    none_axes.set(xlabel="records", ylabel="probability that none leaks", ylim=(0, 1.05))
    for axes in (mean_axes, none_axes):
        axes.grid(alpha=0.3)
        axes.legend()
    return render(
        "curves", "Figure 8: expected number of leaked records, probability of none", figure
    )
