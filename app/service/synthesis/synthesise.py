"""Synthesise a table by one method with its report, or compare all methods and recommend one.

A method is judged by records it has not seen: made from one half of the table, measured on the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from app.errors import DomainError, InvalidParameter, InvalidTable
from app.model import Limits
from app.numerics.arrays import FloatArray
from app.numerics.cancellation import cancellable
from app.numerics.synthesis.leakage import (
    joint_leakage,
    joint_mass_function,
    leakage,
    mass_function,
)
from app.numerics.synthesis.stratified.strata import discriminate
from app.numerics.tables import MixedTable
from app.numerics.utility.prediction import train_on_each
from app.service.context import seed_or_new
from app.service.progress import NO_PROGRESS, SCALE, Progress
from app.service.synthesis.generation import GeneratedRows, fallbacks, make
from app.service.synthesis.report import (
    LeakageReport,
    MethodAssessment,
    MethodComparison,
    MethodName,
    SynthesisComparison,
    SynthesisParams,
    SynthesisReport,
)
from app.service.synthesis.utility import AlignedTables, measure_utility, measured_leakage, place_of
from app.service.synthesis.utility_report import MeasuredLeakage
from app.tables.arrays.mixed import EncodedTable, decoded, empty_columns, encoded
from app.tables.identifiers import without_identifiers

MOST_LEAKED = 10
"""Up to how many leaked records a report tells the probability."""

MOST_STREAMED_ROWS = 10**9
"""Rows that are made as they leave take no memory, only time."""

CONTROL_RECORDS = 10_000
"""Records that the control splits into training and held-out ones, at most."""

FEWEST_CONTROL_RECORDS = 20


@dataclass(frozen=True)
class Synthetic:
    """The answer to a request for a synthetic table: further rows are made as they are asked for, once."""

    first: pa.Table
    rest: Iterator[pa.Table]
    report: SynthesisReport


def synthesise(
    table: pa.Table,
    method: MethodName,
    params: SynthesisParams,
    limits: Limits,
    progress: Progress = NO_PROGRESS,
) -> Synthetic:
    """A synthetic table with the columns of `table`, without its identifiers.

    Columns without values come back without values. InvalidTable where no column is left or the
    method cannot use the table, InvalidParameter for params it cannot fulfil.
    """
    seed = seed_or_new(params.seed)
    rng = np.random.default_rng(seed)
    rows = _rows(params.rows, table.num_rows, method, limits)
    table, left_out = without_identifiers(table, limits, params.keep)
    empty = empty_columns(table)
    used = [name for name in table.column_names if name not in empty]
    if not used:
        raise InvalidTable(
            "No column can be synthesised: each one is an identifier or has no values; name those in `keep`"
            " that shall be synthesised all the same",
            left_out=sorted(left_out),
            empty=empty,
        )
    if params.components is not None and not 2 <= params.components <= len(used):
        raise InvalidParameter(
            "The number of components must be at least 2 and at most the number of columns.",
            parameter="components",
            least=2,
            most=len(used),
        )
    progress.report(f"{method.value}: reading columns", 0, SCALE)
    original = encoded(table, used)
    with cancellable(progress.raise_if_cancelled):
        progress.report(f"{method.value}: making rows", 50, SCALE)
        made = make(original, method, params, rows, rng)
        released = replace(original, cells=made.first)
        progress.report(f"{method.value}: judging by records not seen", 450, SCALE)
        control, standing = judged(original, method, params, rng)
        utility = measure_utility(
            AlignedTables(original, released, None, [*left_out, *empty], []),
            target=params.target,
            distance=params.distance,
            seed=seed,
            progress=progress.subrange(700, 950),
        )
    report = SynthesisReport(
        method=method.value,
        seed=seed,
        records=table.num_rows,
        rows=rows,
        numeric=list(original.numbers),
        categorical=list(original.texts),
        constant=_constant_columns(original),
        empty=empty,
        left_out=left_out,
        enforce_types=params.enforce_types,
        missing_patterns=made.missing_patterns,
        rank=made.rank,
        separation=made.separation,
        leakage=_leakage(made, table.num_rows, rows),
        control=control,
        standing=standing,
        strata=made.strata,
        utility=utility,
        notes=fallbacks(original, made, method, params, left_out, empty),
    )
    progress.report(f"{method.value}: writing rows", 950, SCALE)
    return _synthetic(made, original, table.column_names, params, report)


def _synthetic(
    made: GeneratedRows,
    original: EncodedTable,
    names: Sequence[str],
    params: SynthesisParams,
    report: SynthesisReport,
) -> Synthetic:
    first = decoded(made.first, original, names)
    if made.strata is None:
        return Synthetic(first, iter(()), report)
    # Tables that follow one another have one schema: that of the original, or doubles throughout.
    schema = decoded(original.cells, original, names).schema
    if not params.enforce_types:
        for place, name in enumerate(names):
            if name in original.numbers and name not in original.dates:
                schema = schema.set(place, pa.field(name, pa.float64()))
    return Synthetic(first.cast(schema), _rest(made, original, names, schema), report)


def _rest(
    made: GeneratedRows, original: EncodedTable, names: Sequence[str], schema: pa.Schema
) -> Iterator[pa.Table]:
    while True:
        cells = next(made.rest, None)
        if cells is None:
            return
        yield decoded(cells, original, names).cast(schema)


def expected_leakage(
    records: int, components: int, rows: int | None = None, *, most: int = MOST_LEAKED
) -> LeakageReport:
    """Expected leakage of PRIMP by chance [hsu2008, theorems 1 and 2]."""
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


def _rows(requested: int | None, records: int, method: MethodName, limits: Limits) -> int:
    rows = records if requested is None else requested
    most = MOST_STREAMED_ROWS if method is MethodName.STRATIFIED else limits.stateless_rows
    if not 1 <= rows <= most:
        raise InvalidParameter(
            f"The number of rows must be at least 1 and at most {most}.",
            parameter="rows",
            least=1,
            most=most,
        )
    return rows


def _leakage(made: GeneratedRows, records: int, rows: int) -> LeakageReport | None:
    if not made.permuted:
        return None
    found = joint_leakage(made.permuted)
    return LeakageReport(
        records,
        min(components for _, components, _ in made.permuted),
        rows,
        found.risk,
        found.mean,
        found.variance,
        joint_mass_function(made.permuted, most=min(MOST_LEAKED, rows)).tolist(),
    )


def _constant_columns(original: EncodedTable) -> list[str]:
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


MOST_MEMBERSHIP = 0.56
"""A method whose membership area is above this is recommended only where none is below."""


def compare_methods(
    table: pa.Table, params: SynthesisParams, limits: Limits, progress: Progress = NO_PROGRESS
) -> SynthesisComparison:
    """Every method on one table, from the same seed; a method that refuses says why."""
    seed = seed_or_new(params.seed)
    same = replace(params, seed=seed)
    found = []
    for number, method in enumerate(MethodName):
        first, last = (SCALE * at // len(MethodName) for at in (number, number + 1))
        try:
            made = synthesise(table, method, same, limits, progress.subrange(first, last))
        except DomainError as refused:
            found.append(MethodComparison(method.value, None, refused.detail))
        else:
            found.append(MethodComparison(method.value, made.report, None))
    return SynthesisComparison(*recommendation(found), found)


def recommendation(methods: Sequence[MethodComparison]) -> tuple[str | None, str]:
    """The method to take and why: hardest to tell from originals among those that do not point at members."""
    standings = {
        one.method: one.report.standing
        for one in methods
        if one.report is not None and one.report.standing is not None
    }
    if not standings:
        return None, "The table is too small to judge any method by records that it has not seen."
    safe = {name: one for name, one in standings.items() if _membership(one) <= MOST_MEMBERSHIP}
    if safe:
        best = min(safe, key=lambda name: safe[name].two_sample_area)
        return best, (
            f"Of the methods with a membership area of at most {MOST_MEMBERSHIP}, trees tell its rows "
            f"from held out records worst: {safe[best].two_sample_area:.2f}, where 0.5 is chance."
        )
    best = min(standings, key=lambda name: _membership(standings[name]))
    return best, (
        f"Every method points at the records it was made from; this one least, with a membership area "
        f"of {_membership(standings[best]):.2f}. Larger strata are safer."
    )


def _membership(one: MethodAssessment) -> float:
    return 1.0 if one.membership_area is None else one.membership_area


def judged(
    original: EncodedTable, method: MethodName, params: SynthesisParams, rng: np.random.Generator
) -> tuple[MeasuredLeakage | None, MethodAssessment | None]:
    """Return reappearing records of either half, and the assessment of the method.

    None for a table too small to halve, or whose half the method cannot use.
    """
    cells = original.cells
    order = rng.permutation(cells.records)[:CONTROL_RECORDS]
    if order.size < FEWEST_CONTROL_RECORDS:
        return None, None
    used, held_out = (replace(original, cells=cells.taken(h)) for h in np.array_split(order, 2))
    if used.cells.missing.all(axis=0).any():
        return None, None
    try:
        made = replace(used, cells=make(used, method, params, used.cells.records, rng).first)
    except DomainError:
        return None, None
    found = measured_leakage(AlignedTables(used, made, held_out, [], []), params.distance, rng)
    return found, _standing(used, made, held_out, found, params, rng)


def _standing(
    used: EncodedTable,
    made: EncodedTable,
    held_out: EncodedTable,
    found: MeasuredLeakage,
    params: SynthesisParams,
    rng: np.random.Generator,
) -> MethodAssessment:
    _, _, area = discriminate(_matrix(held_out.cells), _matrix(made.cells), np.empty((0, 0)), rng)
    target = params.target if params.target in used.names else used.names[-1]
    return MethodAssessment(
        area,
        found.membership_area,
        target,
        _model_utility(used, made, held_out, target, rng),
    )


def _model_utility(
    used: EncodedTable,
    made: EncodedTable,
    held_out: EncodedTable,
    target: str,
    rng: np.random.Generator,
) -> float | None:
    """The share of a model's score; None where the originals themselves cannot predict the target."""
    place = place_of(used, target)
    assert place is not None
    try:
        scores = train_on_each(used.cells, made.cells, held_out.cells, place, rng)
    except ValueError:
        return None
    if not scores.trained_on_original > scores.constant:
        return None
    return scores.trained_on_release / scores.trained_on_original


def _matrix(cells: MixedTable) -> FloatArray:
    return np.hstack([cells.numeric, np.where(cells.codes < 0, np.nan, cells.codes)])
