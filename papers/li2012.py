"""Reproduction of [li2012]: the worked example, utility at equal noise (fig. 4), and the run time (fig. 5)."""

from __future__ import annotations

import csv
import hashlib
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.numerics.copies.grid import grid_exponents
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.path import PathDraws, RowRange, bridges, path_block, standard_normals
from app.numerics.copies.perturbation import perturbed
from app.numerics.covariances import covariance_factor
from papers.experiment import SHARED_DATA, Cell, Experiment, Picture, Result, Table, render
from papers.li2012_adversaries import ADVERSARY_EXPERIMENTS
from papers.li2012_theory import coefficient_rows, independent_coefficients, shaped_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

PAPER_SECONDS = 0.37
"""Experiment 2: 23 copies of 10⁵ values given 7, in Matlab on a 2.5 GHz PC."""


# Sections 4.2.1, 4.2.2 and 4.3: X = [9, 11] of mean 10 and variance 1, levels 1 and 4.


def worked_example(quick: bool, seed: int) -> Result:
    """Errors of Alice, Bob and both together, by formula and by simulation."""
    rounds = 20_000 if quick else 1_000_000
    rng = np.random.default_rng(seed)
    schemes = {
        "Alice alone (v = 1)": (coefficient_rows([1.0]), 0.5),
        "Bob alone (v = 4)": (coefficient_rows([4.0]), 0.8),
        "both, independent noise": (independent_coefficients([1.0, 4.0]), 4 / 9),
        "both, linearly dependent noise": (np.array([[1.0], [2.0]]), 0.0),
        "both, corner-wave noise": (coefficient_rows([1.0, 4.0]), 0.5),
    }
    numbers: dict[str, float] = {}
    rows: list[list[Cell]] = []
    for name, (coefficients, in_paper) in schemes.items():
        exact, simulated = example_errors(coefficients, rounds, rng)
        numbers[name] = exact
        numbers[f"{name}, simulated"] = simulated
        rows.append([name, in_paper, exact, simulated])
    gain = numbers["Alice alone (v = 1)"] - numbers["both, corner-wave noise"]
    return Result(
        numbers=numbers,
        settings={"simulated pairs": rounds},
        tables=[
            Table(
                "Average estimation error of X = [9, 11]",
                ["who, and how the copies were made", "paper", "eq. (7)", "simulated"],
                rows,
            )
        ],
        remarks=[
            f"With corner-wave noise Bob's copy lowers Alice's error by {abs(gain):.1g}.",
            "Linearly dependent noise cancels: the two copies solve for X.",
        ],
    )


def example_errors(
    coefficients: FloatArray, rounds: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The error of the estimate (6) from all copies: by eq. (7), and measured on X = [9, 11]."""
    m = len(coefficients)
    observed = np.ones((m, m)) + coefficients @ coefficients.T
    weights = np.linalg.pinv(observed) @ np.ones(m)
    exact = max(0.0, 1 - float(weights.sum()))
    X = np.array([9.0, 11.0])
    normals = rng.standard_normal((coefficients.shape[1], rounds, 2))
    copies = X + np.tensordot(coefficients, normals, axes=1)
    estimates = 10 + np.tensordot(weights, copies - 10, axes=1)
    return exact, float(((estimates - X) ** 2).mean())


# Figure 4: classifiers on copies of the same level, made the two ways.


def utility_on_iris(quick: bool, seed: int) -> Result:
    from sklearn.datasets import load_iris

    X, labels = load_iris(return_X_y=True)
    return utility(X, labels, quick, seed, repeats=40)


def utility_on_wbc(quick: bool, seed: int) -> Result:
    with (SHARED_DATA / "wbc.csv").open(encoding="utf-8") as file:
        complete = [row for row in list(csv.reader(file))[1:] if "?" not in row]
    table = np.array(complete, dtype=np.float64)
    return utility(table[:, :-1], table[:, -1].astype(np.int64), quick, seed, repeats=10)


def utility(
    X: FloatArray, labels: NDArray[np.int64], quick: bool, seed: int, *, repeats: int
) -> Result:
    """10-fold accuracy of a decision tree and an RBF-SVM on copies at 20 levels in [0.25, 1]."""
    levels, repeats = (2, 1) if quick else (20, repeats)
    rng = np.random.default_rng(seed)
    variances = np.sort(rng.uniform(0.25, 1.0, levels)).tolist()
    schemes = {
        "corner-wave": coefficient_rows(variances),
        "independent": independent_coefficients(variances),
    }
    L = covariance_factor(np.cov(X.T))
    accuracy: dict[tuple[str, str], FloatArray] = {
        (classifier, scheme): np.empty((repeats, levels))
        for classifier in CLASSIFIERS
        for scheme in schemes
    }
    for repeat in range(repeats):
        for scheme, coefficients in schemes.items():
            normals = rng.standard_normal((levels, len(X), L.shape[1]))
            copies = X + shaped_noise(coefficients, normals, L)
            for classifier in CLASSIFIERS:
                accuracy[classifier, scheme][repeat] = [
                    cross_validated(classifier, copy, labels, seed) for copy in copies
                ]
    original = {name: cross_validated(name, X, labels, seed) for name in CLASSIFIERS}
    return utility_finding(variances, accuracy, original, len(X))


CLASSIFIERS = ("decision tree", "RBF-SVM")


def cross_validated(name: str, X: FloatArray, labels: NDArray[np.int64], seed: int) -> float:
    """Mean accuracy over 10 folds of a classifier trained and tested on the copy."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=seed)
    model = tree if name == "decision tree" else SVC(kernel="rbf")
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    accuracies = []
    for train, test in folds.split(X, labels):
        mean, sd = X[train].mean(axis=0), X[train].std(axis=0)
        model.fit((X[train] - mean) / sd, labels[train])
        accuracies.append(np.mean(model.predict((X[test] - mean) / sd) == labels[test]))
    return float(np.mean(accuracies))


def utility_finding(
    variances: list[float],
    accuracy: dict[tuple[str, str], FloatArray],
    original: dict[str, float],
    rows: int,
) -> Result:
    numbers: dict[str, float] = {}
    table: list[list[Cell]] = []
    remarks = []
    for classifier in CLASSIFIERS:
        ours, theirs = (accuracy[classifier, scheme] for scheme in ("corner-wave", "independent"))
        # Repeats are independent; the levels of one repeat are not, so they are averaged first.
        by_repeat = (ours - theirs).mean(axis=1)
        difference = float(by_repeat.mean())
        spread = float(by_repeat.std(ddof=1) / len(by_repeat) ** 0.5) if len(by_repeat) > 1 else 0.0
        numbers |= {
            f"{classifier}, original": original[classifier],
            f"{classifier}, corner-wave": float(ours.mean()),
            f"{classifier}, independent": float(theirs.mean()),
            f"{classifier}, difference": difference,
            f"{classifier}, standard error": spread,
        }
        table.append(
            [classifier, original[classifier], float(ours.mean()), float(theirs.mean()), difference]
        )
        if spread:
            verdict = "within" if abs(difference) <= 2 * spread else "beyond"
            remarks.append(
                f"{classifier}: the two ways differ by {difference:+.4f}, {verdict} twice the"
                f" standard error of {spread:.4f} over {len(by_repeat)} repeats."
            )
    return Result(
        numbers=numbers,
        settings={"rows": rows, "levels": len(variances), "repeats": len(by_repeat), "folds": 10},
        tables=[
            Table(
                "Accuracy, mean over levels and repeats",
                ["classifier", "original", "corner-wave", "independent", "difference"],
                table,
            )
        ],
        pictures=[utility_picture(variances, accuracy)],
        remarks=remarks,
    )


def utility_picture(variances: list[float], accuracy: dict[tuple[str, str], FloatArray]) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, 2, sharey=True))
    for axes, classifier in zip(panels, CLASSIFIERS, strict=True):
        for scheme, style in (("corner-wave", "o-"), ("independent", "x--")):
            axes.plot(variances, accuracy[classifier, scheme].mean(axis=0), style, label=scheme)
        axes.set(title=classifier, xlabel="noise variance v")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy, 10-fold")
    panels[0].legend()
    return render("accuracy", "Accuracy against noise variance, two ways of adding noise.", figure)


# Experiment 2 and figure 5: the time of algorithm 3.


def run_time(quick: bool, seed: int) -> Result:
    """Seconds for M - L new copies of n values given L, beside independent noise."""
    n, repeats = (10_000, 1) if quick else (100_000, 9)
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.2, 15.0, size=(1, n))
    totals = (10, 30) if quick else (10, 20, 30, 40, 50)
    shares = {"⌊M/4⌋": 0.25, "⌊M/2⌋": 0.5, "⌊3M/4⌋": 0.75}
    points: dict[str, list[tuple[int, float]]] = {}
    for name, share in shares.items():
        for total in totals:
            variances = rng.uniform(0.25, 1.0, total).tolist()
            issued = int(total * share)
            ours = timed(partial(corner_wave_copies, X, variances, issued), repeats)
            theirs = timed(partial(independent_copies, X, variances, issued), repeats)
            points.setdefault(f"ours, L = {name}", []).append((total, ours))
            points.setdefault(f"independent, L = {name}", []).append((total, theirs))
    here = dict(points["ours, L = ⌊M/4⌋"])[30]
    independent = dict(points["independent, L = ⌊M/4⌋"])[30]
    ratio = here / independent
    return Result(
        numbers={
            "seconds": here,
            "seconds, independent": independent,
            "paper's seconds": PAPER_SECONDS,
            "new copies": float(30 - 30 // 4),
        },
        settings={"values in a copy": n, "repeats": repeats, "median of": "repeats"},
        tables=[
            Table(
                "23 new copies given 7 (M = 30), seconds",
                ["", "paper, 10⁵ values", f"here, {n:,} values"],
                [
                    ["algorithm 3", PAPER_SECONDS, here],
                    ["independent noise", "marginally less", independent],
                ],
            )
        ],
        pictures=[run_time_picture(points)],
        remarks=[
            f"A correlated copy costs {ratio:.2f} times an independent one: given its neighbours it"
            " is one draw and two weighted terms, whatever M and L.",
            "The noise here comes from a cipher and every value is rounded to the release grid;"
            " the paper's came from Matlab's generator.",
        ],
    )


def timed(work: Callable[[], object], repeats: int) -> float:
    spans = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        spans.append(time.perf_counter() - began)
    return statistics.median(spans)


def corner_wave_copies(X: FloatArray, variances: list[float], issued: int) -> list[FloatArray]:
    """Algorithm 3: the copies after the first `issued`, whose noise is kept as in the paper."""
    history = bridges(variances)
    keys = example_keys(len(variances))
    variance = np.array([float(X.var())])
    L = np.sqrt(variance)[:, np.newaxis]
    paths: dict[int, FloatArray] = {
        position: np.zeros(X.shape) for position in range(issued)
    }  # their values do not matter for the time
    copies = []
    for position in range(issued, len(variances)):
        paths[position] = path_block(
            PathDraws(history, position, keys, columns=1), RowRange(0, 0, X.shape[1]), paths
        )
        exponents = grid_exponents(variance, variances[position])
        copies.append(perturbed(X, paths[position], L, exponents))
    return copies


def independent_copies(X: FloatArray, variances: list[float], issued: int) -> list[FloatArray]:
    """As many copies with independent noise of the same recipe."""
    keys = example_keys(len(variances))
    variance = np.array([float(X.var())])
    copies = []
    for position in range(issued, len(variances)):
        normals = standard_normals(keys[position], RowRange(0, 0, X.shape[1]), 1)
        L = np.sqrt(variance * variances[position])[:, np.newaxis]
        copies.append(perturbed(X, normals, L, grid_exponents(variance, variances[position])))
    return copies


def example_keys(count: int) -> dict[int, bytes]:
    return {
        i: draw_key(bytes(32), hashlib.sha256(bytes([i])).digest(), bytes(32)) for i in range(count)
    }


def run_time_picture(points: dict[str, list[tuple[int, float]]]) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    colours = iter(("C0", "C0", "C1", "C1", "C2", "C2"))
    for name, line in points.items():
        style = "o-" if name.startswith("ours") else "x--"
        axes.plot(
            [m for m, _ in line], [s for _, s in line], style, color=next(colours), label=name
        )
    axes.set(xlabel="copies in total, M", ylabel="seconds for M - L copies", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return render("run-time", "Run time against the number of copies.", figure)


EXPERIMENTS = (
    Experiment("example", "The worked example (sections 4.2.1, 4.2.2 and 4.3)", worked_example),
    Experiment("utility-iris", "Utility at equal noise: iris (fig. 4)", utility_on_iris),
    Experiment(
        "utility-wbc", "Utility at equal noise: wbc (fig. 4)", utility_on_wbc, needs=("wbc.csv",)
    ),
    *ADVERSARY_EXPERIMENTS,
    Experiment("run-time", "Run time of algorithm 3 (experiment 2, fig. 5)", run_time),
)
