"""The rows of a copy on their way out, block by block, the same whatever is asked for at once.

A block is the rows of one noise block: its originals are read, perturbed, typed and handed on as
one Arrow batch, while other threads make the next. Everything but the originals is looked up
before the first row leaves, in one view of the database, and only from what is committed there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from app.errors import InvalidParameter, Refusal
from app.model import Column, Dataset, HistoryEntry, Kind, Part
from app.numerics.grid import largest_magnitude
from app.numerics.noise import BLOCK_ROWS, row_blocks
from app.numerics.perturbation import perturbed
from app.numerics.retention import retention_key
from app.service.asking import Ask, work
from app.service.copies import downloadable, released_history
from app.service.datasets import released_columns
from app.service.noise_source import NoiseSource, noise_source
from app.service.resources import Resources
from app.service.secrets import open_secret
from app.service.shape import Shape
from app.service.typed_output import (
    categories_shown,
    numbers,
    numbers_shown,
    output_type,
    passed_through,
)
from app.store import datasets
from app.store.blobs import BlobStore
from app.store.engine import reading
from app.store.hot_blocks import HotBlocks

THREADS = min(4, os.cpu_count() or 1)
"""Threads that make blocks of one download."""

AHEAD = 1
"""Blocks that wait for the caller beyond those being made."""

T = TypeVar("T")


@dataclass(frozen=True)
class Selection:
    """Which part of a copy: columns by name, rows [first, last) by ordinal; None is all."""

    columns: tuple[str, ...] | None = None
    first: int = 0
    last: int | None = None


@dataclass(frozen=True, repr=False)
class Release:
    """A selection of a copy as one caller may have it at one moment."""

    dataset: Dataset
    entry: HistoryEntry
    columns: tuple[Column, ...]
    first: int
    last: int
    parts: tuple[Part, ...]
    retired: NDArray[np.int64]
    shape: Shape
    noise: NoiseSource
    category_key: bytes
    blobs: BlobStore
    kept: HotBlocks[pa.RecordBatch]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the released columns."""
        return pa.schema([(column.name, output_type(column)) for column in self.columns])

    @property
    def fingerprint(self) -> str:
        """A hash that two releases share exactly when they release the same values.

        The writers' versions are part of it: another version may write the same values otherwise.
        """
        columns = [
            (column.name, str(output_type(column)), column.kind, column.lower, column.upper)
            for column in self.columns
        ]
        blobs = self._blobs(self.first, self.last)
        writers = (pa.__version__, pl.__version__, orjson.__version__)
        said = [self.entry.hash, columns, self.first, self.last, blobs, writers]
        digest = hashlib.sha256(json.dumps(said).encode())
        digest.update(self.retired.tobytes())
        return digest.hexdigest()[:32]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, a block at a time."""
        return self.each_block(lambda block: block)

    def each_block(self, then: Callable[[pa.RecordBatch], T]) -> Iterator[T]:
        """What `then` makes of each block of rows, in order.

        Blocks are made, and `then` is called, by several threads ahead of what is taken.
        """
        pool = ThreadPoolExecutor(THREADS, thread_name_prefix="release")
        waiting: deque[Future[T]] = deque()
        try:
            for start, stop in row_blocks(self.first, self.last):
                waiting.append(pool.submit(lambda a, b: then(self._block(a, b)), start, stop))
                if len(waiting) > THREADS + AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _block(self, start: int, stop: int) -> pa.RecordBatch:
        """The rows [start, stop), all of one block, without those retired."""
        batch = self._perturbed(start, stop)
        first, last = np.searchsorted(self.retired, (start, stop))
        if first == last:
            return batch
        kept = np.ones(stop - start, dtype=bool)
        kept[self.retired[first:last] - start] = False
        return batch.filter(pa.array(kept))

    def _perturbed(self, start: int, stop: int) -> pa.RecordBatch:
        """The rows [start, stop): kept, if they are a whole block that was made before.

        What is kept is named by the history entry, by all that is said of the columns and by where
        its rows lie, so that it is never anything but what would be made again. It is never cut:
        Arrow writes a slice in other bytes, and the ETag promises the same.
        """
        if start % BLOCK_ROWS or stop < min(start + BLOCK_ROWS, self.dataset.rows):
            return self._made(start, stop)
        name = (self.entry.hash, self.columns, start, stop, self._blobs(start, stop))
        held = self.kept.get(name)
        if held is None:
            held = self._made(start, stop)
            self.kept.put(name, held, (self.entry.hash, self.columns))
        return held

    def _made(self, start: int, stop: int) -> pa.RecordBatch:
        """The rows [start, stop), perturbed."""
        originals = self._originals(start, stop)
        shown = self._numeric(originals, start, stop)
        for column in self.columns:
            original = originals[column.name]
            if column.kind is Kind.CATEGORICAL:
                shown[column.name] = categories_shown(
                    original,
                    self.shape.categories[column.name],
                    self.entry.noise_variance,
                    key=self.category_key,
                    column=self.dataset.columns.index(column),
                    start=start,
                )
            elif column.kind is Kind.PASSTHROUGH:
                shown[column.name] = passed_through(column, original)
        # By name and without a default: a column that nobody perturbed has nothing to show.
        return pa.record_batch([shown[column.name] for column in self.columns], schema=self.schema)

    def _numeric(
        self, originals: Mapping[str, pa.Array], start: int, stop: int
    ) -> dict[str, pa.Array]:
        wanted = [column for column in self.columns if column.kind is Kind.NUMERIC]
        if not wanted:
            return {}
        grid = self.shape.grid(self.entry.noise_variance)
        places = [self.shape.numeric.index(column.name) for column in wanted]
        exact = [numbers(originals[column.name]) for column in wanted]
        largest = {c.name: largest_magnitude(x) for c, x in zip(wanted, exact, strict=True)}
        self.shape.check_carried(self.entry.noise_variance, largest)
        values = perturbed(
            exact,
            self.noise.path(start, stop),
            self.shape.factor[places],
            [grid[column.name] for column in wanted],
        )
        return {
            column.name: numbers_shown(column, row, grid[column.name])
            for column, row in zip(wanted, values, strict=True)
        }

    def _blobs(self, start: int, stop: int) -> tuple[str, ...]:
        """Where the rows [start, stop) lie: after a restore, others may have their ordinals."""
        return tuple(
            part.blob
            for part in self.parts
            if part.first_row < stop and start < part.first_row + part.rows
        )

    def _originals(self, start: int, stop: int) -> dict[str, pa.Array]:
        names = [column.name for column in self.columns]
        pieces: list[pa.RecordBatch] = []
        for part in self.parts:
            first, last = max(start - part.first_row, 0), min(stop - part.first_row, part.rows)
            if first < last:
                pieces += self.blobs.read_rows(part.blob, first, last, names)
        table = pa.Table.from_batches(pieces).combine_chunks()
        if table.num_rows != stop - start:
            raise ValueError("the blobs do not hold the rows that the database counts")
        return {name: table.column(name).chunk(0) for name in names}


def open_release(resources: Resources, ask: Ask, copy_id: str, selection: Selection) -> Release:
    """Look up all that the selected rows follow from; NotFound or Refusal when not for the caller."""
    with reading(resources.engine) as connection:
        entry, dataset, grant = downloadable(connection, ask, copy_id)
        shape, entries = released_history(resources, connection, dataset.id)
        secret = open_secret(resources, connection, dataset.id)
        first, last = _rows(dataset, selection)
        allowed = released_columns(dataset, grant)
        if not allowed:
            raise Refusal("none of the columns of your grant is released any more")
        return Release(
            dataset=dataset,
            entry=entry,
            columns=_columns(allowed, selection.columns),
            first=first,
            last=last,
            parts=tuple(datasets.parts(connection, dataset.id)),
            retired=np.array(datasets.retired(connection, dataset.id, first, last), np.int64),
            shape=shape,
            noise=noise_source(
                entries,
                entry,
                secret=secret,
                columns=shape.factor.shape[1],
                rows=dataset.rows,
                cache=resources.noise,
            ),
            category_key=retention_key(secret, bytes.fromhex(shape.hash)),
            blobs=resources.blobs,
            kept=resources.copies,
        )


def record_release(resources: Resources, ask: Ask, release: Release, media_type: str) -> None:
    """Keep in the audit log that this copy is about to leave, and for whom."""
    with work(resources, ask) as under_way:
        under_way.record(
            "copy.release",
            release.entry.copy,
            dataset=release.dataset.id,
            sequence=release.entry.sequence,
            columns=len(release.columns),
            first_row=release.first,
            end_row=release.last,
            media_type=media_type,
        )


def _rows(dataset: Dataset, selection: Selection) -> tuple[int, int]:
    last = dataset.rows if selection.last is None else min(selection.last, dataset.rows)
    if selection.last is not None and selection.last < selection.first:
        raise InvalidParameter("rows must run upwards, as in rows=0:1000", parameter="rows")
    return min(selection.first, last), last


def _columns(allowed: tuple[Column, ...], wanted: tuple[str, ...] | None) -> tuple[Column, ...]:
    if wanted is None:
        return allowed
    names = {column.name for column in allowed}
    # A name may hold a comma; what is no name as it stands is a list of them.
    chosen = {name for said in wanted for name in ([said] if said in names else said.split(","))}
    for name in sorted(chosen):
        if name not in names:
            raise InvalidParameter(
                f"the copy has no column {name!r} for this caller",
                parameter="columns",
                column=name,
            )
    return tuple(column for column in allowed if column.name in chosen)
