"""Figures 1 to 4 of [huang2005]: correlations help an attacker, and shaped noise stops it.

The paper fixes the eigenvalues of the covariance, draws normal data and compares root mean squared errors. It prints neither the noise
variance nor the number of records. Noise of variance 25 and data of variance 100 fit the axes of figures 1 to 3. 1,000 records fit the left end
of figure 4, where data and noise have the same shape and sample correlations still differ by √(2/n) = 0.045. Figures 1 to 3 use 4,000. With
1,000 and small eigenvalues of 1, estimating the covariance costs BE-DR more than it gains over PCA-DR, which figure 3 reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from app.numerics.arrays import FloatArray
from app.numerics.attacks.battery import Attack, Evidence, Options, reconstruction
from app.numerics.attacks.closed_forms import correlation_dissimilarity
from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.evidence import partial_knowledge
from papers.experiment import Cell, Experiment, Picture, Result, Table, render

RECORDS = 4000
FEW_RECORDS = 1000
DATA_VARIANCE = 100.0
NOISE_VARIANCE = 25.0
SMALL_EIGENVALUE = 6.0
"""Eigenvalue of the non-principal directions in figures 1, 2 and 4."""

LABELS = {
    Attack.UDR: "UDR",
    Attack.SF: "SF",
    Attack.PCA_DR: "PCA-DR",
    Attack.BE_DR: "BE-DR",
}


@dataclass(frozen=True)
class Curves:
    """Mean errors of the schemes (rows as in `schemes`) along an axis."""

    axis: FloatArray
    schemes: Sequence[Attack]
    errors: FloatArray

    def of(self, attack: Attack) -> FloatArray:
        curve: FloatArray = self.errors[list(self.schemes).index(attack)]
        return curve


def eigenvalues_of(d: int, principal: int, small: float) -> FloatArray:
    """`principal` large eigenvalues and small ones, with DATA_VARIANCE per attribute (eq. 12)."""
    large = (DATA_VARIANCE * d - small * (d - principal)) / principal
    return np.repeat([large, small], [principal, d - principal])


def errors_of(
    schemes: Sequence[Attack],
    eigenvalues: FloatArray,
    noise_eigenvalues: FloatArray,
    records: int,
    rng: np.random.Generator,
) -> tuple[list[float], float]:
    """Root mean squared error of each scheme on one table, and its dissimilarity.

    Data and noise share their directions, as in section 8.2; equal noise eigenvalues are independent noise.
    """
    d = len(eigenvalues)
    directions, _ = np.linalg.qr(rng.normal(size=(d, d)))
    x = (rng.normal(size=(records, d)) * np.sqrt(eigenvalues)) @ directions.T
    noise = (rng.normal(size=(records, d)) * np.sqrt(noise_eigenvalues)) @ directions.T
    observation = Observation(x + noise, (directions * noise_eigenvalues) @ directions.T)
    evidence = Evidence(observation, partial_knowledge(observation))
    errors = [
        float(np.sqrt(np.mean((reconstruction(scheme, evidence, Options(), rng) - x) ** 2)))
        for scheme in schemes
    ]
    covariances = np.cov(x, rowvar=False), np.cov(noise, rowvar=False)
    return errors, correlation_dissimilarity(*covariances)


def averaged(
    schemes: Sequence[Attack],
    axis: Sequence[float],
    spectra: Callable[[float], tuple[FloatArray, FloatArray]],
    *,
    records: int,
    repeats: int,
    seed: int,
) -> tuple[Curves, FloatArray]:
    """Curves over the axis, each point the mean of `repeats` tables, and their dissimilarities."""
    rng = np.random.default_rng(seed)
    errors = np.empty((len(schemes), len(axis)))
    dissimilarities = np.empty(len(axis))
    for i, point in enumerate(axis):
        runs = [errors_of(schemes, *spectra(point), records, rng) for _ in range(repeats)]
        errors[:, i] = np.mean([run[0] for run in runs], axis=0)
        dissimilarities[i] = np.mean([run[1] for run in runs])
    return Curves(np.array(axis, dtype=float), schemes, errors), dissimilarities


def crossing(axis: FloatArray, curve: FloatArray, other: FloatArray) -> float:
    """Where `curve` first rises above `other`, by interpolation; NaN if never."""
    above = curve > other
    if above[0] or not above.any():
        return float(axis[0]) if above[0] else float("nan")
    i = int(np.argmax(above))
    before, after = other[i - 1] - curve[i - 1], curve[i] - other[i]
    return float(axis[i - 1] + (axis[i] - axis[i - 1]) * before / (before + after))


def picture(
    name: str, caption: str, curves: Curves, xlabel: str, line: float | None = None
) -> Picture:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for scheme, marker in zip(curves.schemes, "osD^", strict=False):
        axes.plot(curves.axis, curves.of(scheme), marker=marker, ms=4, lw=1.2, label=LABELS[scheme])
    if line is not None:
        axes.axvline(line, color="grey", lw=0.8, ls="--")
        axes.text(
            line, 0.03, " independent noise", fontsize=8, transform=axes.get_xaxis_transform()
        )
    axes.set(xlabel=xlabel, ylabel="root mean squared error")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return render(name, caption, figure)


def table(caption: str, first: str, curves: Curves) -> Table:
    rows: list[list[Cell]] = [
        [float(point), *map(float, curves.errors[:, i])] for i, point in enumerate(curves.axis)
    ]
    return Table(caption, [first, *(LABELS[scheme] for scheme in curves.schemes)], rows)


def common_numbers(curves: Curves) -> dict[str, float]:
    """Numbers of every figure: the excess of BE-DR over PCA-DR and SF, and the shape of each curve."""
    best = curves.of(Attack.BE_DR)
    excess = max(np.max(best - curves.of(scheme)) for scheme in (Attack.SF, Attack.PCA_DR))
    numbers = {"be-dr above pca-dr or sf": float(excess)}
    for scheme in curves.schemes:
        curve = curves.of(scheme)
        numbers[f"{scheme} first"], numbers[f"{scheme} last"] = float(curve[0]), float(curve[-1])
        numbers[f"{scheme} spread"] = float(np.ptp(curve) / curve.mean())
        steps = np.diff(curve)
        numbers[f"{scheme} largest rise"] = float(steps.max())
        numbers[f"{scheme} largest fall"] = float(-steps.min())
    return numbers


def settings(repeats: int, records: int = RECORDS) -> dict[str, Cell]:
    return {"records": records, "noise variance": NOISE_VARIANCE, "tables per point": repeats}


def best_remark(numbers: dict[str, float]) -> str:
    excess = numbers["be-dr above pca-dr or sf"]
    verdict = (
        "at or below PCA-DR and SF everywhere" if excess <= 0 else "not always below PCA-DR and SF"
    )
    return f"BE-DR is {verdict} (largest difference {excess:+.2g})."


SCHEMES = (Attack.UDR, Attack.SF, Attack.PCA_DR, Attack.BE_DR)


def more_attributes(quick: bool, seed: int) -> Result:
    """Figure 1: five principal components among a growing number of attributes."""
    axis = (5, 30, 100) if quick else (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    repeats = 1 if quick else 5

    def spectra(d: float) -> tuple[FloatArray, FloatArray]:
        return eigenvalues_of(int(d), 5, SMALL_EIGENVALUE), np.full(int(d), NOISE_VARIANCE)

    curves, _ = averaged(SCHEMES, axis, spectra, records=RECORDS, repeats=repeats, seed=seed)
    numbers = common_numbers(curves)
    caption = "Figure 1: error against the number of attributes, p = 5"
    return Result(
        numbers,
        settings(repeats) | {"small eigenvalues": SMALL_EIGENVALUE},
        [table(caption, "attributes", curves)],
        [picture("attributes", caption, curves, "number of attributes")],
        [
            f"UDR moves by {numbers['udr spread']:.1%} of its mean over the axis; BE-DR falls from"
            f" {numbers['be-dr first']:.2f} to {numbers['be-dr last']:.2f}.",
            best_remark(numbers),
        ],
    )


def more_principal_components(quick: bool, seed: int) -> Result:
    """Figure 2: a growing number of principal components among 100 attributes."""
    axis = (5, 40, 100) if quick else (2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    repeats = 1 if quick else 4

    def spectra(p: float) -> tuple[FloatArray, FloatArray]:
        return eigenvalues_of(100, int(p), SMALL_EIGENVALUE), np.full(100, NOISE_VARIANCE)

    curves, _ = averaged(SCHEMES, axis, spectra, records=RECORDS, repeats=repeats, seed=seed)
    numbers = common_numbers(curves)
    caption = "Figure 2: error against the number of principal components, 100 attributes"
    return Result(
        numbers,
        settings(repeats) | {"small eigenvalues": SMALL_EIGENVALUE},
        [table(caption, "principal components", curves)],
        [picture("components", caption, curves, "number of principal components")],
        [
            f"BE-DR rises from {numbers['be-dr first']:.2f} to {numbers['be-dr last']:.2f}, where UDR"
            f" is {numbers['udr last']:.2f}: without correlations it has nothing to gain.",
            best_remark(numbers),
        ],
    )


def larger_small_eigenvalues(quick: bool, seed: int) -> Result:
    """Figure 3: growing non-principal eigenvalues; λ = 400 as printed."""
    axis = (1, 12, 20, 50) if quick else (1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
    repeats = 1 if quick else 4

    def spectra(small: float) -> tuple[FloatArray, FloatArray]:
        return np.repeat([400.0, small], [20, 80]), np.full(100, NOISE_VARIANCE)

    curves, _ = averaged(SCHEMES, axis, spectra, records=RECORDS, repeats=repeats, seed=seed)
    numbers = common_numbers(curves)
    for scheme in (Attack.PCA_DR, Attack.SF, Attack.BE_DR):
        numbers[f"{scheme} crosses udr at"] = crossing(
            curves.axis, curves.of(scheme), curves.of(Attack.UDR)
        )
    few, _ = averaged(SCHEMES[2:], (1.0,), spectra, records=FEW_RECORDS, repeats=repeats, seed=seed)
    numbers["be-dr above pca-dr with few records"] = float(few.errors[1, 0] - few.errors[0, 0])
    caption = "Figure 3: error against the eigenvalues that are not principal"
    return Result(
        numbers,
        settings(repeats) | {"principal eigenvalues": 400.0, "principal components": 20},
        [table(caption, "small eigenvalues", curves)],
        [picture("eigenvalues", caption, curves, "eigenvalues that are not principal")],
        [
            f"PCA-DR rises above UDR at {numbers['pca-dr crosses udr at']:.1f}, SF at"
            f" {numbers['sf crosses udr at']:.1f}; BE-DR"
            f" {'never does' if np.isnan(numbers['be-dr crosses udr at']) else 'does too'}.",
            best_remark(numbers),
            f"With {FEW_RECORDS} records and small eigenvalues of 1, BE-DR less PCA-DR is"
            f" {numbers['be-dr above pca-dr with few records']:+.3f}: the price of estimating a"
            " covariance of 100 attributes.",
        ],
    )


def noise_unlike_the_data(quick: bool, seed: int) -> Result:
    """Figure 4: noise from the shape of the data to its opposite at equal power."""
    shares = (0.0, 0.5, 1.0, 1.5, 1.9) if quick else tuple(np.linspace(0, 1.9, 13))
    repeats = 1 if quick else 5
    schemes = (Attack.SF, Attack.PCA_DR, Attack.BE_DR)
    eigenvalues = eigenvalues_of(100, 50, SMALL_EIGENVALUE)
    like_the_data = NOISE_VARIANCE / DATA_VARIANCE * eigenvalues

    def spectra(share: float) -> tuple[FloatArray, FloatArray]:
        """0: the shape of the data; 1: independent; 2: mirror image of the first."""
        return eigenvalues, like_the_data + share * (NOISE_VARIANCE - like_the_data)

    curves, dissimilarities = averaged(
        schemes, shares, spectra, records=FEW_RECORDS, repeats=repeats, seed=seed
    )
    curves = Curves(dissimilarities, schemes, curves.errors)
    numbers = common_numbers(curves)
    independent = float(np.interp(1.0, shares, dissimilarities))
    numbers |= {
        "dissimilarity first": float(dissimilarities[0]),
        "dissimilarity of independent noise": independent,
        "dissimilarity last": float(dissimilarities[-1]),
    }
    for scheme in schemes:
        numbers[f"{scheme} worst at"] = float(dissimilarities[np.argmax(curves.of(scheme))])
        numbers[f"{scheme} under independent noise"] = float(
            np.interp(independent, dissimilarities, curves.of(scheme))
        )
    caption = "Figure 4: error against the correlation dissimilarity of data and noise"
    return Result(
        numbers,
        settings(repeats, FEW_RECORDS)
        | {"principal components": 50, "small eigenvalues": SMALL_EIGENVALUE},
        [table(caption, "dissimilarity", curves)],
        [picture("dissimilarity", caption, curves, "correlation dissimilarity", independent)],
        [
            f"BE-DR does worst at dissimilarity {numbers['be-dr worst at']:.3f} (the smallest is"
            f" {numbers['dissimilarity first']:.3f}), PCA-DR at {numbers['pca-dr worst at']:.3f}.",
            f"Independent noise lies at {independent:.3f}, where the figure draws its line: the"
            " dissimilarity of definition 8.1 has the root.",
            best_remark(numbers),
        ],
    )


EXPERIMENTS = (
    Experiment("figure1", "More attributes, the same principal components", more_attributes),
    Experiment("figure2", "More principal components", more_principal_components),
    Experiment("figure3", "Larger eigenvalues off the principal", larger_small_eigenvalues),
    Experiment("figure4", "Noise shaped like the data", noise_unlike_the_data),
)
