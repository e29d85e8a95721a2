"""Release of a copy batch by batch: selected columns and rows, equal values for every selection.

Originals are read a row group at a time, perturbed (`recipe.py`), and handed on as Arrow batches, while
other threads make the next. Everything but the originals is looked up before the first row leaves, in
one view of the database, and only from what is committed there.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from app.errors import InvalidParameter, Refusal
from app.model import BLOCK_ROWS, Column, Dataset, Grant, HistoryEntry, Part
from app.numerics.copies.path import RowRange
from app.service.context import RequestContext, released_columns
from app.service.copies.generation.history import (
    downloadable,
    level_names,
    may_know_noise,
    promised_variance,
    released_history,
)
from app.service.copies.generation.recipe import (
    CopyRecipe,
    PathCache,
    ProtectedPart,
    block,
    copy_recipe,
    worth_keeping,
)
from app.service.copies.generation.row_ranges import Batch, RowGroupRange, batches, cut, within
from app.service.datasets.output_columns import output_type
from app.service.datasets.protection.part_protection import PartProtection, open_protections
from app.service.datasets.secrets import open_secret
from app.service.download_scheduler import Downloads
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.blobs.store import BlobStore
from app.store.caches.block_cache import HotBlocks, cache_key
from app.store.database.datasets import datasets
from app.store.database.engine import reading

BATCH_BYTES, CELL_BYTES = 14 * 2**20, 28
"""What a batch may take while it waits for its reader, and what a cell is reckoned to take: a double,
and the same in digits. A narrow table has batches of a whole row group, a wide one of fewer rows."""

T = TypeVar("T")


@dataclass(frozen=True)
class Selection:
    """Selection of a copy: columns by name, rows [first, last) by ordinal; None is all."""

    columns: tuple[str, ...] | None = None
    first: int = 0
    last: int | None = None


@dataclass(frozen=True, repr=False)
class Release:
    """A selection of a copy as one principal may have it at one moment.

    where:
        levels           the owner's names for its variance that the principal may know
        noise_variances  of the columns with noise, a·S_jj of the level, mean over the rows; empty where its law is withheld
        applied          a(v) of the level in the first part; None where its law is withheld
        batches_of_rows  where the rows lie
        retired          ordinals of those among them that were withdrawn
    """

    dataset: Dataset
    entry: HistoryEntry
    levels: tuple[str, ...]
    noise_variances: Mapping[str, float]
    applied: float | None
    columns: tuple[Column, ...]
    first: int
    last: int
    batches_of_rows: tuple[Batch, ...]
    retired: NDArray[np.int64]
    recipe: CopyRecipe
    paths: PathCache
    blobs: BlobStore
    kept: HotBlocks[pa.RecordBatch]
    groups: HotBlocks[pa.RecordBatch]
    downloads: Downloads

    @property
    def name(self) -> str:
        """What a file of it is called: the data set and the level, by all names that the principal knows."""
        called = "-".join(self.levels)[:100] or self.entry.copy
        return f"{self.dataset.name[:100]}-{called}"

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the released columns."""
        return self.recipe.schema

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self._rows - len(self.retired)

    @property
    def version(self) -> int:
        """Rises with every row that comes, and with every row that is withdrawn."""
        return self._rows + len(self.retired)

    @property
    def fingerprint(self) -> str:
        """A hash that two releases share exactly when they release the same values.

        The writers' versions are part of it: another version may write the same values otherwise.
        """
        columns = [
            (column.name, str(output_type(column)), column.kind, column.lower, column.upper)
            for column in self.columns
        ]
        lie = [self._named(batch) for batch in self.batches_of_rows]
        writers = (pa.__version__, pl.__version__, orjson.__version__)
        said = [self.entry.hash, columns, lie, writers]
        digest = hashlib.sha256(json.dumps(said).encode())
        digest.update(self.retired.tobytes())
        return digest.hexdigest()[:32]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, a batch at a time."""
        return self.each_block(lambda batch: batch)

    def each_block(self, then: Callable[[pa.RecordBatch], T]) -> Iterator[T]:
        """Yield the result of `then` for each batch of rows, in order.

        Batches are made, and `then` is called, by several threads, when there is room for them.
        """
        return self.downloads.in_turn(
            self.batches_of_rows, lambda batch: then(self._shown(batch)), self._cost
        )

    @cached_property
    def _series(self) -> bytes:
        """The name that all kept batches of these columns of the copy share."""
        return _digest(self.entry.hash, self.columns)

    @cached_property
    def _rows(self) -> int:
        return sum(piece.rows for batch in self.batches_of_rows for piece in batch)

    def _cost(self, batch: Batch) -> int:
        """The bytes that a batch is reckoned to take until its reader has it."""
        return sum(piece.rows for piece in batch) * len(self.columns) * CELL_BYTES

    def _shown(self, batch: Batch) -> pa.RecordBatch:
        """The rows of a batch, without those retired."""
        made = self._perturbed(batch)
        start, stop = batch[0].ordinal, batch[-1].ordinal + batch[-1].rows
        first, last = np.searchsorted(self.retired, (start, stop))
        if first == last:
            return made
        ordinals = np.concatenate(
            [np.arange(piece.ordinal, piece.ordinal + piece.rows) for piece in batch]
        )
        return made.filter(pa.array(~np.isin(ordinals, self.retired[first:last])))

    def _perturbed(self, batch: Batch) -> pa.RecordBatch:
        """The rows of a batch: kept, if it is one that all downloads have and was made before.

        What is kept is named by the history entry, by all that is said of the columns and by what
        its rows are, so that it is never anything but what would be made again. It is never cut:
        Arrow writes a slice in other bytes, and the ETag promises the same.
        """
        most = _rows_at_once(len(self.columns))
        if not all(piece.whole or piece.is_cut(most) for piece in batch):
            return self._made(batch)
        name = _digest(self._series, self._named(batch))
        held = self.kept.get(name)
        if held is None:
            held = self._made(batch)
            # The beginning of a copy that does not fit saves its next reader little, and takes the
            # room of others that do.
            if self.kept.could_hold(held.nbytes * self._rows // held.num_rows):
                self.kept.put(name, held, self._series)
        return held

    def _made(self, batch: Batch) -> pa.RecordBatch:
        made = [self._block(piece) for piece in batch]
        return made[0] if len(made) == 1 else pa.concat_batches(made)

    def _block(self, piece: RowGroupRange) -> pa.RecordBatch:
        """The rows of a piece, perturbed, with the path at hand where that pays."""
        draws = self.recipe.parts[piece.part.number].draws
        rows = RowRange(piece.index, piece.first, piece.last)
        pays = bool(self.recipe.numeric) and worth_keeping(draws, draws.target)
        known = self.paths.at_hand(draws, rows) if pays else {}
        path = None
        if pays and piece.whole and draws.target not in known:
            path = np.empty((draws.columns, piece.rows))
        made = block(
            self.recipe,
            self._originals(piece),
            piece.part.number,
            piece.index,
            first=piece.first,
            known=known,
            keep=path,
        )
        if path is not None:
            self.paths.keep(draws, rows, path)
        return made

    def _originals(self, piece: RowGroupRange) -> pa.RecordBatch:
        names = tuple(self.recipe.schema.names)
        if piece.whole:
            return self._read(piece, names)
        # The rest of a row group that is handed out in several batches will be wanted soon, most
        # likely by the thread beside this one, at the same time.
        name = (piece.part.blob, piece.index, names)
        group = self.groups.get_or_make(
            name, lambda: self._read(piece.of_whole_group(), names), series=name
        )
        if piece.last == piece.of_whole_group().last:  # rows leave in order: nothing of it is left
            self.groups.let_go(name)
        return group.slice(piece.first, piece.rows)

    def _read(self, piece: RowGroupRange, names: tuple[str, ...]) -> pa.RecordBatch:
        start = piece.ordinal - piece.part.first_row
        found = list(
            self.blobs.read_rows(
                piece.part.blob, start, start + piece.rows, names, self.recipe.coded
            )
        )
        if len(found) != 1 or found[0].num_rows != piece.rows:
            raise ValueError("the blobs do not hold the rows that the database counts")
        return found[0]

    def _named(self, batch: Batch) -> tuple[tuple[str, int, int, int], ...]:
        """Return the cache key of a batch: after a restore, other rows may have its ordinals."""
        return tuple(
            (
                self.recipe.parts[piece.part.number].binding.hex(),
                piece.index,
                piece.first,
                piece.last,
            )
            for piece in batch
        )


def _digest(*said: object) -> bytes:
    """A name as long as any other: said in full, that of many small parts is longer than their rows."""
    return hashlib.sha256(repr(said).encode()).digest()


def open_release(
    resources: Resources, context: RequestContext, copy_id: str, selection: Selection
) -> Release:
    """Look up all that the selected rows follow from; NotFound or Refusal when not for the principal."""
    with reading(resources.engine) as connection:
        entry, dataset, grant = downloadable(connection, context, copy_id)
        protection, chain = released_history(resources, connection, dataset.id)
        secret = open_secret(resources, connection, dataset.id)
        first, last = _rows(dataset, grant, selection)
        allowed = released_columns(dataset, grant)
        if not allowed:
            raise Refusal("none of the columns of your grant is released any more")
        columns = _columns(allowed, selection.columns)
        every = datasets.parts(connection, dataset.id)
        retired = datasets.retired(connection, dataset.id, first, last)
        selected = [within(batch, first, last) for batch in batches(every)]
        most = _rows_at_once(len(columns))
        rows = tuple(batch for one in selected if one for batch in cut(one, most))
        parts = {piece.part.number: piece.part for batch in rows for piece in batch}
        known = open_protections(resources, connection, dataset.id, list(parts.values()))
        repeats = _repeats(every)
        promised = promised_variance(connection, entry)
        law = may_know_noise(dataset, grant)
        return Release(
            dataset=dataset,
            entry=entry,
            levels=level_names(connection, grant, entry),
            noise_variances=_noise_variances(parts.values(), known, promised) if law else {},
            applied=protection.published.applied(promised) if law else None,
            columns=columns,
            first=first,
            last=last,
            batches_of_rows=rows,
            retired=np.array(retired, np.int64),
            recipe=copy_recipe(
                dataset,
                columns,
                chain,
                entry,
                protection,
                [ProtectedPart(part, known[n], repeats[n]) for n, part in parts.items()],
                secret,
            ),
            paths=PathCache(resources.noise, cache_key(secret)),
            blobs=resources.blobs,
            kept=resources.copies,
            groups=resources.row_groups,
            downloads=resources.downloads,
        )


def _noise_variances(
    parts: Iterable[Part], protections: Mapping[int, PartProtection], noise_variance: float
) -> dict[str, float]:
    found: Counter[str] = Counter()
    rows = 0
    for part in parts:
        protection = protections[part.number].published
        own = protection.applied(noise_variance) * protection.variances * part.rows
        found.update(dict(zip(protection.numeric, own.tolist(), strict=True)))
        rows += part.rows
    return {name: total / rows for name, total in found.items()}


def _repeats(parts: Sequence[Part]) -> dict[int, int]:
    """Part → how many before it have the same rows."""
    seen: Counter[str] = Counter()
    found = {}
    for part in parts:
        found[part.number] = seen[part.digest]
        seen[part.digest] += 1
    return found


def record_release(
    resources: Resources, context: RequestContext, release: Release, media_type: str
) -> None:
    """Keep in the audit log that this copy is about to leave, and for whom."""
    with unit_of_work(resources, context) as uow:
        uow.record(
            "copy.release",
            release.entry.copy,
            dataset=release.dataset.id,
            sequence=release.entry.sequence,
            columns=len(release.columns),
            first_row=release.first,
            end_row=release.last,
            media_type=media_type,
        )


def _rows_at_once(columns: int) -> int:
    """Rows of a batch, a power of two so that row groups are cut evenly."""
    fitting = BATCH_BYTES // (CELL_BYTES * columns)
    return min(BLOCK_ROWS, max(1, 1 << max(0, fitting.bit_length() - 1)))


def _rows(dataset: Dataset, grant: Grant | None, selection: Selection) -> tuple[int, int]:
    last = dataset.rows if selection.last is None else min(selection.last, dataset.rows)
    if selection.last is not None and selection.last < selection.first:
        raise InvalidParameter("rows must run upwards, as in rows=0:1000", parameter="rows")
    since = 0 if grant is None else min(grant.first_row, dataset.rows)
    return max(min(selection.first, last), since), max(last, since)


def _columns(allowed: tuple[Column, ...], wanted: tuple[str, ...] | None) -> tuple[Column, ...]:
    if wanted is None:
        return allowed
    if not wanted:
        raise InvalidParameter(
            "No column is named; leave `columns` out to have all of them.", parameter="columns"
        )
    names = {column.name for column in allowed}
    # A name may hold a comma; what is no name as it stands is a list of them.
    chosen = {name for said in wanted for name in ([said] if said in names else said.split(","))}
    for name in sorted(chosen):
        if name not in names:
            raise InvalidParameter(
                f"the copy has no column {name!r} for this principal",
                parameter="columns",
                column=name,
            )
    return tuple(column for column in allowed if column.name in chosen)
