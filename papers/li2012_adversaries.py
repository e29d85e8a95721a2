"""Figures 2 and 3 of [li2012]: reconstruction from many copies, on adult's age and hours.

The paper's CENSUS age and income are not public; two columns of adult stand in for them. Noise variances are uniform in [0.25, 1] as printed,
with 30 copies in sequence.

The use of samples by adversaries with partial knowledge is not printed in full, so two readings are run. One estimates only the mean and K: in
eq. 6 that K cancels, and only the error of the mean is left. The other estimates the covariance of all copies together, and reproduces figure
2: curves that flatten and rise.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from matplotlib.figure import Figure

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import linear_estimate, regression
from app.numerics.attacks.evidence import (
    Knowledge,
    cornerwave_between,
    independent_between,
    perfect_knowledge,
    pooled_copy,
    pooling_weights,
)
from app.numerics.covariances import covariance_factor
from papers.experiment import SHARED_DATA, Cell, Experiment, Picture, Result, Table, render
from papers.li2012_theory import (
    coefficient_rows,
    cornerwave_copies_error,
    independent_coefficients,
    independent_copies_error,
    shaped_noise,
)

COLUMNS = ("age", "hours_per_week")
COPIES = 30
SAMPLES = (400, 800, 1200)
"""100N², 200N² and 300N² with N = 2 attributes."""

SHOWN = (5, 10, 20, 30)
"""Numbers of copies in figure 3."""

BETWEEN = {"independent": independent_between, "corner-wave": cornerwave_between}
COEFFICIENTS = {"independent": independent_coefficients, "corner-wave": coefficient_rows}


@dataclass(frozen=True)
class Released:
    """The original (n × d), the noise variances (m), and m copies of it under one scheme."""

    original: FloatArray
    variances: FloatArray
    copies: FloatArray
    scheme: str

    def first(self, m: int) -> tuple[FloatArray, FloatArray]:
        """The first m copies, and the covariance between their noises."""
        return self.copies[:m], BETWEEN[self.scheme](self.variances[:m])


def adult(quick: bool) -> FloatArray:
    """Age and hours of adult, n × 2."""
    with (SHARED_DATA / "adult.csv").open(encoding="utf-8") as file:
        records = islice(csv.DictReader(file), 10_000 if quick else None)
        return np.array([[float(record[name]) for name in COLUMNS] for record in records])


def released(original: FloatArray, scheme: str, seed: int) -> Released:
    """COPIES copies; both schemes share the noise variances."""
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0.25, 1, COPIES)
    normals = rng.normal(size=(COPIES, *original.shape))
    coefficients = COEFFICIENTS[scheme](variances.tolist())
    noise = shaped_noise(coefficients, normals, covariance_factor(np.cov(original, rowvar=False)))
    return Released(original, variances, original + noise, scheme)


def perfect_adversary(release: Released, m: int) -> FloatArray:
    """LLSE from the first m copies with the true mean and covariance, n × d."""
    return informed_estimate(release, m, perfect_knowledge(release.original))


def informed_estimate(release: Released, m: int, knowledge: Knowledge) -> FloatArray:
    """LLSE from the first m copies, all noise shaped like `knowledge`."""
    copies, between = release.first(m)
    weights, variance = pooling_weights(between)
    noise = variance * knowledge.covariance
    seen = pooled_copy(list(copies), weights)
    return linear_estimate(seen, knowledge.mean, knowledge.covariance, noise).values


def sampled_knowledge(release: Released, m: int, samples: int) -> Knowledge:
    """Mean and K from the first rows of m copies: copy i has the covariance (1+v_i)·K."""
    rows = release.copies[:m, :samples]
    shares = [
        np.cov(copy, rowvar=False) / (1 + variance)
        for copy, variance in zip(rows, release.variances, strict=False)
    ]
    return Knowledge(rows.mean(axis=(0, 1)), np.mean(shares, axis=0))


def sampling_adversary(release: Released, m: int, samples: int) -> FloatArray:
    """Eq. 6 with the covariance of all m copies estimated from their first rows, n × d.

    Without structure: an (md)³ solve and m²d² numbers to estimate.
    """
    known = sampled_knowledge(release, m, samples)
    n, d = release.original.shape
    stacked = release.copies[:m].transpose(1, 0, 2).reshape(n, m * d)
    seen = np.atleast_2d(np.cov(stacked[:samples], rowvar=False))
    gain = regression(np.tile(known.covariance, m), seen)
    estimate: FloatArray = known.mean + (stacked - np.tile(known.mean, m)) @ gain.T
    return estimate


def normalised(release: Released, estimate: FloatArray) -> FloatArray:
    """Mean squared error over variance, per attribute [li2012, section 6.1]."""
    squared = (estimate - release.original) ** 2
    share: FloatArray = squared.mean(axis=0) / release.original.var(axis=0)
    return share


def error_against_copies(quick: bool, seed: int) -> Result:
    """Figure 2."""
    original = adult(quick)
    counts = (1, 2, 5, 10, 15, 20, 25, 30) if quick else tuple(range(1, COPIES + 1))
    curves: dict[str, FloatArray] = {}
    for scheme in BETWEEN:
        release = released(original, scheme, seed)
        curves[f"{scheme}, perfect"] = np.array(
            [normalised(release, perfect_adversary(release, m)) for m in counts]
        )
        for samples in SAMPLES:
            curves[f"{scheme}, {samples} samples"] = np.array(
                [normalised(release, sampling_adversary(release, m, samples)) for m in counts]
            )
        curves[f"{scheme}, {SAMPLES[0]} samples, noise variances used"] = np.array(
            [
                normalised(
                    release,
                    informed_estimate(release, m, sampled_knowledge(release, m, SAMPLES[0])),
                )
                for m in counts
            ]
        )
        curves[f"{scheme}, formula"] = np.array(
            [formula(scheme, release.variances[:m]) for m in counts]
        )
        if scheme == "corner-wave":
            best = [int(np.argmin(release.variances[:m])) for m in counts]
            alone = [single(release, position) for position in best]
            curves["corner-wave, least perturbed copy alone"] = np.array(alone)
    variances = release.variances[np.array(counts) - 1]
    numbers = figure_2_numbers(curves, counts)
    header = ["copies", "noise variance", *curves]
    rows: list[list[Cell]] = [
        [m, float(variances[i]), *(float(curve[i, 0]) for curve in curves.values())]
        for i, m in enumerate(counts)
        if m in (1, 2, *SHOWN)
    ]
    return Result(
        numbers,
        {"records": len(original), "copies": COPIES, "columns": " and ".join(COLUMNS)},
        [Table("Figure 2: normalised error on age", header, rows)],
        [
            picture_2(attribute, name, counts, curves, variances)
            for attribute, name in enumerate(COLUMNS)
        ],
        remarks_2(numbers),
    )


def formula(scheme: str, variances: FloatArray) -> FloatArray:
    """Theorems 3 and 4, as normalised errors of both attributes."""
    unit = np.eye(1)
    theorem = independent_copies_error if scheme == "independent" else cornerwave_copies_error
    return np.repeat(theorem(variances, unit)[0, 0], len(COLUMNS))


def single(release: Released, position: int) -> FloatArray:
    """Normalised error of a perfect adversary with one copy."""
    knowledge = perfect_knowledge(release.original)
    noise = release.variances[position] * knowledge.covariance
    seen = release.copies[position]
    return normalised(
        release, linear_estimate(seen, knowledge.mean, knowledge.covariance, noise).values
    )


def figure_2_numbers(curves: dict[str, FloatArray], counts: Sequence[int]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, curve in curves.items():
        for attribute, column in enumerate(COLUMNS):
            for shown in (1, *SHOWN):
                value = float(curve[counts.index(shown), attribute])
                numbers[f"{name}: {column} at {shown}"] = value
            numbers[f"{name}: {column} lowest"] = float(curve[:, attribute].min())
            numbers[f"{name}: {column} largest rise"] = float(np.diff(curve[:, attribute]).max())
    joint, alone = curves["corner-wave, perfect"], curves["corner-wave, least perturbed copy alone"]
    numbers["gain of pooling corner-wave copies"] = float(np.abs(joint - alone).max())
    for scheme in BETWEEN:
        gap = curves[f"{scheme}, perfect"] - curves[f"{scheme}, formula"]
        numbers[f"{scheme}: largest gap to the formula"] = float(np.abs(gap).max())
    return numbers


def remarks_2(numbers: dict[str, float]) -> list[str]:
    independent = numbers["independent, perfect: age at 30"]
    cornerwave = numbers["corner-wave, perfect: age at 30"]
    low = numbers["independent, 400 samples: age lowest"]
    last = numbers["independent, 400 samples: age at 30"]
    used = numbers["independent, 400 samples, noise variances used: age at 30"]
    return [
        f"Thirty copies: normalised error {independent:.3f} under independent noise,"
        f" {cornerwave:.3f} under corner-wave noise. Pooling corner-wave copies changes the error of"
        f" the least perturbed one by at most {numbers['gain of pooling corner-wave copies']:.1g}.",
        f"With 400 samples and no structure the error is {low:.3f} at its lowest and {last:.3f} at"
        f" thirty copies: the curve {'turns up' if last > low else 'does not turn up'}.",
        f"With 400 samples and known noise variances it is {used:.3f} at thirty copies, against"
        f" {independent:.3f} with perfect knowledge: the covariance cancels.",
    ]


def picture_2(
    attribute: int,
    name: str,
    counts: Sequence[int],
    curves: dict[str, FloatArray],
    variances: FloatArray,
) -> Picture:
    figure = Figure(figsize=(6.5, 5.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[3, 1], sharex=True)
    colours = {"independent": "tab:red", "corner-wave": "tab:blue"}
    styles = {
        "perfect": "-",
        "400 samples": ":",
        "800 samples": "-.",
        "1200 samples": "--",
    }
    for scheme, colour in colours.items():
        for knowledge, style in styles.items():
            label = f"{scheme}, {knowledge}"
            top.plot(counts, curves[label][:, attribute], style, color=colour, lw=1.3, label=label)
    alone = curves["corner-wave, least perturbed copy alone"]
    label = "least perturbed copy alone"
    top.plot(counts, alone[:, attribute], "x", color="black", ms=4, label=label)
    top.set(ylabel="normalised error", ylim=(0, None))
    top.legend(frameon=False, fontsize=7, ncols=2)
    bottom.bar(counts, variances, width=0.5, color="grey")
    bottom.set(xlabel="number of copies", ylabel="noise variance")
    for axes in (top, bottom):
        axes.grid(alpha=0.3)
    return render(name.replace("_", "-"), f"Figure 2: error against copies, {name}", figure)


def distribution_of_errors(quick: bool, seed: int) -> Result:
    """Figure 3: distribution of the errors of the cells, with perfect knowledge."""
    original = adult(quick)
    misses = {
        (scheme, m): np.abs(perfect_adversary(release, m) - original)
        for scheme in BETWEEN
        for release in [released(original, scheme, seed)]
        for m in SHOWN
    }
    numbers, rows = {}, []
    for (scheme, m), miss in misses.items():
        cells: list[Cell] = []
        for attribute, column in enumerate(COLUMNS):
            median = float(np.median(miss[:, attribute]))
            share = float(np.mean(miss[:, attribute] <= 2.0))
            numbers[f"{scheme}, {m} copies: median miss of {column}"] = median
            numbers[f"{scheme}, {m} copies: {column} within 2"] = share
            cells += [median, share]
        rows.append([scheme, m, *cells])
    medians = [numbers[f"independent, {m} copies: median miss of age"] for m in SHOWN]
    held = [numbers[f"corner-wave, {m} copies: median miss of age"] for m in SHOWN]
    return Result(
        numbers,
        {"records": len(original), "columns": " and ".join(COLUMNS)},
        [
            Table(
                "Figure 3: absolute errors",
                [
                    "noise",
                    "copies",
                    *(f"{c}: {what}" for c in COLUMNS for what in ("median", "within 2")),
                ],
                rows,
            )
        ],
        [picture_3(attribute, name, misses) for attribute, name in enumerate(COLUMNS)],
        [
            f"From 5 to 30 copies the median error of an age goes from {medians[0]:.2f} to"
            f" {medians[-1]:.2f} years under independent noise. Under corner-wave noise it goes from"
            f" {held[0]:.2f} to {held[-1]:.2f}, following the least perturbed copy."
        ],
    )


def picture_3(attribute: int, name: str, misses: dict[tuple[str, int], FloatArray]) -> Picture:
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    histogram, cumulative = figure.subplots(1, 2)
    reach = max(float(np.quantile(miss[:, attribute], 0.995)) for miss in misses.values())
    edges = np.linspace(0, reach, 81)
    shades = {m: 0.35 + 0.65 * i / (len(SHOWN) - 1) for i, m in enumerate(SHOWN)}
    for (scheme, m), miss in misses.items():
        colour = "tab:red" if scheme == "independent" else "tab:blue"
        counts, _ = np.histogram(miss[:, attribute], edges)
        shares = counts / len(miss)
        style = {"color": colour, "alpha": shades[m], "lw": 1.1, "label": f"{scheme}, {m} copies"}
        histogram.plot((edges[:-1] + edges[1:]) / 2, shares, **style)
        cumulative.plot(edges[1:], np.cumsum(shares), **style)
    histogram.set(xlabel=f"absolute error of {name}", ylabel="share of records")
    cumulative.set(xlabel=f"absolute error of {name}", ylabel="cumulative share", ylim=(0, 1))
    cumulative.legend(frameon=False, fontsize=7)
    for axes in (histogram, cumulative):
        axes.grid(alpha=0.3)
    caption = f"Figure 3: histogram and cumulative histogram of errors, {name}"
    return render(name.replace("_", "-"), caption, figure)


ADVERSARY_EXPERIMENTS = (
    Experiment(
        "figure2", "Error against the number of copies", error_against_copies, needs=("adult.csv",)
    ),
    Experiment(
        "figure3", "Distribution of the errors", distribution_of_errors, needs=("adult.csv",)
    ),
)
