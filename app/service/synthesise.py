"""A synthetic table for a table: by one method with its report, or by all of them side by side."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pyarrow as pa

from app.errors import DomainError, InvalidParameter, InvalidTable
from app.model import Limits
from app.numerics.leakage import leakage, mass_function
from app.numerics.synthesis.methods import METHODS
from app.numerics.synthesis.mixed import MixedSynthesis, synthesised
from app.numerics.synthesis.outcome import Separation
from app.numerics.tables import MixedTable
from app.service.mixed_tables import (
    EncodedTable,
    decoded,
    empty_columns,
    encoded,
    identifiers,
)
from app.service.utility import (
    DEFAULT_DISTANCE,
    Compared,
    MeasuredLeakage,
    UtilityReport,
    measure_utility,
    measured_leakage,
)

CONTROL_RECORDS = 10_000
"""The control splits at most so many records into those synthesised from and those held out."""

FEWEST_CONTROL_RECORDS = 20

LARGEST_SEED = 2**53 - 1
"""Seeds are integers that every JSON reader keeps exactly."""


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
class Synthetic:
    """The answer to a request for a synthetic table."""

    table: pa.Table
    report: SynthesisReport


@dataclass(frozen=True)
class MethodComparison:
    """One method of a comparison: its report, or why it cannot be used on this table."""

    method: str
    report: SynthesisReport | None
    problem: str | None


def synthesise(table: pa.Table, method: MethodName, wishes: Wishes, limits: Limits) -> Synthetic:
    """A synthetic table with the columns of `table`, but for those that tell people apart.

    Columns without values come back without values. InvalidTable where no column is left or the
    method cannot use the table, InvalidParameter for wishes it cannot fulfil.
    """
    seed = secrets.randbelow(LARGEST_SEED) if wishes.seed is None else wishes.seed
    rng = np.random.default_rng(seed)
    rows = _rows(wishes.rows, table.num_rows, limits)
    left_out = identifiers(table, limits)
    empty = empty_columns(table)
    used = [name for name in table.column_names if name not in left_out and name not in empty]
    if not used:
        raise InvalidTable(
            "No column can be synthesised: each one tells people apart or has no values",
            left_out=sorted(left_out),
            empty=empty,
        )
    if wishes.components is not None and not 2 <= wishes.components <= len(used):
        raise InvalidParameter(
            "The number of components must be at least 2 and at most the number of columns.",
            parameter="components",
            least=2,
            most=len(used),
        )
    original = encoded(table, used)
    made = synthesised(
        original.cells,
        METHODS[method],
        rng,
        rows=rows,
        components=wishes.components,
        enforce=wishes.enforce_types,
    )
    released = EncodedTable(made.table, original.numbers, original.texts, original.vocabularies)
    report = SynthesisReport(
        method=method.value,
        seed=seed,
        records=table.num_rows,
        rows=rows,
        numeric=list(original.numbers),
        categorical=list(original.texts),
        constant=_constant(original),
        empty=empty,
        left_out=left_out,
        enforce_types=wishes.enforce_types,
        missing_patterns=made.missing_patterns,
        rank=made.rank,
        separation=made.outcome.separation,
        leakage=_leakage(made, table.num_rows, rows),
        control=_control(original, method, wishes, rng),
        utility=measure_utility(
            Compared(original, released, None, [*left_out, *empty], []),
            target=wishes.target,
            distance=wishes.distance,
            seed=seed,
        ),
        notes=_notes(original, made, method, wishes, left_out, empty),
    )
    names = [name for name in table.column_names if name not in left_out]
    return Synthetic(decoded(made.table, original, names), report)


def compare_methods(table: pa.Table, wishes: Wishes, limits: Limits) -> list[MethodComparison]:
    """Every method on one table, from the same seed; a method that refuses says why."""
    seed = secrets.randbelow(LARGEST_SEED) if wishes.seed is None else wishes.seed
    same = Wishes(
        wishes.rows, wishes.components, seed, wishes.enforce_types, wishes.target, wishes.distance
    )
    found = []
    for method in MethodName:
        try:
            made = synthesise(table, method, same, limits)
        except DomainError as refused:
            found.append(MethodComparison(method.value, None, refused.detail))
        else:
            found.append(MethodComparison(method.value, made.report, None))
    return found


def expected_leakage(
    records: int, components: int, rows: int | None = None, *, most: int = 10
) -> LeakageReport:
    """What PRIMP leaks by chance [hsu2008, theorems 1 and 2]."""
    found = leakage(records, components, rows)
    mass = mass_function(records, components, rows, most=most)
    return LeakageReport(
        records,
        components,
        rows or records,
        found.risk,
        found.mean,
        found.variance,
        mass.tolist(),
    )


def _rows(wished: int | None, records: int, limits: Limits) -> int:
    rows = records if wished is None else wished
    if not 1 <= rows <= limits.stateless_rows:
        raise InvalidParameter(
            f"rows must be at least 1 and at most {limits.stateless_rows}",
            parameter="rows",
            least=1,
            most=limits.stateless_rows,
        )
    return rows


def _leakage(made: MixedSynthesis, records: int, rows: int) -> LeakageReport | None:
    permuted = made.permuted
    return None if permuted is None else expected_leakage(records, permuted, rows)


def _control(
    original: EncodedTable, method: MethodName, wishes: Wishes, rng: np.random.Generator
) -> MeasuredLeakage | None:
    """The method on one half of the records, its output against both halves.

    None for a table too small to halve, or whose half the method cannot use.
    """
    cells = original.cells
    order = rng.permutation(cells.records)[:CONTROL_RECORDS]
    if order.size < FEWEST_CONTROL_RECORDS:
        return None
    used, held_out = (cells.taken(half) for half in np.array_split(order, 2))
    try:
        made = synthesised(
            used, METHODS[method], rng, components=wishes.components, enforce=wishes.enforce_types
        )
    except DomainError:
        return None

    def as_table(half: MixedTable) -> EncodedTable:
        return EncodedTable(half, original.numbers, original.texts, original.vocabularies)

    tables = Compared(as_table(used), as_table(made.table), as_table(held_out), [], [])
    return measured_leakage(tables, wishes.distance, rng)


def _constant(original: EncodedTable) -> list[str]:
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


def _notes(
    original: EncodedTable,
    made: MixedSynthesis,
    method: MethodName,
    wishes: Wishes,
    left_out: dict[str, str],
    empty: list[str],
) -> list[str]:
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
