"""A synthetic table for a table: by one method with its report, or by all of them side by side."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from app.errors import DomainError, InvalidParameter, InvalidTable
from app.model import Limits
from app.numerics.leakage import leakage, mass_function
from app.numerics.synthesis.methods import METHODS
from app.numerics.synthesis.mixed import MixedSynthesis, synthesised
from app.numerics.tables import MixedTable
from app.service.mixed_tables import (
    EncodedTable,
    decoded,
    empty_columns,
    encoded,
    identifiers,
)
from app.service.synthesis_report import (
    LeakageReport,
    MethodComparison,
    MethodName,
    SynthesisReport,
    Wishes,
    constant_columns,
    fallbacks,
)
from app.service.utility import Compared, measure_utility, measured_leakage
from app.service.utility_report import MeasuredLeakage

CONTROL_RECORDS = 10_000
"""The control splits at most so many records into those synthesised from and those held out."""

FEWEST_CONTROL_RECORDS = 20

LARGEST_SEED = 2**53 - 1
"""Seeds are integers that every JSON reader keeps exactly."""


@dataclass(frozen=True)
class Synthetic:
    """The answer to a request for a synthetic table."""

    table: pa.Table
    report: SynthesisReport


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
        constant=constant_columns(original),
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
        notes=fallbacks(original, made, method, wishes, left_out, empty),
    )
    names = [name for name in table.column_names if name not in left_out]
    return Synthetic(decoded(made.table, original, names), report)


def compare_methods(table: pa.Table, wishes: Wishes, limits: Limits) -> list[MethodComparison]:
    """Every method on one table, from the same seed; a method that refuses says why."""
    seed = secrets.randbelow(LARGEST_SEED) if wishes.seed is None else wishes.seed
    same = replace(wishes, seed=seed)
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
