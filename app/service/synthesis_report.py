"""What a caller may ask of a synthesis, and the report that the answer comes with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from app.numerics.synthesis.mixed import MixedSynthesis
from app.numerics.synthesis.outcome import Separation
from app.service.mixed_tables import EncodedTable
from app.service.utility import DEFAULT_DISTANCE
from app.service.utility_report import MeasuredLeakage, UtilityReport


class MethodName(StrEnum):
    """The methods, as callers name them."""

    PRIMP = "primp"
    HYBRID = "hybrid"
    CHOLESKY = "cholesky"
    LHS = "lhs"
    NORMAL = "normal"


@dataclass(frozen=True)
class Wishes:
    """What a caller may say about a synthesis."""

    rows: int | None = None
    components: int | None = None
    seed: int | None = None
    enforce_types: bool = True
    target: str | None = None
    distance: float = DEFAULT_DISTANCE


@dataclass(frozen=True)
class LeakageReport:
    """The number of records that the permutations put together again: an upper bound for the hybrid.

    where:
        mass  probability of 0, 1, 2 … leaked records
    """

    records: int
    components: int
    rows: int
    risk: float
    mean: float
    variance: float
    mass: list[float]


@dataclass(frozen=True)
class SynthesisReport:
    """How a synthetic table came about and what it is worth.

    where:
        left_out      columns that tell people apart and are not in the answer, with the reason
        rank          directions in which the columns vary
        control       the same method on half of the records, judged against the other half
        notes         every fallback that was taken, in words
    """

    method: str
    seed: int
    records: int
    rows: int
    numeric: list[str]
    categorical: list[str]
    constant: list[str]
    empty: list[str]
    left_out: dict[str, str]
    enforce_types: bool
    missing_patterns: int
    rank: int
    separation: Separation | None
    leakage: LeakageReport | None
    control: MeasuredLeakage | None
    utility: UtilityReport
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MethodComparison:
    """One method of a comparison: its report, or why it cannot be used on this table."""

    method: str
    report: SynthesisReport | None
    problem: str | None


def constant_columns(original: EncodedTable) -> list[str]:
    """The columns with one value only."""
    cells = original.cells
    numbers = [
        name
        for name, values in zip(original.numbers, cells.numeric.T, strict=True)
        if np.nanmax(values) == np.nanmin(values)
    ]
    texts = [
        name for name, known in zip(original.texts, cells.categories, strict=True) if known == 1
    ]
    return numbers + texts


def fallbacks(
    original: EncodedTable,
    made: MixedSynthesis,
    method: MethodName,
    wishes: Wishes,
    left_out: dict[str, str],
    empty: list[str],
) -> list[str]:
    """Everything that was done otherwise than a caller may expect, in words."""
    notes = []
    if left_out:
        notes.append(f"Left out because they tell people apart: {', '.join(left_out)}.")
    if empty:
        notes.append(f"Returned without values, as they came: {', '.join(empty)}.")
    width = len(original.names)
    rank = made.rank
    if rank < width:
        notes.append(
            f"The {width} columns vary in {rank} directions; constant and collinear columns, or fewer "
            "records than columns, were reproduced at that rank."
        )
    if made.missing_patterns > 1:
        notes.append(
            f"Missing cells were reproduced by their {made.missing_patterns} joint patterns."
        )
    separation = made.outcome.separation
    if separation is not None:
        if not separation.converged:
            notes.append(
                f"The search for independent components did not converge in {separation.iterations} "
                "passes; the components are uncorrelated but perhaps not independent."
            )
        if wishes.components is not None and wishes.components > separation.components:
            notes.append(
                f"{wishes.components} components were asked for; there are {separation.components} "
                "directions, so as many were used."
            )
        if separation.variance_kept < 1 - 1e-9:
            notes.append(
                f"{separation.components} components hold {separation.variance_kept:.1%} of the variance; "
                "the rest is not in the synthetic table."
            )
    elif wishes.components is not None:
        notes.append(f"{method.value} has no components; the parameter was not used.")
    if wishes.enforce_types and method in (MethodName.HYBRID, MethodName.CHOLESKY):
        notes.append(
            "Bounds and rounding were enforced, which moves the covariance from the exact one; "
            "enforce_types=false keeps it."
        )
    rare = sum(
        int((np.bincount(codes[codes >= 0], minlength=known) == 1).sum())
        for codes, known in zip(original.cells.codes.T, original.cells.categories, strict=True)
    )
    if rare:
        notes.append(
            f"{rare} categories are held by a single record each; their names are in the synthetic table."
        )
    return notes
