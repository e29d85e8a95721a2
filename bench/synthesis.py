"""PRIMP and the hybrid against the Gaussian copula of `copulas`, and their growth in rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.numerics.synthesis.components import unmixing
from app.numerics.synthesis.methods import METHODS
from app.numerics.synthesis.moments import whitened
from app.numerics.utility.association import relative_bias, spearman
from bench.measure import Ratio, Series, Table, interleaved, record, seconds

RECORDS = 100_000
OURS = ("primp", "hybrid")
SIZES = (10_000, 100_000, 1_000_000)
SOURCES: tuple[Callable[[np.random.Generator, int], NDArray[np.float64]], ...] = (
    lambda rng, n: rng.random(n),
    lambda rng, n: rng.exponential(size=n),
    lambda rng, n: rng.laplace(size=n),
    lambda rng, n: rng.beta(0.5, 0.5, size=n),
    lambda rng, n: rng.gamma(2.0, size=n),
    lambda rng, n: rng.random(n) ** 3,
    lambda rng, n: rng.lognormal(0.0, 0.5, size=n),
    lambda rng, n: rng.triangular(0.0, 0.1, 1.0, size=n),
    lambda rng, n: np.where(rng.random(n) < 0.3, 3.0, 0.0) + rng.random(n),
    lambda rng, n: rng.standard_t(5, size=n),
)


def mixture(n: int, seed: int = 5) -> NDArray[np.float64]:
    """Return n records of ten columns, each a mixture of ten non-Gaussian sources."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(len(SOURCES), len(SOURCES)))
    return np.column_stack([source(rng, n) for source in SOURCES]) @ mixing


def fit_and_sample_copula(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit beta marginals and sample, as SDV's GaussianCopula does by default."""
    import pandas as pd
    from copulas.multivariate import GaussianMultivariate
    from copulas.univariate import BetaUnivariate

    model = GaussianMultivariate(distribution=BetaUnivariate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(pd.DataFrame(values))
        sample = model.sample(len(values))
    return np.asarray(sample, dtype=np.float64)


def main() -> None:
    values = mixture(RECORDS)
    original = spearman(values)
    made: dict[str, NDArray[np.float64]] = {}

    works: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "copulas": fit_and_sample_copula,
        **{name: partial(_synthesise, name) for name in OURS},
    }

    def keep(name: str) -> None:
        made[name] = works[name](values)

    keep("primp")  # warm up
    times = interleaved({name: partial(keep, name) for name in works}, repeats=3)
    biases = {name: relative_bias(original, spearman(table)).mean for name, table in made.items()}
    ratios = []
    for name in OURS:
        print(f"{name}: {times[name]:.3f} s, Spearman bias {biases[name]:.4f}")
        ratios += [
            Ratio(
                f"times faster than copulas, {name}, 10⁵ × 10",
                times["copulas"] / times[name],
                10,
                "at least",
            ),
            Ratio(
                f"Spearman bias over that of copulas, {name}, 10⁵ × 10",
                biases[name] / biases["copulas"],
                0.5,
            ),
        ]
    print(f"copulas: {times['copulas']:.1f} s, Spearman bias {biases['copulas']:.4f}")
    ratios.append(
        Ratio("time of our FastICA over scikit-learn's, 10⁵ × 10", _ica_ratio(values), 1.0)
    )

    lines, growth = [], []
    tables = {n: mixture(n) for n in SIZES}
    for name in OURS:
        points = [(float(n), seconds(partial(_synthesise, name, tables[n]))) for n in SIZES]
        print(f"{name}: " + ", ".join(f"{n:.0e} rows {time:.3f} s" for n, time in points))
        lines.append(Series("Growth in rows", name, "rows", "seconds", points))
        growth.append(
            Ratio(
                f"time for 10⁶ rows over ten times that for 10⁵, {name}",
                points[2][1] / (10 * points[1][1]),
                1.5,
            )
        )
    record(
        "synthesis",
        [*ratios, *growth],
        lines,
        [
            "Ten non-Gaussian sources, mixed; `copulas` with beta marginals, as SDV's GaussianCopula has them.",
        ],
        [
            Table(
                ("method", "seconds", "Spearman bias"),
                [(name, f"{times[name]:.2f}", f"{biases[name]:.3f}") for name in works],
            )
        ],
    )


def _synthesise(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return METHODS[name](values, np.random.default_rng(1)).values


def _ica_ratio(values: NDArray[np.float64]) -> float:
    """Both searches run on the same white data to the same tolerance."""
    from sklearn.decomposition import FastICA

    white = whitened(values)

    def theirs() -> None:
        FastICA(whiten=False, tol=1e-4, max_iter=200, random_state=1).fit(white)

    def ours() -> None:
        unmixing(white, np.random.default_rng(1))

    times = interleaved({"ours": ours, "theirs": theirs}, repeats=5)
    print(f"FastICA: ours {times['ours']:.3f} s, scikit-learn's {times['theirs']:.3f} s")
    return times["ours"] / times["theirs"]


if __name__ == "__main__":
    main()
