"""Sampled original rows beside their perturbed values, for advice, previews and audits.

An issued copy is read as its recipients have it. One that was never issued is simulated from the same law under
draws that are thrown away: seeded from the data set's secret, so that a verdict does not change between calls, and the
same for every level, so that what differs between two levels is not chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Connection

from app.errors import Conflict, NotReleasable
from app.model import Column, Dataset, HistoryEntry, Kind, Part, Storage
from app.numerics.arrays import Codes, FloatArray, Places
from app.numerics.attacks.releases.attack import MOST_ROWS as ATTACKED_ROWS
from app.numerics.attacks.releases.attack import attacked_release
from app.numerics.attacks.releases.findings import Finding, averaged, worst_first
from app.numerics.attacks.releases.posterior_mean import PartNoiseLaw
from app.numerics.attacks.releases.released_rows import PassthroughColumns, ReleasedRows
from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.donors import donor_pool
from app.numerics.copies.records import UNLISTED, show_records
from app.numerics.copies.scales import on_scale
from app.numerics.copies.shapes.row_moments import row_moments
from app.service.context import RequestContext
from app.service.copies.generation.release import Selection, open_release
from app.service.datasets.output_columns import numbers_shown
from app.service.datasets.protection.donor_pool import DonorPool
from app.service.datasets.protection.freeze import (
    FreezeInput,
    PartMeasurement,
    RecordModel,
    first_part,
)
from app.service.datasets.protection.part_protection import PartProtection, open_protections
from app.service.datasets.protection.row_sample import (
    Sample,
    number_rows,
    part_batches,
    sampled_columns,
    spread_runs,
)
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.datasets import datasets, key_books
from app.tables.stream import category_text
from app.tables.values.dates import ISO_MOMENT, read_as_written

MOST_ROWS = 50_000
MOST_CELLS = 5_000_000
"""What is read at most; of a larger table runs of rows spread over it."""

MOST_ATTACKED = 10_000
"""Rows that are attacked, in runs spread over those read."""

MOST_COMPARED = 50
MOST_DRIVERS = 10
COMPARED_ROWS = 10_000
"""Columns and rows that are looked at for what makes numbers and categories tell of each other."""

MOST_DRAWS = 200
"""Draws of a small table: its few rows are not judged by one draw of luck."""


@dataclass(frozen=True, repr=False)
class SampledRows:
    """Rows as they are, and what hides them.

    where:
        columns      those of the numbers and of the records, in the data set's order
        numbers      names of the numeric columns
        matrix       their numbers on their scales, (n, d), as are those of all copies here
        values       categorical column → the texts that codes stand for, None among them
        runs         [first, last) of the ordinals that were read
        parts        (n,), the first of the parts that share a protection
        pieces       (n,), the same for rows that follow each other and came together
        pools        part → donors in these codes, (m, c)
        passthrough  the columns that leave as they are
        versions     how often the most repeated key occurs; None without a key column
    """

    columns: tuple[Column, ...]
    numbers: tuple[str, ...]
    values: Mapping[str, pa.Array]
    runs: tuple[tuple[int, int], ...]
    matrix: FloatArray
    codes: Codes
    parts: Places
    pieces: Places
    protections: Mapping[int, PartProtection]
    pools: Mapping[int, Codes]
    passthrough: PassthroughColumns
    versions: int | None
    seed: bytes

    @cached_property
    def associations(self) -> tuple[tuple[str, float, float], ...]:
        """Of the columns by which numbers and categories tell most of each other: R² of the column with all of the
        other kind, and R² of the table without it."""
        X = self.matrix[:COMPARED_ROWS]
        codes = self._listed(min(self.pools), self.codes[:COMPARED_ROWS]).T
        sizes = [len(values) for values in self.values.values()]
        numbers, records = np.arange(X.shape[1]), np.arange(codes.shape[1])

        def r_squared(of: Places, by: Places) -> float:
            chosen = [sizes[place] for place in by.tolist()]
            return squared_canonical_correlation(X[:, of], codes[:, by], chosen)

        alone = [(r_squared(numbers[[j]], records), j, True) for j in numbers[:MOST_COMPARED]]
        alone += [(r_squared(numbers, records[[j]]), j, False) for j in records[:MOST_COMPARED]]
        names = list(self.values)
        return tuple(
            (self.numbers[j], own, r_squared(np.delete(numbers, j), records))
            if numeric
            else (names[j], own, r_squared(numbers, np.delete(records, j)))
            for own, j, numeric in sorted(alone, key=lambda one: -one[0])[:MOST_DRIVERS]
        )

    def rng(self) -> np.random.Generator:
        """Random generator, seeded by the data set."""
        return np.random.default_rng(int.from_bytes(self.seed, "big"))

    def simulated(self, noise_variances: Sequence[float]) -> Iterator[ReleasedRows]:
        """Copies of the rows at ascending levels along one path, rounded and bounded as the owner asked.

        Of small tables several draws: the first are those of the rows in their order.
        """
        n, d = self.matrix.shape
        own = np.tile(np.arange(n), min(MOST_DRAWS, max(1, ATTACKED_ROWS // n)))
        rng = self.rng()
        keys = {part: rng.bytes(32) for part in self.protections}
        path, before = np.zeros((len(own), d)), np.zeros((len(own), 1))
        for variance in noise_variances:
            released, shown, applied = self.matrix[own], self.codes[own], before.copy()
            rows_of = {part: self.parts[own] == part for part in self.protections}
            for part, there in rows_of.items():
                applied[there] = self.protections[part].applied(variance)
            path += np.sqrt(applied - before) * rng.normal(size=path.shape)
            before = applied
            for part, there in rows_of.items():
                protection = self.protections[part]
                released[there] += path[there] @ protection.factor.T
                a = protection.applied(variance)
                shown[there] = self._shown(part, shown[there], a, keys[part])
            yield self.released(variance, self._rounded(released), shown, own)

    def _shown(self, part: int, codes: Codes, applied: float, key: bytes) -> Codes:
        """Records of a part as a copy shows them, (n, c)."""
        if not codes.size:
            return codes
        kept = self._listed(part, codes)
        show_records(kept, self.pools[part], applied, key=key, start=0)
        return kept.T

    def _listed(self, part: int, codes: Codes) -> Codes:
        """Records of a part, (c, n), UNLISTED where they are never shown."""
        found = np.ascontiguousarray(codes.T)
        for own, column in zip(found, self.pools[part].T, strict=True):
            own[~np.isin(own, column)] = UNLISTED
        return found

    def _rounded(self, released: FloatArray) -> FloatArray:
        """Numbers as they leave, on their scales, but for the grid, which is far finer than the noise."""
        by_name = {column.name: column for column in self.columns}
        for name, values in zip(self.numbers, released.T, strict=True):
            values[:] = _doubles(by_name[name], numbers_shown(by_name[name], values, None))
        return released

    def issued(
        self, resources: Resources, context: RequestContext, entry: HistoryEntry
    ) -> ReleasedRows:
        """The rows as the recipients of an issued copy have them."""
        names = (*self.numbers, *self.values)
        batches = [
            batch.select(list(names))
            for first, last in self.runs
            for batch in open_release(
                resources, context, entry.copy, Selection(names, first, last)
            ).batches()
        ]
        table = pa.Table.from_batches(batches)
        if table.num_rows != len(self.matrix):
            raise Conflict("Rows were retired while the audit ran; ask again.")
        return self.released(
            entry.noise_variance,
            np.column_stack(
                [
                    _doubles(column, table.column(column.name).combine_chunks())
                    for column in self.columns
                    if column.name in self.numbers
                ]
            )
            if self.numbers
            else np.empty((table.num_rows, 0)),
            _coded(_texts(table, self.values), self.values),
            np.arange(table.num_rows),
        )

    def released(
        self, noise_variance: float, released: FloatArray, shown: Codes, own: Places
    ) -> ReleasedRows:
        """The rows beside what a copy of this level shows of them."""
        laws = {
            part: PartNoiseLaw(one.applied(noise_variance), one.matrix, self.pools[part])
            for part, one in self.protections.items()
        }
        categories = tuple(tuple(values.to_pylist()) for values in self.values.values())
        return ReleasedRows(
            names=self.numbers,
            numbers=self.matrix,
            category_names=tuple(self.values),
            categories=categories,
            codes=self.codes,
            parts=self.parts,
            laws=laws,
            released=released,
            shown=shown,
            own=own,
            runs=self.pieces,
            passthrough=self.passthrough,
        )

    def attacked(
        self, copy: ReleasedRows, noise_variance: float, most_rows: int = ATTACKED_ROWS
    ) -> tuple[Finding, ...]:
        """Return the findings of every attacker in a copy of this level, worst first."""
        promised = noise_variance / (1 + noise_variance)
        chosen = [np.arange(*run) for run in spread_runs(len(self.matrix), MOST_ATTACKED)]
        found = attacked_release(copy.some(np.concatenate(chosen)), promised, self.rng(), most_rows)
        if self.versions is None:
            return found
        return worst_first([*found, averaged(promised, noise_variance, self.versions)])


def sampled_rows(
    resources: Resources, connection: Connection, dataset: Dataset, most_rows: int = MOST_ROWS
) -> SampledRows:
    """Read rows of a data set; NotReleasable where nothing of them could be released, Conflict under formal protection."""
    if dataset.formal:
        raise Conflict(
            "Previews and audits measure what noise leaves of the rows; under formal protection nothing is measured."
            " What a level guarantees stands in the level (`guarantee`), and holds whatever the rows are."
        )
    columns, records = sampled_columns(dataset.columns)
    numbers = tuple(column.name for column in columns)
    names = (*numbers, *records)
    if not names:
        raise NotReleasable("A copy needs a numeric or a categorical column; there is neither.")
    known = [column for column in dataset.columns if column.kind is Kind.PASSTHROUGH]
    read = (*names, *(column.name for column in known))
    every = datasets.parts(connection, dataset.id)
    runs = spread_runs(dataset.rows, max(2, min(most_rows, MOST_CELLS // len(read))))
    found = list(_pieces(resources, connection, dataset, every, read, runs))
    table = _texts(pa.Table.from_batches([one for _, batches in found for one in batches]), records)
    if table.num_rows < 2:
        raise NotReleasable("There is nothing to attack: a copy needs two rows.")
    secret = open_secret(resources, connection, dataset.id)
    seed = HKDF(SHA256(), 32, salt=None, info=b"cornerwave attack v1").derive(secret)
    counts = [sum(batch.num_rows for batch in batches) for _, batches in found]
    if dataset.frozen:
        of_parts = open_protections(
            resources, connection, dataset.id, [every[place] for place, _ in found]
        )
    else:
        sample = Sample.of(number_rows(table, columns), table.select(records))
        to_be = first_part(_measured(sample, dataset.columns, every), {})
        of_parts = {part.number: to_be for part in every}
    firsts: dict[str, int] = {}
    for number, one in of_parts.items():
        firsts.setdefault(one.hash, number)
    groups = [firsts[of_parts[every[place].number].hash] for place, _ in found]
    protections = {number: of_parts[number] for number in firsts.values()}
    newest = protections[max(protections)]
    values = {} if newest.donors is None else _values(table, newest.donors.values)
    book = key_books.one(connection, dataset.id)
    return SampledRows(
        columns=tuple(column for column in dataset.columns if column.name in names),
        numbers=numbers,
        values=values,
        runs=runs,
        matrix=number_rows(table, columns),
        codes=_coded(table, values),
        parts=np.repeat(np.array(groups, np.intp), counts),
        pieces=np.repeat(np.arange(len(counts)), counts),
        protections=protections,
        pools={
            number: _pool(one, values, secret if dataset.frozen else None, seed)
            for number, one in protections.items()
        },
        passthrough=_passthrough(table, known),
        versions=None if book is None else max(1, book.most_versions),
        seed=seed,
    )


def _pieces(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    parts: Sequence[Part],
    names: Sequence[str],
    runs: Sequence[tuple[int, int]],
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    """Rows that follow each other and came together: the place of their part, and these columns of them."""
    for first, last in runs:
        retired = np.array(datasets.retired(connection, dataset.id, first, last), np.int64)
        for place, part in enumerate(parts):
            rows = (max(first, part.first_row), min(last, part.end_row))
            if rows[0] < rows[1]:
                read = part_batches(resources.blobs, part, names, retired, rows)
                yield place, [batch.select(list(names)) for batch in read]


def _measured(
    sample: Sample, columns: tuple[Column, ...], parts: Sequence[Part]
) -> PartMeasurement:
    """Return the measurement of a first copy, estimated from these rows."""
    records = sample if sample.values else None
    return PartMeasurement(
        of=FreezeInput(columns, tuple(parts), ()),
        numeric=sampled_columns(columns)[0],
        moments=row_moments(sample.numbers),
        sample=records,
        records=RecordModel.of(records),
    )


def _texts(table: pa.Table, records: Iterable[str]) -> pa.Table:
    """The rows with categories as text."""
    for name in records:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, category_text(table.column(name)))
    return table


def _values(table: pa.Table, listed: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Categorical column → the texts that occur in it or in its donors, whose places stay; a missing one among them."""
    found = {}
    for name, known in listed.items():
        both = pa.concat_arrays([known, table.column(name).unique(), pa.nulls(1, known.type)])
        places = pc.index_in(both, value_set=both)  # of equal ones the first
        found[name] = both.filter(pc.equal(places, pa.array(np.arange(len(both)), pa.int32())))
    return found


def _coded(table: pa.Table, values: Mapping[str, pa.Array]) -> Codes:
    """Places of the cells in the values of their columns, (n, c)."""
    found = np.empty((table.num_rows, len(values)), np.int32)
    for place, (name, listed) in enumerate(values.items()):
        found[:, place] = pc.index_in(table.column(name), value_set=listed).to_numpy()
    return found


def _passthrough(table: pa.Table, columns: Sequence[Column]) -> PassthroughColumns:
    numbers = [column for column in columns if column.storage is Storage.NUMBER]
    codes = np.empty((table.num_rows, len(columns) - len(numbers)), np.int32)
    texts = (column.name for column in columns if column.storage is Storage.TEXT)
    for place, name in enumerate(texts):
        column = table.column(name).combine_chunks()
        codes[:, place] = column.dictionary_encode("encode").indices.to_numpy()
    names = tuple(column.name for column in columns)
    return PassthroughColumns(names, number_rows(table, numbers), codes)


def _pool(
    protection: PartProtection, values: Mapping[str, pa.Array], secret: bytes | None, seed: bytes
) -> Codes:
    """The donors of a part in the codes of the rows; drawn by `seed` where nothing is frozen yet.

    A column of which nothing may be shown is missing throughout.
    """
    if protection.donors is None:
        return np.empty((0, 0), np.int32)
    if secret is None:
        pool = donor_pool(protection.donors.counts, seed)
    else:
        pool = DonorPool.of(protection.donors, secret, protection.hash, protection.rows).codes
    missing = [
        int(np.argmax(listed.is_null().to_numpy(zero_copy_only=False)))
        for listed in values.values()
    ]
    return np.where(pool == UNLISTED, np.array(missing, np.int32), pool)


def _doubles(column: Column, values: pa.Array) -> FloatArray:
    """Numbers as they were released, on the column's scale."""
    if column.kind is Kind.DATETIME and pa.types.is_large_string(values.type):
        values = read_as_written(values, column.date_format or ISO_MOMENT)
    days = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    numbers = np.asarray(days.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return on_scale(numbers, column.scale_unit)
