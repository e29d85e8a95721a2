"""Joint estimate from many copies: time at full size, and against the printed formula."""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import LinearEstimate, linear_estimate
from app.numerics.attacks.evidence import independent_between, pooled_copy, pooling_weights
from bench.measure import Ratio, Series, interleaved, record

ROWS = 1000
"""Few rows for the comparison, so that the solves dominate."""


def joint_estimate(
    copies: FloatArray, mean: FloatArray, covariance: FloatArray, between: FloatArray
) -> LinearEstimate:
    """m³ for the weights, n·m·d to pool, d³ + n·d² for one LLSE. `copies` is m × n × d."""
    weights, variance = pooling_weights(between)
    pooled = pooled_copy(list(copies), weights)
    return linear_estimate(pooled, mean, covariance, variance * covariance)


def dense_estimate(
    copies: FloatArray, mean: FloatArray, covariance: FloatArray, between: FloatArray
) -> FloatArray:
    """Eq. 6 of li2012 as printed: one solve with the md × md covariance of all copies."""
    m, n, d = copies.shape
    H = np.kron(np.ones((m, 1)), np.eye(d))
    seen = H @ covariance @ H.T + np.kron(between, covariance)
    gain = np.linalg.solve(seen, H @ covariance).T
    stacked = copies.transpose(1, 0, 2).reshape(n, m * d) - np.tile(mean, m)
    estimate: FloatArray = mean + stacked @ gain.T
    return estimate


def simulate(m: int, n: int, d: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return m copies under independent noise, the mean, K and the covariance between the copies."""
    rng = np.random.default_rng(m * d)
    loadings = rng.normal(size=(d, d)) + 2 * np.eye(d)
    covariance = loadings @ loadings.T
    variances = rng.uniform(0.25, 1, m)
    copies = rng.standard_normal(size=(m, n, d))
    copies *= np.sqrt(1 + variances)[:, None, None]
    return copies, np.zeros(d), covariance, independent_between(variances)


def compare(size: int, repeats: int) -> tuple[float, float]:
    """Seconds of our estimate and of the dense formula for `size` copies × `size` attributes."""
    case = simulate(size, ROWS, size)
    difference = np.abs(joint_estimate(*case).values - dense_estimate(*case)).max()
    # Minimum, not median: below a millisecond, the median shows how busy the machine is.
    works = {"ours": lambda: joint_estimate(*case), "dense": lambda: dense_estimate(*case)}
    rounds = [interleaved(works, repeats=1) for _ in range(repeats)]
    times = {name: min(found[name] for found in rounds) for name in works}
    print(
        f"{size} × {size}: ours {times['ours'] * 1e3:.2f} ms, dense {times['dense'] * 1e3:.2f} ms,"
        f" ratio {times['dense'] / times['ours']:.1f}, largest difference {difference:.1e}"
    )
    return times["ours"], times["dense"]


def at_full_size(m: int, n: int, d: int) -> tuple[float, float]:
    """Seconds of the joint estimate, and of summing its copies."""
    case = simulate(m, n, d)
    times = interleaved(
        {"joint": lambda: joint_estimate(*case), "sum": lambda: case[0].sum(axis=0)}, repeats=5
    )
    print(f"joint LLSE, {m} copies × {d} attributes × {n:,} rows: {times['joint']:.2f} s")
    print(f"the plain sum of the same copies: {times['sum']:.2f} s")
    return times["joint"], times["sum"]


def main() -> None:
    joint, plain = at_full_size(30, 100_000, 50)
    sizes = (5, 10, 20, 40)
    times = [compare(size, repeats=60 if size < 40 else 10) for size in sizes]
    ratios = [dense / ours for ours, dense in times]
    record(
        "attacks",
        [
            Ratio(
                "seconds for the joint estimate, 30 copies × 50 attributes × 100,000 rows", joint, 5
            ),
            Ratio("the same against a plain sum of its copies", joint / plain, 8),
            Ratio(
                "dense formula against ours, 10 copies × 10 attributes", ratios[1], 1, "at least"
            ),
            Ratio("growth of that ratio to 40 × 40", ratios[3] / ratios[1], 3, "at least"),
        ],
        [
            Series("Joint estimate", line, "copies = attributes", "seconds", points)
            for line, points in (
                ("ours", [(float(s), t[0]) for s, t in zip(sizes, times, strict=True)]),
                ("dense formula", [(float(s), t[1]) for s, t in zip(sizes, times, strict=True)]),
            )
        ],
        [f"Both sides of the comparison estimate {ROWS} rows; their estimates agree to rounding."],
    )


if __name__ == "__main__":
    main()
