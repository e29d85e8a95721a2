"""Example 1 of [hsu2008] with figures 7 and 10: which methods fill the parallelogram."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import spatial

from app.numerics.synthesis.methods import METHODS
from app.numerics.synthesis.moments import whitened
from papers.experiment import Picture, Result, Table, render

Values = NDArray[np.float64]

MIXING = np.array([[1.0, 1.0], [-1.0, 2.0]])
"""Example 1: a uniform square is rotated and sheared to a parallelogram."""


def example_1(quick: bool, seed: int) -> Result:
    """Figures 7 and 10: which methods fill the parallelogram."""
    n, trials = 1000, 5 if quick else 20
    makers: dict[str, Callable[[Values, np.random.Generator], Values]] = {
        "fresh sample": lambda values, rng: _parallelogram(len(values), rng),
        **{name: _values_of(name) for name in METHODS},
    }
    measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in makers}
    shown: dict[str, Values] = {}
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        original, reference = _parallelogram(n, rng), _parallelogram(n, rng)
        shown = {"original": original}
        for name, make in makers.items():
            synthetic = make(original, rng)
            shown[name] = synthetic
            measured[name].append(
                (
                    energy_distance(_shape(reference), _shape(synthetic)),
                    two_sample_score(_shape(reference), _shape(synthetic), rng),
                    _share_outside(synthetic),
                )
            )
    means = {name: np.mean(rows, axis=0) for name, rows in measured.items()}
    fresh = np.array(measured["fresh sample"])[:, :2]
    limits = fresh.mean(axis=0) + 3 * fresh.std(axis=0) / np.sqrt(trials)
    filling = [name for name in METHODS if (means[name][:2] <= limits).all()]
    numbers = {
        f"{measure}/{name}": float(means[name][place])
        for place, measure in enumerate(("energy", "two-sample", "outside"))
        for name in makers
    }
    return Result(
        numbers=numbers | {"energy limit": float(limits[0]), "two-sample limit": float(limits[1])},
        settings={"records": n, "trials": trials},
        tables=[
            Table(
                "Distance of the synthetic sample from a fresh sample of the true distribution",
                ["method", "energy distance", "two-sample score (½ is chance)", "share outside"],
                [[name, *map(float, means[name])] for name in makers],
            )
        ],
        pictures=[_scatter({name: shown[name] for name in ("original", *METHODS)})],
        remarks=[
            "Distances are between shapes: both samples are brought to mean 0 and covariance I first, in "
            "coordinates that make the parallelogram a square. Their moments being equal, equal shapes have a "
            "distance a little below 0.",
            "No farther from the truth than a fresh sample, within three standard errors (energy distance up "
            f"to {limits[0]:.4f}, score up to {limits[1]:.3f}): {', '.join(filling) or 'none'}.",
            "Farther: "
            + (", ".join(name for name in METHODS if name not in filling) or "none")
            + ".",
        ],
    )


def energy_distance(original: Values, released: Values) -> float:
    """2·E|X − Y| − E|X − X'| − E|Y − Y'| of two samples (n, d) and (n', d): 0 only for equal distributions.

    The averages within a sample leave out a point's distance to itself, so that two samples of one
    distribution have expectation 0. O(n·n').
    """
    between = float(spatial.distance.cdist(original, released).mean())
    within = sum(float(spatial.distance.pdist(sample).mean()) for sample in (original, released))
    return 2 * between - within


def two_sample_score(original: Values, released: Values, rng: np.random.Generator) -> float:
    """Accuracy of separating `released` from `original` (n, d each): ½ is chance.

    Nearest-neighbour classification with five neighbours, five-fold. Classes of unequal size are cut to the smaller one.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    n = min(len(original), len(released))
    both = np.vstack([sample[rng.permutation(len(sample))[:n]] for sample in (original, released)])
    labels = np.repeat([0, 1], n)
    folds = StratifiedKFold(5, shuffle=True, random_state=int(rng.integers(2**31)))
    return float(cross_val_score(KNeighborsClassifier(5), both, labels, cv=folds).mean())


def _values_of(name: str) -> Callable[[Values, np.random.Generator], Values]:
    return lambda values, rng: METHODS[name](values, rng).values


def _parallelogram(n: int, rng: np.random.Generator) -> Values:
    return np.asarray(rng.random((n, 2)) @ MIXING)


def _unmixed(values: Values) -> Values:
    """Points in coordinates of the square, with sides 2·√3: variance 1."""
    return np.asarray(values @ np.linalg.inv(MIXING) * np.sqrt(12))


def _shape(values: Values) -> Values:
    """The sample in coordinates of the square, standardised."""
    return whitened(_unmixed(values))


def _share_outside(values: Values) -> float:
    """Share of points outside the parallelogram by more than 2 % of a side."""
    half_side = np.sqrt(3)
    return float((np.abs(_unmixed(values) - half_side) > 1.04 * half_side).any(axis=1).mean())


def _scatter(samples: Mapping[str, Values]) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) @ MIXING
    for axes, (name, values) in zip(
        figure.subplots(2, 3, sharex=True, sharey=True).flat, samples.items(), strict=True
    ):
        axes.plot(*corners.T, color="tab:orange", linewidth=1)
        axes.plot(*values.T, ".", markersize=2, color="tab:blue")
        axes.set_title(name)
    return render(
        "scatter", "The parallelogram of example 1 (outline) and synthetic samples of it", figure
    )
