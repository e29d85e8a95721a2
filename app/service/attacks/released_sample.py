"""Rows of a copy beside the originals, for attacks on what was released: numbers and categories.

An issued copy is read as its recipients have it; one that was never issued is simulated (`simulated_copy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection

from app.errors import Conflict
from app.model import Column, Dataset, HistoryEntry, Kind, Part
from app.numerics.arrays import Codes, Flags, FloatArray, IntArray, Places
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.records import kept_share, uniforms
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape
from app.service.asking import Ask
from app.service.copies.freezing.protection import PartProtection, open_protections
from app.service.copies.freezing.rows import RowSource, part_batches
from app.service.copies.making.recipe import PartRecipe
from app.service.copies.making.release import Release, Selection, open_release
from app.service.resources import Resources
from app.store.database.registered import datasets
from app.tables.stream import category_text


@dataclass(frozen=True, repr=False)
class OriginalRows:
    """Rows to attack, as they are.

    where:
        columns  those of `numbers` and `records`, in the data set's order
        table    their rows
        pieces   part and places within it of consecutive rows, in order
        groups   (n,), for each row the first part with its protection
        shapes   group → S, (d, d)
        r_squared  group → R²; nothing before the first copy
    """

    columns: tuple[Column, ...]
    numbers: tuple[str, ...]
    records: tuple[str, ...]
    runs: tuple[tuple[int, int], ...]
    table: pa.Table
    pieces: tuple[tuple[int, Places], ...]
    groups: Places
    shapes: Mapping[int, FloatArray]
    r_squared: Mapping[int, float]


@dataclass(frozen=True, repr=False)
class Copied:
    """The same rows in a copy, and the covariance of the noise of each group."""

    rows: ReleasedRows
    noise: Mapping[int, FloatArray]


@dataclass(frozen=True, repr=False)
class RowsWanted:
    """Which rows these are, in plain values: who has the keys of the blobs can read them anywhere.

    where:
        pieces   part, ordinals [first, last) of it, and those retired
        groups       part → the first part with its protection; nothing before the first copy
        protections  group → its protection
    """

    columns: tuple[Column, ...]
    runs: tuple[tuple[int, int], ...]
    pieces: tuple[tuple[Part, tuple[int, int], IntArray], ...]
    groups: Mapping[int, int]
    protections: Mapping[int, PartProtection]

    @property
    def blobs(self) -> list[str]:
        """Where the rows lie."""
        return sorted({part.blob for part, _, _ in self.pieces})


def wanted_rows(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    runs: tuple[tuple[int, int], ...],
) -> RowsWanted:
    """The rows of some runs of ordinals that a copy has."""
    parts = datasets.parts(connection, dataset.id)
    pieces = tuple(_pieces(connection, dataset.id, parts, runs))
    found = open_protections(resources, connection, dataset.id, parts) if dataset.frozen else {}
    firsts: dict[str, int] = {}
    groups = {number: firsts.setdefault(one.hash, number) for number, one in found.items()}
    return RowsWanted(
        columns=tuple(c for c in dataset.columns if c.kind.noised or c.kind is Kind.CATEGORICAL),
        runs=runs,
        pieces=pieces,
        groups=groups,
        protections={group: found[group] for group in firsts.values()},
    )


def original_rows(wanted: RowsWanted, blobs: RowSource) -> OriginalRows:
    """Read the rows."""
    numeric = tuple(column.name for column in wanted.columns if column.kind.noised)
    categorical = tuple(c.name for c in wanted.columns if c.kind is Kind.CATEGORICAL)
    batches: list[pa.RecordBatch] = []
    pieces: list[tuple[int, Places]] = []
    names = list(numeric + categorical)
    for part, rows, retired in wanted.pieces:
        read = part_batches(blobs, part, names, retired, rows)
        batches += [batch.select(names) for batch in read]
        ordinals = np.arange(*rows)
        there = ordinals[~np.isin(ordinals, retired)]
        pieces.append((part.number, (there - part.first_row).astype(np.intp)))
    table = pa.Table.from_batches(batches)
    places = np.concatenate([np.full(len(within), number) for number, within in pieces])
    groups: Places = np.zeros(len(places), np.intp)
    shapes = {group: one.matrix for group, one in wanted.protections.items()}
    if wanted.groups:
        groups = np.array([wanted.groups[number] for number in places.tolist()], np.intp)
    else:
        shapes = {0: covariance_shape(row_moments(number_matrix(table, numeric)))}
    r_squared = {group: one.r_squared for group, one in wanted.protections.items()}
    return OriginalRows(
        wanted.columns,
        numeric,
        categorical,
        wanted.runs,
        table,
        tuple(pieces),
        groups,
        shapes,
        r_squared,
    )


def issued_rows(
    resources: Resources, ask: Ask, original: OriginalRows, entry: HistoryEntry
) -> Copied:
    """The rows as the copy's recipients have them."""
    releases = releases_of(resources, ask, original, entry)
    batches = [batch for release in releases for batch in release.batches()]
    recipes = {number: one for release in releases for number, one in release.recipe.parts.items()}
    return rows_beside(original, batches, recipes, entry.noise_variance)


def releases_of(
    resources: Resources, ask: Ask, original: OriginalRows, entry: HistoryEntry
) -> list[Release]:
    """The rows in the copy, run by run, ready to be made."""
    names = original.numbers + original.records
    return [
        open_release(resources, ask, entry.copy, Selection(names, first, last))
        for first, last in original.runs
    ]


def rows_beside(
    original: OriginalRows,
    batches: Sequence[pa.RecordBatch],
    recipes: Mapping[int, PartRecipe],
    noise_variance: float,
) -> Copied:
    """The rows as they are beside those of an issued copy."""
    applied = {
        group: applied_variance(noise_variance, r_squared)
        for group, r_squared in original.r_squared.items()
    }
    names = list(original.numbers + original.records)
    released = pa.Table.from_batches([batch.select(names) for batch in batches])
    if released.num_rows != original.table.num_rows:
        raise Conflict("Rows were retired while the audit ran; ask again.")
    coded = [
        _coded(original.table.column(name), released.column(name)) for name in original.records
    ]
    codes = _stacked([own for own, _ in coded], released.num_rows)
    shown = _stacked([shown for _, shown in coded], released.num_rows)
    kept = _kept(original, recipes) & (codes == shown).all(axis=1)
    return copied_rows(
        original,
        number_matrix(released, original.numbers),
        codes,
        shown,
        applied,
        kept,
    )


def copied_rows(
    original: OriginalRows,
    released: FloatArray,
    codes: Codes,
    shown: Codes,
    applied: Mapping[int, float],
    kept: Flags | None,
) -> Copied:
    """The rows as they are beside what a copy shows of them."""
    rows = ReleasedRows(
        original.numbers,
        number_matrix(original.table, original.numbers),
        released,
        original.records,
        codes,
        shown,
        original.groups,
        kept,
        # A piece is of one part and of one run of ordinals; what was retired between two rows is in no copy.
        np.repeat(np.arange(len(original.pieces)), [len(places) for _, places in original.pieces]),
    )
    noise = {group: applied[group] * shape for group, shape in original.shapes.items()}
    return Copied(rows, noise)


def _kept(original: OriginalRows, recipes: Mapping[int, PartRecipe]) -> Flags:
    """Which records the copy keeps, (n,): those whose draw is below 1/(1+a)."""
    found = [np.empty(0, dtype=bool)]
    for number, within in original.pieces:
        if len(within):
            first, own = int(within[0]), recipes[number]
            draws = uniforms(own.record_key, first, int(within[-1]) + 1 - first)
            found.append(draws[within - first] < kept_share(own.applied_variance))
    return np.concatenate(found)


def _pieces(
    connection: Connection, dataset_id: str, parts: Sequence[Part], runs: Sequence[tuple[int, int]]
) -> Iterator[tuple[Part, tuple[int, int], IntArray]]:
    """The parts that runs of ordinals touch: which of their ordinals, and those retired."""
    for first, last in runs:
        retired = np.array(datasets.retired(connection, dataset_id, first, last), np.int64)
        for part in parts:
            rows = (max(first, part.first_row), min(last, part.end_row))
            if rows[0] < rows[1]:
                yield part, rows, retired


def record_codes(table: pa.Table, names: Sequence[str]) -> Codes:
    """Places of the values in a list of those that occur, a missing one among them, (n, c)."""
    columns = [table.column(name) for name in names]
    return _stacked([_coded(column, column)[0] for column in columns], table.num_rows)


def code_sizes(codes: Codes) -> list[int]:
    """How many values each column of codes has."""
    return [int(column.max(initial=0)) + 1 for column in codes.T]


def number_matrix(table: pa.Table, names: Sequence[str]) -> FloatArray:
    """The numbers of these columns, (n, d), NaN where missing; a date is a number of days."""
    found = np.empty((table.num_rows, len(names)))
    for place, name in enumerate(names):
        column = table.column(name)
        days = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
        found[:, place] = days.cast(pa.float64()).to_numpy()
    return found


def _coded(own: pa.ChunkedArray, shown: pa.ChunkedArray) -> tuple[Codes, Codes]:
    """Both columns by places in one list of values, a missing one among them."""
    texts = [category_text(column.combine_chunks()) for column in (own, shown)]
    coded = pa.concat_arrays(texts).dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes[: len(own)], codes[len(own) :]


def _stacked(columns: Sequence[Codes], n: int) -> Codes:
    return np.stack(columns, axis=1) if columns else np.empty((n, 0), np.int32)
