"""A method judged by records it has not seen: made from one half of the table, measured on the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.errors import DomainError
from app.numerics.arrays import FloatArray
from app.numerics.synthesis.stratified.strata import told_apart
from app.numerics.tables import MixedTable
from app.numerics.utility.prediction import train_on_each
from app.service.synthesis.making import make
from app.service.synthesis.report import MethodName, Standing, Wishes
from app.service.synthesis.utility import Compared, measured_leakage, place_of
from app.service.synthesis.utility_report import MeasuredLeakage
from app.tables.arrays.mixed import EncodedTable

CONTROL_RECORDS = 10_000
"""The control splits at most so many records into those synthesised from and those held out."""

FEWEST_CONTROL_RECORDS = 20


def judged(
    original: EncodedTable, method: MethodName, wishes: Wishes, rng: np.random.Generator
) -> tuple[MeasuredLeakage | None, Standing | None]:
    """What reappears of either half, and where the method stands.

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
        made = replace(used, cells=make(used, method, wishes, used.cells.records, rng).first)
    except DomainError:
        return None, None
    found = measured_leakage(Compared(used, made, held_out, [], []), wishes.distance, rng)
    return found, _standing(used, made, held_out, found, wishes, rng)


def _standing(
    used: EncodedTable,
    made: EncodedTable,
    held_out: EncodedTable,
    found: MeasuredLeakage,
    wishes: Wishes,
    rng: np.random.Generator,
) -> Standing:
    _, _, area = told_apart(_matrix(held_out.cells), _matrix(made.cells), np.empty((0, 0)), rng)
    target = wishes.target if wishes.target in used.names else used.names[-1]
    return Standing(
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
