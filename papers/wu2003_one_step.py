"""Figures 4 and 5 and section 4.2 of [wu2003]: the one-step scheme."""

from __future__ import annotations

import itertools

import numpy as np

from app.numerics.deconvolution.bins import uniform_edges
from app.numerics.disclosure import expected_one_step_loss
from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
)
from app.numerics.indicator.scheme import (
    RunningTotals,
    estimated_shares,
    index_of_bin,
    perturbed_vectors,
    totals_of,
)
from papers.experiment import Result, Table, render
from papers.wu2003_losses import (
    CurvePoint,
    loss_from_distribution,
    loss_from_histograms,
    one_step_curve,
    variation_distance,
)
from papers.wu2003_setting import DENSITY, SUPPORT, Floats, bimodal, lines, shares_of

HEAVY = "c/(1+abs w)²"
"""The third W of the paper, without the bar that would end a Markdown cell."""


def figure_4(quick: bool, seed: int) -> Result:
    """The one-step estimate from 10,000 vectors of 30 bins."""
    del quick  # small as it is
    n, bins, perturbation = 10_000, 30, DiscreteNormal(1.0, gamma=0.5)
    rng = np.random.default_rng(seed)
    x = bimodal(rng, n)
    edges = uniform_edges(*SUPPORT, bins)
    index = index_of_bin(x, edges)
    estimate = estimated_shares(
        totals_of(perturbed_vectors(index, bins, perturbation, rng), perturbation), perturbation
    )
    truth = np.bincount(index, minlength=bins) / n
    loss = float(variation_distance(truth, estimate.shares))
    expected = expected_one_step_loss(perturbation, truth, n)
    within = np.abs(estimate.unbiased - truth) < 1.96 * estimate.standard_errors_of_respondents
    return Result(
        numbers={
            "information_loss": loss,
            "expected_loss": expected,
            "within_two_errors": float(within.mean()),
        },
        settings={"X": DENSITY, "W": "0.5 round(N(0, 1))", "n": n, "bins": bins},
        tables=[
            Table(
                "One-step estimate",
                ["information loss", "expected by formula", "bins within 1.96 standard errors"],
                [[loss, expected, float(within.mean())]],
            )
        ],
        pictures=[
            lines(
                "one-step",
                "Figure 4: the one-step estimate, n = 10,000",
                (edges[1:] + edges[:-1]) / 2,
                {"unperturbed": truth, "estimate": estimate.shares},
            )
        ],
        remarks=[
            f"The loss is {loss / expected:.2f} times what the formula expects; "
            f"{within.sum()} of {bins} bins lie within 1.96 standard errors."
        ],
    )


def bins_of_figure_5() -> tuple[Floats, Floats]:
    """Edges of 30 bins and the mass of X in each, from a million draws."""
    edges = uniform_edges(*SUPPORT, 30)
    return edges, shares_of(bimodal(np.random.default_rng(0), 1_000_000), edges)


def one_step_losses(
    perturbation: Perturbation, n: int, rounds: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Information loss by both definitions, and of plain column means, over rounds of n records."""
    edges, density = bins_of_figure_5()
    bins = density.size
    truths, estimates, plain = [], [], []
    for _ in range(rounds):
        index = index_of_bin(bimodal(rng, n), edges)
        totals = RunningTotals(0, np.zeros(bins, dtype=np.int64))
        column_sums = np.zeros(bins)
        for part in np.array_split(index, max(1, n // 20_000)):
            vectors = perturbed_vectors(part, bins, perturbation, rng)
            totals = totals.plus(totals_of(vectors, perturbation))
            column_sums += vectors.sum(axis=0)
        truths.append(np.bincount(index, minlength=bins) / n)
        estimates.append(estimated_shares(totals, perturbation).shares)
        means = perturbation.gamma * (column_sums / n - perturbation.mean_steps)
        plain.append(np.maximum(means, 0.0))
    return (
        loss_from_histograms(np.array(truths), np.array(estimates)),
        loss_from_distribution(density, np.array(estimates)),
        loss_from_histograms(np.array(truths), np.array(plain)),
    )


def figure_5(quick: bool, seed: int) -> Result:
    """Information loss against n, for several σ and for the W without a mean."""
    from matplotlib.figure import Figure

    sizes = [2000, 8000, 32_000] if quick else [1000, 4000, 16_000, 64_000, 256_000]
    rounds = 3 if quick else 12
    rng = np.random.default_rng(seed)
    families: dict[str, Perturbation] = {
        **{f"σ = {deviation:g}": DiscreteNormal(deviation) for deviation in (0.5, 1.0, 2.0)},
        HEAVY: InverseSquare(),
    }
    losses = {
        name: [one_step_losses(perturbation, n, rounds, rng) for n in sizes]
        for name, perturbation in families.items()
    }

    def slope(values: list[float]) -> float:
        """Over the three largest n: at small n clipping at zero reduces the loss."""
        return float(np.polyfit(np.log(sizes[-3:]), np.log(values[-3:]), 1)[0])

    slopes = {name: slope([loss[0] for loss in family]) for name, family in losses.items()}
    _, density = bins_of_figure_5()
    formula = {
        name: [expected_one_step_loss(perturbation, density, n) for n in sizes]
        for name, perturbation in families.items()
    }
    heavy = [loss[2] for loss in losses[HEAVY]]
    normals = [name for name in families if name.startswith("σ")]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, family in losses.items():
        axes.loglog(sizes, [loss[0] for loss in family], "o-", label=name)
    axes.loglog(sizes, heavy, "x--", label=f"{HEAVY}, plain means")
    axes.set(
        xlabel="n", ylabel="information loss", title="Figure 5: information loss against n, γ = 1"
    )
    axes.grid(alpha=0.3)
    axes.legend()
    return Result(
        numbers={
            **{f"slope {name}": value for name, value in slopes.items()},
            "slope of plain means without a mean": slope(heavy),
            "largest deviation from -1/2": max(abs(slopes[name] + 0.5) for name in normals),
            "largest ratio to the formula": max(
                max(loss[0] / expected, expected / loss[0])
                for name, family in losses.items()
                for loss, expected in zip(family, formula[name], strict=True)
            ),
            "ordered": float(
                all(losses[a][-1][0] < losses[b][-1][0] for a, b in itertools.pairwise(normals))
            ),
        },
        settings={"X": DENSITY, "bins": 30, "rounds": rounds, "γ": 1},
        tables=[
            Table(
                "Information loss: against the histogram of x (the paper's definition) / against the density",
                ["W", *(f"n = {n:,}" for n in sizes), "power of n", "by formula"],
                [
                    [
                        name,
                        *(f"{loss[0]:.4f} / {loss[1]:.4f}" for loss in family),
                        slopes[name],
                        slope(formula[name]),
                    ]
                    for name, family in losses.items()
                ],
            )
        ],
        pictures=[render("loss", "Information loss against n", figure)],
        remarks=[
            "The loss falls as n to the power "
            + ", ".join(f"{slopes[name]:.2f} ({name})" for name in normals)
            + " over the three largest n. It is -0.5 once every bin's share is well above its standard error. "
            "Before, clipping at zero reduces the loss, as in the formula.",
            f"{HEAVY} has no mean. Plain column means go as n to the power {slope(heavy):.2f}"
            + (
                ", so they do not converge, against the paper's footnote"
                if slope(heavy) > -0.25
                else ""
            )
            + f". Means of clipped entries go as n to the power {slopes[HEAVY]:.2f}.",
        ],
    )


def measures(quick: bool, seed: int) -> Result:
    """Section 4.2: mutual information and right guesses over γ, σ and the number of bins."""
    from matplotlib.figure import Figure

    records = 2000 if quick else 20_000
    rng = np.random.default_rng(seed)

    def prior(bins: int) -> Floats:
        return shares_of(bimodal(np.random.default_rng(1), 200_000), uniform_edges(*SUPPORT, bins))

    at_30 = prior(30)
    settings: dict[str, list[tuple[float, Perturbation, Floats]]] = {
        "γ (σ = 1)": [(1 / s, DiscreteNormal(1.0, 1 / s), at_30) for s in (1, 2, 3, 4, 6, 8)],
        "σ (γ = 1)": [(d, DiscreteNormal(d), at_30) for d in (0.25, 0.5, 1.0, 2.0, 4.0)],
        "bins, 1/(S₃k³)": [(k, InverseCube(), prior(k)) for k in (5, 15, 50, 150, 500)],
        "bins, geometric a = 2": [(k, Geometric(2.0), prior(k)) for k in (5, 15, 50, 150, 500)],
    }
    curves: dict[str, list[CurvePoint]] = {
        name: one_step_curve(((w, p) for _, w, p in line), rng, n=10_000, records=records)
        for name, line in settings.items()
    }
    figure = Figure(figsize=(9, 6), layout="constrained")
    for place, (name, points) in enumerate(curves.items(), start=1):
        axes = figure.add_subplot(2, 2, place)
        at = [value for value, _, _ in settings[name]]
        axes.plot(
            at,
            [p.privacy.mutual_information_bits.value for p in points],
            "o-",
            label="I(X; Z), bits",
        )
        axes.plot(at, [p.privacy.right_by_map.value for p in points], "s--", label="MAP right")
        axes.plot(at, [p.privacy.right_by_mle.value for p in points], "^:", label="MLE right")
        axes.plot(
            at, [p.information_loss for p in points], "x-", color="0.5", label="information loss"
        )
        axes.set(xlabel=name)
        if place > 2:
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
        if place == 1:
            axes.legend(fontsize=8)
    mle = [p.privacy.right_by_mle.value for p in curves["bins, 1/(S₃k³)"]]
    by_map = [p.privacy.right_by_map.value for p in curves["bins, geometric a = 2"]]
    by_sigma = [p.privacy.mutual_information_bits.value for p in curves["σ (γ = 1)"]]
    return Result(
        numbers={
            "mle_right_few_bins": mle[0],
            "mle_right_many_bins": mle[-1],
            "map_right_few_bins": by_map[0],
            "map_right_many_bins": by_map[-1],
            "information_falls_with_sigma": float(by_sigma == sorted(by_sigma, reverse=True)),
        },
        settings={"X": DENSITY, "simulated records": records, "information loss at n": 10_000},
        tables=[
            Table(
                f"Over {name}",
                [
                    "value",
                    "I(X; Z), bits",
                    "1 - 2^(-I)",
                    "MLE right",
                    "MAP right",
                    "best guess without z",
                    "information loss",
                ],
                [
                    [
                        value,
                        p.privacy.mutual_information_bits.value,
                        p.privacy.share,
                        p.privacy.right_by_mle.value,
                        p.privacy.right_by_map.value,
                        p.privacy.by_chance,
                        p.information_loss,
                    ]
                    for (value, _, _), p in zip(settings[name], points, strict=True)
                ],
            )
            for name, points in curves.items()
        ],
        pictures=[render("curves", "Privacy and information loss of the one-step scheme", figure)],
        remarks=[
            f"With more bins guesses are right less often, as the paper proves. MLE under 1/(S₃k³) falls from {mle[0]:.2f} to "
            f"{mle[-1]:.3f}, MAP under the geometric from {by_map[0]:.2f} to {by_map[-1]:.3f}."
        ],
    )
