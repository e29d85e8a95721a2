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
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.calibrating.univariate_error import (
    CLEAR,
    best_guess_error,
    recovered_share,
)
from app.numerics.copies.shapes.row_moments import row_moments
from app.service.copies.freezing.donors import Donors
from app.service.copies.freezing.freeze import Rows, rows_to_freeze
from app.service.copies.freezing.protection import first_protection
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

MUCH_ROUNDED = 0.01
"""Share of cells found by rounding from which on a column is named."""


@dataclass(frozen=True)
class Driver:
    """A column, what is applied with it, and what would be applied without it."""

    column: str
    applied_variance: float
    applied_variance_without: float


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
        first = first_protection(resources, connection, dataset.id)
        rows = rows_to_freeze(connection, dataset)
        secret = open_secret(resources, connection, dataset.id)
    try:
        sample = _sample(resources, rows, secret)
    except NotReleasable:
        return None
    if not sample.records:
        return [_advice_on_numbers(sample, variance) for variance in noise_variances]

    codes, sizes = Donors.of(sample).shown_codes(sample)

    @cache
    def without(column: str | None) -> float:
        kept = [place for place, name in enumerate(sample.records) if name != column]
        numbers = sample.matrix(without=column)
        return squared_canonical_correlation(numbers, codes[:, kept], [sizes[k] for k in kept])

    r_squared = without(None) if first is None else first.r_squared
    return [_advice(sample, r_squared, variance, without) for variance in noise_variances]


def _advice_on_numbers(sample: Sample, noise_variance: float) -> Advice:
    return _advice(sample, 0.0, noise_variance, lambda _: 0.0)


def _advice(
    sample: Sample,
    r_squared: float,
    noise_variance: float,
    without: Callable[[str], float],
) -> Advice:
    applied = applied_variance(noise_variance, r_squared)
    noised = range(len(sample.numbers))
    return Advice(
        applied_variance=applied,
        driven_by=_drivers(sample, noise_variance, applied, without),
        guessable=_guessable(sample, noised, noise_variance, applied),
        rounded=_rounded(sample, noised, applied),
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
    sample: Sample, noise_variance: float, applied: float, without: Callable[[str], float]
) -> tuple[Driver, ...]:
    if applied <= MUCH_MORE * noise_variance:
        return ()
    saved = [
        Driver(column, applied, applied_variance(noise_variance, without(column)))
        for column in (*sample.records, *sample.numbers)
    ]
    saved.sort(key=lambda one: (one.applied_variance_without, one.column))
    return tuple(one for one in saved if one.applied_variance_without < applied)[:MOST_DRIVERS]


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
