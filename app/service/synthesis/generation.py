"""Generation of synthetic records by any method, in consecutive tables, with figures for the report.

What was done otherwise than a principal may expect is said in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter
from app.numerics.synthesis.components import Separation
from app.numerics.synthesis.methods import METHODS, hybrid, primp
from app.numerics.synthesis.mixed import synthesised
from app.numerics.synthesis.stratified.recipe import Decoupler, Recipe, drawn, recipe
from app.numerics.synthesis.stratified.strata import default_least
from app.numerics.tables import MixedTable
from app.service.synthesis.report import InnerName, MethodName, StrataReport, SynthesisParams
from app.tables.arrays.mixed import EncodedTable
from app.tables.identifiers import left_out_note

LEAST_WITHOUT_WORD = 20
"""A stratum of fewer originals needs the principal's word that the risk is accepted."""

INNER: dict[InnerName, Decoupler] = {InnerName.HYBRID: hybrid, InnerName.PRIMP: primp}


@dataclass(frozen=True)
class GeneratedRows:
    """Synthetic records and what their method found.

    where:
        first   the records, or of many the first ones
        rest    the tables after it, made as they are asked for
        permuted  records, components and rows of each table that was permuted, none where nothing is
    """

    first: MixedTable
    rest: Iterator[MixedTable]
    rank: int
    missing_patterns: int
    separation: Separation | None
    strata: StrataReport | None
    permuted: list[tuple[int, int, int]]


def make(
    original: EncodedTable,
    method: MethodName,
    params: SynthesisParams,
    rows: int,
    rng: np.random.Generator,
) -> GeneratedRows:
    """`rows` synthetic records. Fails as the method does; InvalidParameter for strata that are too small."""
    cells = original.cells
    if method is MethodName.STRATIFIED:
        return _stratified(original, params, rows, rng)
    made = synthesised(
        cells,
        METHODS[method],
        rng,
        rows=rows,
        components=params.components,
        enforce=params.enforce_types,
    )
    permuted = made.permuted
    return GeneratedRows(
        made.table,
        iter(()),
        made.rank,
        made.missing_patterns,
        made.outcome.separation,
        None,
        [] if permuted is None else [(cells.records, permuted, rows)],
    )


def _stratified(
    original: EncodedTable, params: SynthesisParams, rows: int, rng: np.random.Generator
) -> GeneratedRows:
    cells = original.cells
    least = params.stratum_records or default_least(len(original.names))
    if least < 2 or (least < LEAST_WITHOUT_WORD and not params.accept_risk):
        raise InvalidParameter(
            f"Strata of fewer than {LEAST_WITHOUT_WORD} records give them away; say accept_risk=true "
            "to have them all the same. Two records are the least.",
            parameter="stratum_records",
            least=LEAST_WITHOUT_WORD,
        )
    made = recipe(cells, INNER[params.inner], rng, least=least, enforce=params.enforce_types)
    tables = drawn(made, rows, rng)
    return GeneratedRows(
        next(tables),
        tables,
        made.directions,
        len(made.table.patterns),
        None,
        _strata_report(made, original, params.inner, least),
        _permuted_parts(made, rows),
    )


def _permuted_parts(made: Recipe, rows: int) -> list[tuple[int, int, int]]:
    """Records, components and rows of each stratum; its rows are its share of `rows`, rounded up."""
    records = len(made.table.values)
    return [
        (size, stratum.permuted, -(-rows * size // records))
        for stratum in made.strata
        for size in [len(stratum.records)]
    ]


def _strata_report(
    made: Recipe, original: EncodedTable, inner: InnerName, least: int
) -> StrataReport:
    names = made.bundled.names(original.names)
    identities = []
    for each in made.table.identities:
        parts = [f"{weight:g}·{names[column]}" for column, weight in each.weights]
        parts += [f"{each.constant:g}"] if each.constant else []
        identities.append(f"{names[each.total]} = {' + '.join(parts)}")
    return StrataReport(
        inner.value,
        len(made.strata),
        least,
        min(len(stratum.records) for stratum in made.strata),
        min(stratum.permuted for stratum in made.strata),
        made.difference,
        [names[made.table.kept[column]] for column in made.redrawn],
        identities,
        [f"{names[each.by]} → {names[each.determined]}" for each in made.table.dependencies],
        [[original.names[column] for column in each.columns] for each in made.bundled.bundles],
        [[names[made.table.kept[column]] for column in pair] for pair in made.equalities],
        [names[made.table.kept[column]] for column in made.repaired],
    )


def fallbacks(
    original: EncodedTable,
    made: GeneratedRows,
    method: MethodName,
    params: SynthesisParams,
    left_out: dict[str, str],
    empty: list[str],
) -> list[str]:
    """Everything that was done otherwise than a principal may expect, in words."""
    notes = []
    if left_out:
        notes.append(left_out_note(left_out))
    if empty:
        notes.append(f"Returned without values, as they came: {', '.join(empty)}.")
    width = len(original.names) - _computed(made)
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
    separation = made.separation
    if separation is not None:
        if not separation.converged:
            notes.append(
                f"The search for independent components did not converge in {separation.iterations} "
                "passes; the components are uncorrelated but perhaps not independent."
            )
        if params.components is not None and params.components > separation.components:
            notes.append(
                f"{params.components} components were asked for; there are {separation.components} "
                "directions, so as many were used."
            )
        if separation.variance_kept < 1 - 1e-9:
            notes.append(
                f"{separation.components} components hold {separation.variance_kept:.1%} of the variance; "
                "the rest is not in the synthetic table."
            )
    elif params.components is not None:
        notes.append(f"{method.value} has no components; the parameter was not used.")
    if params.enforce_types and method in (MethodName.HYBRID, MethodName.CHOLESKY):
        notes.append(
            "Bounds and rounding were enforced, which moves the covariance from the exact one; "
            "enforce_types=false keeps it."
        )
    if made.strata is not None:
        notes += _strata_notes(made.strata)
    rare = sum(
        int((np.bincount(codes[codes >= 0], minlength=known) == 1).sum())
        for codes, known in zip(original.cells.codes.T, original.cells.categories, strict=True)
    )
    if rare:
        notes.append(
            f"{rare} categories are held by a single record each; their names are in the synthetic table."
        )
    return notes


def _computed(made: GeneratedRows) -> int:
    """Columns that take no part of their own in the synthesis."""
    if made.strata is None:
        return 0
    tied = sum(len(columns) - 1 for columns in made.strata.bundles)
    return len(made.strata.identities) + len(made.strata.dependencies) + tied


def _strata_notes(strata: StrataReport) -> list[str]:
    notes = []
    if strata.count == 1:
        notes.append(
            "There is one stratum: trees found no difference that a division would mend, or there "
            "are too few records to divide."
        )
    if strata.identities:
        notes.append(f"Computed back from other columns: {'; '.join(strata.identities)}.")
    if strata.dependencies:
        notes.append(
            f"Looked up, since another column determines them: {'; '.join(strata.dependencies)}."
        )
    notes += [
        f"Synthesised as one category, since they repeat together: {', '.join(columns)}."
        for columns in strata.bundles
    ]
    notes += [
        f"Equal in as many records as in the original: {' and '.join(pair)}."
        for pair in strata.equalities
    ]
    return notes
