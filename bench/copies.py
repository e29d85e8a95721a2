"""Cost of making a copy: against a plain generator, after a long history, and in the paper."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.model import BLOCK_ROWS
from app.numerics.copies.grid import grid_exponents
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.noise.steps import compile_steps
from app.numerics.copies.path import PathDraws, RowRange, bridges, draws_needed, path_block
from app.numerics.copies.perturbation import perturbed_block
from app.numerics.copies.records import MOST_DONORS, show_records
from app.numerics.covariances import covariance_factor
from bench.measure import Measured, Ratio, Series, interleaved, record, seconds

FloatArray = NDArray[np.float64]

COLUMNS = 10
CATEGORIES = 9
APPLIED = (0.25, 1.0, 9.0, 99.0)
HISTORY_LENGTH = 300
HISTORIES = 12
"""Random histories averaged at length 300; the length of a path varies."""


def main() -> None:
    compile_steps()
    parts = (against_a_plain_generator, records, after_a_history, paper_comparison)
    record("copies", *Measured.of([part() for part in parts]))


def key_of(number: int) -> bytes:
    return draw_key(bytes(32), hashlib.sha256(str(number).encode()).digest(), bytes(32))


def against_a_plain_generator() -> Measured:
    """One new copy, shaped and on the grid, against numpy's standard_normal plus add.

    Both write to touched memory: the first touch may cost a virtual machine more than either.
    """
    rng = np.random.Generator(np.random.PCG64(1))
    draws = PathDraws(bridges([0.5]), 0, {0: key_of(0)}, COLUMNS)
    costs: dict[str, list[tuple[float, float]]] = {
        "PCG64 + add": [],
        "1 thread": [],
        "2 threads": [],
    }
    for rows in (BLOCK_ROWS, 250_000, 1_000_000):
        X = rng.standard_normal((COLUMNS, rows))
        L = covariance_factor(np.cov(X[:, :10_000]) + 0.5)
        exponents = grid_exponents(np.diag(L @ L.T), 0.5)
        out = np.zeros_like(X)

        copy = partial(whole_copy, X, draws, L, exponents, out)
        works: dict[str, Callable[[], object]] = {
            "PCG64 + add": partial(plain_generator, rng, X, out),
            "1 thread": partial(copy, threads=1),
            "2 threads": partial(copy, threads=2),
        }
        times = interleaved(works, repeats=9)
        for name, cost in times.items():
            costs[name].append((rows * COLUMNS, cost))
        print({name: f"{cost / rows / COLUMNS * 1e9:.1f} ns/value" for name, cost in times.items()})
    base = costs["PCG64 + add"][-1][1]
    claim = "one new copy of 10⁶ × 10, {}, against PCG64 standard_normal plus add"
    return Measured(
        [
            Ratio(claim.format(threads), costs[threads][-1][1] / base, bound)
            for threads, bound in (("1 thread", 1.25), ("2 threads", 0.70))
        ],
        [
            Series("Cost of one copy", name, "values", "seconds", points)
            for name, points in costs.items()
        ],
    )


def records() -> Measured:
    """One new copy of categories, per cell against one number of numpy's standard_normal plus add.

    The pool is there: it is made once for all copies of a part.
    """
    rng = np.random.Generator(np.random.PCG64(1))
    X = rng.standard_normal((COLUMNS, BLOCK_ROWS))
    out = np.zeros_like(X)
    pool = rng.integers(0, 20, (MOST_DONORS, CATEGORIES)).astype(np.int32)
    codes = rng.integers(0, 20, (CATEGORIES, BLOCK_ROWS)).astype(np.int32)
    works: dict[str, Callable[[], object]] = {"plain": partial(plain_generator, rng, X, out)}
    for a in APPLIED:
        works[f"{a:g}"] = partial(show_records, codes, pool, a, key=bytes(32), start=0)
    took = interleaved(works, repeats=25)
    number = took["plain"] / X.size
    per_row = {a: took[f"{a:g}"] / BLOCK_ROWS for a in APPLIED}
    claim = f"a cell of {CATEGORIES} categorical columns at applied variance {{:g}}, against a number of PCG64 standard_normal plus add"
    nanoseconds = ", ".join(f"{1e9 * cost:.0f} ns at {a:g}" for a, cost in per_row.items())
    return Measured(
        [Ratio(claim.format(a), cost / CATEGORIES / number, 1.25) for a, cost in per_row.items()],
        notes=[
            f"A row of {CATEGORIES} categories costs {nanoseconds}; the plain number {1e9 * number:.1f} ns."
        ],
    )


def whole_copy(
    X: FloatArray,
    draws: PathDraws,
    L: FloatArray,
    exponents: Sequence[int],
    out: FloatArray,
    *,
    threads: int,
) -> None:
    """Make a copy of all rows, block by block, as a download does."""

    def block(index: int) -> None:
        rows = slice(index * BLOCK_ROWS, min((index + 1) * BLOCK_ROWS, X.shape[1]))
        place = RowRange(index, 0, rows.stop - rows.start)
        perturbed_block(X[:, rows], draws, place, L=L, exponents=exponents, out=out[:, rows])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(block, range(-(-X.shape[1] // BLOCK_ROWS))))


def plain_generator(rng: np.random.Generator, X: FloatArray, out: FloatArray) -> None:
    """Add standard normals to the originals."""
    rng.standard_normal(out=out)
    np.add(out, X, out=out)


def after_a_history() -> Measured:
    """The copy after many random levels, with and without its neighbours cached.

    Against a first copy and, since that may itself become cheaper, against a plain generator: 6 first copies of 1.25 plain ones.
    """
    rng = np.random.default_rng(2)
    X = rng.standard_normal((COLUMNS, BLOCK_ROWS))
    L = covariance_factor(np.cov(X) + 0.5)
    alone: list[tuple[float, float]] = []
    cached: list[tuple[float, float]] = []
    for length in (1, 10, 100, HISTORY_LENGTH):
        single, several, beside, generated, draws = [], [], [], [], []
        for number in range(HISTORIES):
            variances = rng.uniform(0.25, 1.0, length).tolist()
            times, needed = cost_at_end(X, L, variances, number)
            draws.append(needed)
            single.append(times["first"])
            several.append(times["nothing cached"])
            beside.append(times["neighbours cached"])
            generated.append(times["PCG64 + add"])
        alone.append((length, statistics.mean(several) / statistics.mean(single)))
        cached.append((length, statistics.mean(beside) / statistics.mean(single)))
        print(
            f"history of {length}: {alone[-1][1]:.2f} without, {cached[-1][1]:.2f} with the cache"
        )
    claim = "a copy at history length 300 (random arrival), {} cached, against length 1"
    return Measured(
        [
            Ratio(claim.format("nothing"), alone[-1][1], 6),
            Ratio(
                "the same, nothing cached, against PCG64 standard_normal plus add",
                statistics.mean(several) / statistics.mean(generated),
                6 * 1.25,
            ),
            Ratio(claim.format("neighbours"), cached[-1][1], 1.5),
        ],
        [
            Series("Cost against history", f"{what} cached", "levels", "times a first copy", points)
            for what, points in (("nothing", alone), ("neighbours", cached))
        ],
        [f"At length 300 a copy needed {statistics.mean(draws):.1f} draws on average."],
    )


def cost_at_end(
    X: FloatArray, L: FloatArray, variances: list[float], seed: int
) -> tuple[dict[str, float], int]:
    """Seconds of the first and the last copy of a history; draws behind the last."""
    history = bridges(variances)
    keys = {i: key_of(1000 * seed + i) for i in range(len(variances))}
    last = len(variances) - 1
    rows, out = RowRange(0, 0, X.shape[1]), np.zeros_like(X)

    def copy(target: int, known: dict[int, FloatArray] | None = None) -> Callable[[], FloatArray]:
        draws = PathDraws(history, target, keys, COLUMNS)
        exponents = grid_exponents(np.diag(L @ L.T), variances[target])
        return partial(
            perturbed_block, X, draws, rows, L=L, exponents=exponents, known=known, out=out
        )

    ends = [end for end in (history[last].lower, history[last].upper) if end is not None]
    neighbours = {end: path_block(PathDraws(history, end, keys, COLUMNS), rows) for end in ends}
    times = interleaved(
        {
            "first": copy(0),
            "nothing cached": copy(last),
            "neighbours cached": copy(last, neighbours),
            "PCG64 + add": partial(
                plain_generator, np.random.Generator(np.random.PCG64(seed)), X, out
            ),
        },
        repeats=2,
    )
    return times, len(draws_needed(history, last, {}))


def paper_comparison() -> Measured:
    """23 new copies of 10⁵ values given 7 [li2012, experiment 2]."""
    from papers.li2012 import PAPER_SECONDS, corner_wave_copies

    rng = np.random.default_rng(3)
    X = rng.gamma(1.2, 15.0, size=(1, 100_000))
    variances = rng.uniform(0.25, 1.0, 30).tolist()
    here = seconds(lambda: corner_wave_copies(X, variances, 7), repeats=5)
    note = f"23 copies of 10⁵ values given 7: {here:.3f} s here, {PAPER_SECONDS} s in li2012."
    # No claim: the two were not measured in one run.
    return Measured([], notes=[note])


if __name__ == "__main__":
    main()
