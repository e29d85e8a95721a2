"""What an owner should know of a level before, and when, a copy of it is issued.

Where numbers and categories tell of each other, more noise is applied than the level's own; some
columns cause that, and leaving one of them out would save it. And the promise is about linear guesses:
of skewed or discrete columns a better guess may exist, and how good it is can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from app.errors import NotReleasable
from app.model import Dataset
from app.numerics.arrays import FloatArray
from app.numerics.copies.calibrating.applied import (
    Calibration,
    applied_variance,
    own_variances,
    worst_direction,
)
from app.numerics.copies.calibrating.calibration import calibrated
from app.numerics.copies.calibrating.univariate_error import (
    CLEAR,
    best_guess_error,
    recovered_share,
)
from app.numerics.copies.shapes.row_moments import row_moments
from app.service.copies.freezing.freeze import Rows, rows_to_freeze
from app.service.copies.freezing.frozen import open_frozen
from app.service.copies.freezing.rows import (
    Sample,
    run_batches,
    sample_key,
    sample_of,
    sampled_columns,
    spread_runs,
)
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.engine import reading

MOST_ROWS = 50_000
MOST_CELLS = 5_000_000
"""What is read for advice; all rows of a small table, and runs spread over a large one."""

MUCH_MORE = 1.5
"""Times the level's own variance, from which on the columns behind it are named."""

MOST_DRIVERS = 10

WEIGHTY = 0.5
"""Of the largest weight in a sum: from it on, a number is one of those that the sum is about."""

MUCH_ROUNDED = 0.01
"""Share of cells found by rounding from which on a column is named."""


@dataclass(frozen=True)
class Driver:
    """A column that needs more than 1.5·v, by itself, and what would be applied without it."""

    column: str
    applied_variance: float
    applied_variance_without: float


@dataclass(frozen=True)
class Travelling:
    """A number kept or replaced with the categories, which explain this share of its variance."""

    column: str
    explained: float


@dataclass(frozen=True)
class Guessable:
    """A number of which the best guess from its own noisy value leaves clearly less than is promised."""

    column: str
    left: float


@dataclass(frozen=True)
class Rounded:
    """A number on a lattice, of which rounding a copy to the nearest value finds this share of cells."""

    column: str
    recovered: float


@dataclass(frozen=True)
class Advice:
    """What the promise of a level costs, and where it ends."""

    applied_variance: float
    driven_by: tuple[Driver, ...]
    travelling: tuple[Travelling, ...]
    guessable: tuple[Guessable, ...]
    rounded: tuple[Rounded, ...]


def advise(resources: Resources, dataset: Dataset, noise_variance: float) -> Advice | None:
    """Advice on a level of a data set; None while nothing of it can be released."""
    advice = advise_each(resources, dataset, [noise_variance])
    return None if advice is None else advice[0]


def advise_each(
    resources: Resources, dataset: Dataset, noise_variances: Sequence[float]
) -> list[Advice] | None:
    """Advice on several levels from one look at the rows; None while nothing can be released."""
    with reading(resources.engine) as connection:
        frozen = open_frozen(resources, connection, dataset.id)
        rows = rows_to_freeze(connection, dataset)
        secret = open_secret(resources, connection, dataset.id)
    try:
        sample = _sample(resources, rows, secret)
    except NotReleasable:
        return None
    if not sample.records:
        return [_advice_on_numbers(sample, variance) for variance in noise_variances]
    calibration = None if frozen is None else frozen.calibration
    if calibration is None:
        calibration = calibrated(sample.matrix(), *sample.codes())

    @cache
    def without(column: str) -> Calibration:
        return calibrated(sample.matrix(without=column), *sample.codes(without=column))

    return [_advice(sample, calibration, variance, without) for variance in noise_variances]


def _advice_on_numbers(sample: Sample, noise_variance: float) -> Advice:
    noised = range(len(sample.numbers))
    guessable = _guessable(sample, noised, noise_variance, noise_variance)
    return Advice(noise_variance, (), (), guessable, _rounded(sample, noised, noise_variance))


def _advice(
    sample: Sample,
    calibration: Calibration,
    noise_variance: float,
    without: Callable[[str], Calibration],
) -> Advice:
    applied = applied_variance(calibration, noise_variance)
    return Advice(
        applied_variance=applied,
        driven_by=_drivers(sample, calibration, noise_variance, applied, without),
        travelling=tuple(
            Travelling(sample.numbers[place], float(calibration.explained[place]))
            for place in calibration.travelling
        ),
        guessable=_guessable(sample, calibration.noised, noise_variance, applied),
        rounded=_rounded(sample, calibration.noised, applied),
    )


def _sample(resources: Resources, rows: Rows, secret: bytes) -> Sample:
    """Rows for advice. NotReleasable when there are no two, or no column to perturb."""
    numbers, categories = sampled_columns(rows.columns)
    names = (*numbers, *categories)
    retired = np.array(rows.retired, dtype=np.int64)
    total = sum(part.rows for part in rows.parts)
    if not names or total - len(retired) < 2:
        raise NotReleasable("there is nothing to perturb")
    most = min(MOST_ROWS, MOST_CELLS // len(names))

    batches = (
        batch
        for run in spread_runs(total, most)
        for batch in run_batches(resources.blobs, rows.parts, names, retired, run)
    )
    return sample_of(batches, rows.columns, sample_key(secret), most)


def _drivers(
    sample: Sample,
    calibration: Calibration,
    noise_variance: float,
    applied: float,
    without: Callable[[str], Calibration],
) -> tuple[Driver, ...]:
    if applied <= MUCH_MORE * noise_variance:
        return ()
    needs: dict[str, float] = {}
    own = own_variances(calibration, noise_variance)
    named = [*sample.records, *sample.numbers]
    columns = [sample.numbers[place] for place in calibration.noised]
    columns += [named[place] for place in calibration.fact_columns]
    for column, need in zip(columns, own.tolist(), strict=True):
        needs[column] = max(needs.get(column, 0.0), need)
    if applied > own.max():  # no column by itself, but a sum or difference of some
        _, weights = worst_direction(calibration, applied)
        for column, weight in zip(columns, np.abs(weights).tolist(), strict=False):
            if weight >= WEIGHTY * np.abs(weights).max():
                needs[column] = applied
    driving = sorted(
        (column for column, need in needs.items() if need > MUCH_MORE * noise_variance),
        key=lambda column: (-needs[column], column),
    )
    return tuple(
        Driver(column, needs[column], applied_variance(without(column), noise_variance))
        for column in driving[:MOST_DRIVERS]
    )


def _guessable(
    sample: Sample, noised: Sequence[int], noise_variance: float, applied: float
) -> tuple[Guessable, ...]:
    values = sample.matrix()[:, list(noised)]
    variances = _shape_variances(values)
    promised = noise_variance / (1 + noise_variance)
    left = [
        best_guess_error(values[:, place], applied * variance)
        for place, variance in enumerate(variances)
    ]
    return tuple(
        Guessable(sample.numbers[number], share)
        for number, share in zip(noised, left, strict=True)
        if share < CLEAR * promised  # False for NaN, of a column without spread
    )


def _rounded(sample: Sample, noised: Sequence[int], applied: float) -> tuple[Rounded, ...]:
    values = sample.matrix()[:, list(noised)]
    found = []
    for number, column, variance in zip(noised, values.T, _shape_variances(values), strict=True):
        share = recovered_share(column, math.sqrt(applied * variance)) if variance > 0 else None
        if share is not None and share > MUCH_ROUNDED:
            found.append(Rounded(sample.numbers[number], share))
    return tuple(found)


def _shape_variances(values: FloatArray) -> list[float]:
    """S_jj as these rows would have it."""
    moments = row_moments(values)
    trust = 1 + min(1.0, values.shape[1] / max(moments.complete_rows, 1))
    variances: list[float] = (trust * np.diag(moments.imputed_covariance())).tolist()
    return variances
