"""What was done otherwise than a caller may expect, in words."""

from __future__ import annotations

import numpy as np

from app.service.synthesis.making import Made
from app.service.synthesis.report import MethodName, StrataReport, Wishes
from app.tables.arrays.mixed import EncodedTable


def fallbacks(
    original: EncodedTable,
    made: Made,
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


def _computed(made: Made) -> int:
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
