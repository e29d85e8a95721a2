"""Cost of an EM iteration on records, on bins and by FFT, and of the direct estimate against EM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from app.numerics.deconvolution.bins import Histogram, histogram_on, uniform_edges
from app.numerics.deconvolution.em import em_on_records
from app.numerics.deconvolution.fourier import direct_estimate
from app.numerics.deconvolution.iteration import Stopping
from app.numerics.deconvolution.kernel import (
    ChunkedKernel,
    Kernel,
    convolution_kernel,
    dense_kernel,
)
from app.numerics.deconvolution.noise import Normal, Uniform
from bench.measure import Ratio, Series, interleaved, record, seconds

NOISE = Normal(4.0)
SUPPORT = (0.0, 30.0)
KEPT_ENTRIES = 100_000_000
"""Largest likelihood matrix kept (800 MB); beyond it blocks are recomputed."""
TIMED_RECORDS = 1_000_000
"""Records timed when there are more; the time is scaled up."""


def main() -> None:
    rng = np.random.default_rng(7)
    over_n = growth_with_n(rng, bins=100)
    over_k = growth_with_bins(rng, n=20_000)
    ratio_at_a_million = fft_against_records(rng)
    direct, em = direct_against_em(rng)
    record(
        "distributions",
        ratios=[
            Ratio(
                "An iteration of EM on records costs this many iterations by FFT (n = 10⁶, K = 100)",
                ratio_at_a_million,
                100,
                "at least",
            ),
            Ratio(
                "Time of the direct estimate (12 harmonics) over that of EM on records (100 iterations, K = 50), n = 500,000",
                direct / em,
                1 / 20,
            ),
        ],
        series=[
            *(
                Series("One iteration against records", name, "n", "seconds", line)
                for name, line in over_n.items()
            ),
            *(
                Series("One iteration against bins", name, "K", "seconds", line)
                for name, line in over_k.items()
            ),
        ],
        notes=[
            "EM on records keeps its likelihood matrix up to 800 MB; at n = 10⁷ blocks are recomputed. "
            "There a tenth of the records is timed, times ten.",
            f"EM on records, 100 iterations on 500,000 values: {em:.2f} s; the direct estimate: {direct * 1e3:.0f} ms.",
            "On bins and by FFT an iteration is independent of n, after one pass to count the records.",
        ],
    )


def perturbed_values(
    rng: np.random.Generator, n: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return rng.uniform(*SUPPORT, n) + NOISE.draws(rng, n)


def single_pass(kernel: Kernel, bins: int) -> Callable[[], object]:
    """Return one pass from the uniform distribution, ready for timing."""
    probabilities = np.full(bins, 1 / bins)
    return lambda: kernel.explained(probabilities)


def kernels(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], bins: int
) -> dict[str, Kernel]:
    """EM on records, on bins and by FFT for the same values."""
    edges = uniform_edges(*SUPPORT, bins)
    histogram: Histogram = histogram_on(values, edges)
    weights = histogram.counts / histogram.total
    of_records = np.full(values.size, 1 / values.size)
    on_records: Kernel = (
        dense_kernel(values, of_records, NOISE, edges)
        if values.size * bins <= KEPT_ENTRIES
        else ChunkedKernel(values[:TIMED_RECORDS], of_records[:TIMED_RECORDS], NOISE, edges)
    )
    return {
        "on records": on_records,
        "on bins": dense_kernel(histogram.centres, weights, NOISE, edges),
        "by FFT": convolution_kernel(histogram.centres, weights, NOISE, edges),
    }


def growth_with_n(rng: np.random.Generator, bins: int) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        values = perturbed_values(rng, n)
        counting = seconds(partial(histogram_on, values, uniform_edges(*SUPPORT, bins)), repeats=1)
        times = interleaved(
            {name: single_pass(kernel, bins) for name, kernel in kernels(values, bins).items()},
            repeats=1 if n > 1_000_000 else 5,
        )
        if n * bins > KEPT_ENTRIES:
            times["on records"] *= n / TIMED_RECORDS
        times["counting, once"] = counting
        print(
            f"n = {n:>10,}, K = {bins}: "
            + ", ".join(f"{name} {t:.2e} s" for name, t in times.items()),
            flush=True,
        )
        for name, time in times.items():
            lines.setdefault(name, []).append((n, time))
    return lines


def growth_with_bins(rng: np.random.Generator, n: int) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    values = perturbed_values(rng, n)
    for bins in (50, 200, 1000, 5000):
        times = interleaved(
            {name: single_pass(kernel, bins) for name, kernel in kernels(values, bins).items()},
            repeats=5,
        )
        print(
            f"n = {n:>10,}, K = {bins}: "
            + ", ".join(f"{name} {t:.2e} s" for name, t in times.items()),
            flush=True,
        )
        for name, time in times.items():
            lines.setdefault(name, []).append((bins, time))
    return lines


def fft_against_records(rng: np.random.Generator) -> float:
    """Time of a pass over 10⁶ records over that of a pass by FFT, K = 100."""
    made = kernels(perturbed_values(rng, 1_000_000), 100)
    times = interleaved(
        {name: single_pass(made[name], 100) for name in ("on records", "by FFT")}, repeats=9
    )
    return times["on records"] / times["by FFT"]


def direct_against_em(rng: np.random.Generator) -> tuple[float, float]:
    """Seconds of the direct estimate and of EM on records, 100 iterations, as in figure 1 of wu2003."""
    noise, edges = Uniform(0.0, 20.0), uniform_edges(*SUPPORT, 50)
    values = rng.uniform(*SUPPORT, 500_000) + noise.draws(rng, 500_000)
    rules = Stopping(100, least_gain=None)
    times = interleaved(
        {
            "direct": lambda: direct_estimate(values, noise, edges, harmonics=12),
            "EM": lambda: em_on_records(values, noise, edges, stopping=rules),
        },
        repeats=3,
    )
    return times["direct"], times["EM"]


if __name__ == "__main__":
    main()
