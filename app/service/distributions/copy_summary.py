"""Summary of a copy by column and by pair: as released, and corrected for the noise.

All of it follows from a bounded sample of the copy and the variance that the principal knows (`Release.known_variance`),
so it tells a recipient nothing that its copy and its level do not. It is made once for a release and kept in this process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.model import Column, Kind
from app.numerics.arrays import FloatArray
from app.numerics.copies.scales import off_scale, on_scale
from app.numerics.deconvolution.bins import cells_per_bin, histogram_on, uniform_edges
from app.numerics.deconvolution.em import LEVEL, em_with_band
from app.numerics.deconvolution.noise import Normal
from app.numerics.utility.association import MOST_CATEGORIES
from app.numerics.utility.pairs import PairedColumn, associations, attenuation, corrected
from app.service.context import RequestContext
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.datasets.protection.row_sample import coded_values
from app.service.distributions.copy_sample import leading, sampled
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work

BINS = 40
CATEGORIES = 12
"""Categories shown one by one; the others are shown together."""

MOST_PAIRED = 30
"""Columns whose associations are shown."""

SEED = 20_260_101
"""Of the draws behind the bands: the same copy has the same bands."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers on bins: shares as released, and the estimate of the original's.

    where:
        edges      (K+1,); of a date, days since 1970
        estimated  None where the column carries no noise of its own: it is released as it was drawn
        low, high  (K,), the ends of the band of the estimate, or of the released shares
    """

    column: Column
    missing: float
    edges: FloatArray
    released: FloatArray
    estimated: FloatArray | None
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Categories:
    """The most frequent categories: shares, with the interval that chance gives."""

    column: Column
    missing: float
    names: tuple[str, ...]
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    others: float


@dataclass(frozen=True)
class Associations:
    """Pairs of columns, (c, c): as released, and corrected for the noise unless its law is withheld. NaN where undefined."""

    names: tuple[str, ...]
    released: FloatArray
    corrected: FloatArray | None


@dataclass(frozen=True)
class CopySummary:
    """Summary of a copy, from a sample of its rows."""

    rows: int
    sampled_rows: int
    band: float
    columns: tuple[Numbers | Categories, ...]
    associations: Associations

    @property
    def nbytes(self) -> int:
        """About what it takes to be kept."""
        return 4_000 * len(self.columns) + 2 * self.associations.released.nbytes


def summarise_copy(resources: Resources, context: RequestContext, copy_id: str) -> CopySummary:
    """The summary of a copy, for those who may download it; that it was read is recorded."""
    release = open_release(resources, context, copy_id, Selection())
    with unit_of_work(resources, context) as uow:
        uow.record(
            "copy.summarise",
            release.entry.copy,
            dataset=release.dataset.id,
            columns=len(release.columns),
        )
    name = ("summary", release.fingerprint)
    known = resources.summaries.get(name)
    if known is None:
        known = _summary(release)
        resources.summaries.put(name, known, name)
    return known


def some_rows(
    resources: Resources, context: RequestContext, copy_id: str, rows: int, skipped: int
) -> pa.Table:
    """Some rows of a copy, for those who may download it; that they were read is recorded."""
    release = open_release(resources, context, copy_id, Selection())
    with unit_of_work(resources, context) as uow:
        uow.record("copy.look", release.entry.copy, dataset=release.dataset.id, rows=rows)
    return leading(release, rows, skipped)


def _summary(release: Release) -> CopySummary:
    table = sampled(release)
    told: list[Numbers | Categories] = []
    for column in release.columns:
        values = table.column(column.name)
        if _is_number(column, values):
            scaled = on_scale(_floats(values), column.scale_unit)
            told.append(
                number_distribution(column, scaled, release.noise_variances.get(column.name))
            )
        else:
            told.append(_categories(column, values))
    return CopySummary(
        rows=release.dataset.released_rows,
        sampled_rows=table.num_rows,
        band=LEVEL,
        columns=tuple(told),
        associations=_associations(release, table),
    )


def number_distribution(
    column: Column, values: FloatArray, noise_variance: float | None
) -> Numbers:
    """Summarise values on the column's scale, where bins are equal; edges are values."""
    there = values[~np.isnan(values)]
    missing = 1.0 - there.size / max(values.size, 1)
    if there.size < 2 or there.min() == there.max():
        at = float(there[0]) if there.size else 0.0
        one = np.ones(1 if there.size else 0)
        edges = off_scale(np.array([at - 0.5, at + 0.5]), column.scale_unit)
        return Numbers(column, missing, edges, one, None, one, one)
    edges = uniform_edges(float(there.min()), float(there.max()), BINS)
    shares = np.histogram(there, edges)[0] / there.size
    if noise_variance is None:
        shown = off_scale(edges, column.scale_unit)
        return Numbers(column, missing, shown, shares, None, *_interval(shares, there.size))
    noise = Normal(noise_variance)
    histogram = histogram_on(there, edges, cells_per_bin=cells_per_bin(edges))
    made = em_with_band(histogram, noise, edges, np.random.default_rng(SEED))
    shown = off_scale(edges, column.scale_unit)
    return Numbers(column, missing, shown, shares, made.probabilities, made.low, made.high)


def _categories(column: Column, values: pa.ChunkedArray) -> Categories:
    there = values.drop_null()
    missing = 1.0 - len(there) / max(len(values), 1)
    counted = sorted(
        ((entry["counts"], str(entry["values"])) for entry in there.value_counts().to_pylist()),
        key=lambda pair: (-pair[0], pair[1]),
    )
    shown = counted[:CATEGORIES]
    shares = np.array([count for count, _ in shown], dtype=np.float64) / max(len(there), 1)
    names = tuple(name for _, name in shown)
    others = max(0.0, 1.0 - float(shares.sum())) if len(counted) > len(shown) else 0.0
    return Categories(column, missing, names, shares, *_interval(shares, len(there)), others)


def _interval(shares: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of each share at `LEVEL`."""
    z = 1.6448536269514722
    n = max(count, 1)
    centre = (shares + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(shares * (1 - shares) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _associations(release: Release, table: pa.Table) -> Associations:
    """Noise weakens what a column that carries it has to do with one that does not."""
    names: list[str] = []
    columns: list[PairedColumn] = []
    for column in release.columns:
        values = table.column(column.name)
        if column.kind is Kind.PASSTHROUGH or len(names) >= MOST_PAIRED:
            continue
        if _is_number(column, values):
            scaled = on_scale(_floats(values), column.scale_unit)
            columns.append(PairedColumn.of_numbers(scaled))
        else:
            coded = coded_values(values)
            if not 2 <= len(coded.dictionary) <= MOST_CATEGORIES:
                continue
            codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
            columns.append(PairedColumn.of_codes(codes, len(coded.dictionary)))
        names.append(column.name)
    as_released = associations(columns)
    if release.applied is None:
        return Associations(tuple(names), as_released, None)
    noised = np.isin(names, list(release.recipe.noised))
    factor = attenuation(release.applied)
    undone = as_released.copy()
    for i, j in np.argwhere(noised[:, None] != noised):
        undone[i, j] = corrected(float(as_released[i, j]), factor)
    return Associations(tuple(names), as_released, undone)


def _is_number(column: Column, values: pa.ChunkedArray) -> bool:
    return column.kind is not Kind.CATEGORICAL and not pa.types.is_large_string(values.type)


def _floats(values: pa.ChunkedArray) -> FloatArray:
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
