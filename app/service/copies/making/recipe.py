"""All that a copy is made of but the original rows, and how a block of rows becomes part of it.

A recipe is a plain value: no connection, no store, no lock. It can be sent to another process or
machine together with originals, and `block` gives the same rows there.

The noise of a part is bound to its rows and to its shape. Other rows under the same ordinals, which a
restore may bring about, meet fresh noise; and the same path is never shown under two shapes, whose
difference would give it away.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.errors import NotReleasable
from app.model import BLOCK_ROWS, Column, Dataset, HistoryEntry, Kind, Part, Storage
from app.numerics.copies.grid import largest_magnitude
from app.numerics.copies.noise.definition import RECIPE
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.path import PathDraws, Rows, draws_needed
from app.numerics.copies.perturbation import perturbed_block
from app.numerics.copies.records import record_key
from app.service.copies.chain import Chain
from app.service.copies.freezing.frozen import Frozen, refuse_lost_noise
from app.service.copies.freezing.pool import Pool
from app.service.copies.freezing.shape import Shape
from app.service.copies.typed_output import numbers, numbers_shown, output_type, passed_through
from app.store.database.copies.history import HistoryNotWhole
from app.tables.stream import category_text

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class PartRecipe:
    """What is particular to the rows of one part.

    where:
        binding       the rows and their shape, keyed: what the draws are bound to
        factor        (d, d), L of the part's shape
        record_key    by which its records are kept or replaced
    """

    first_row: int
    binding: bytes
    draws: PathDraws
    factor: FloatArray
    record_key: bytes


@dataclass(frozen=True, repr=False)
class CopyRecipe:
    """A copy, or some columns of it.

    where:
        columns  those released, in the data set's order
        record   all columns that are kept or replaced together, in the pool's order
        pool     the donors, where there are such columns
        parts    number → what is particular to the part's rows

    What follows from these is found once: hundreds of batches are made of one recipe.
    """

    entry_hash: str
    applied_variance: float
    columns: tuple[Column, ...]
    record: tuple[Column, ...]
    pool: Pool | None
    frozen: Frozen
    parts: Mapping[int, PartRecipe]

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the released columns."""
        return pa.schema([(column.name, output_type(column)) for column in self.columns])

    @cached_property
    def grid(self) -> dict[str, int]:
        """Column → exponent of its release grid; NotReleasable where noise would be lost."""
        return self.frozen.grid(self.applied_variance)

    @cached_property
    def numeric(self) -> tuple[Column, ...]:
        """The released columns that carry noise."""
        return tuple(column for column in self.columns if column.name in self.frozen.numeric)

    @cached_property
    def recorded(self) -> tuple[Column, ...]:
        """The released columns that are of the record."""
        return tuple(column for column in self.columns if column in self.record)

    @cached_property
    def read(self) -> list[str]:
        """The columns that must be read: with one of the record all of it."""
        whole = self.record if self.recorded else ()
        return list(dict.fromkeys(column.name for column in (*self.columns, *whole)))

    @cached_property
    def coded(self) -> list[str]:
        """Those of the columns that are read as codes: the record's texts."""
        return [column.name for column in self.record if column.storage is Storage.TEXT]


def copy_recipe(
    dataset: Dataset,
    columns: tuple[Column, ...],
    chain: Chain,
    entry: HistoryEntry,
    frozen: Frozen,
    pool: Pool | None,
    parts: Mapping[int, tuple[Part, Shape]],
    secret: bytes,
) -> CopyRecipe:
    """The recipe of an entry's copy for these parts; `chain` is the whole history.

    HistoryNotWhole when an entry was drawn by a recipe that this version does not know,
    NotReleasable when the rows of a part were stored before noise was bound to rows.
    """
    if chain.recipes - {RECIPE}:
        raise HistoryNotWhole("an entry of the history was drawn by an unknown recipe")
    target = entry.sequence - 1
    # Only of those that the target leads back to: the others may be thousands.
    hashes = {
        position: bytes.fromhex(chain.entries[position].hash)
        for position in draws_needed(chain.bridges, target, {})
    }
    made: dict[int, PartRecipe] = {}
    for number, (part, shape) in parts.items():
        binding = _binding(secret, part, shape)
        keys = {position: draw_key(secret, hash_, binding) for position, hash_ in hashes.items()}
        made[number] = PartRecipe(
            first_row=part.first_row,
            binding=binding,
            draws=PathDraws(chain.bridges, target, keys, len(frozen.numeric)),
            factor=shape.factor,
            record_key=record_key(secret, bytes.fromhex(frozen.hash), binding),
        )
    by_name = {column.name: column for column in dataset.columns}
    record = tuple(by_name[name] for name in frozen.records)
    return CopyRecipe(entry.hash, entry.applied_variance, columns, record, pool, frozen, made)


def block(
    recipe: CopyRecipe,
    originals: pa.RecordBatch,
    part: int,
    index: int,
    *,
    first: int = 0,
    known: Mapping[int, FloatArray] | None = None,
    keep: FloatArray | None = None,
) -> pa.RecordBatch:
    """Rows of one row group of a part as the copy shows them, from `first` on.

    `originals` are those rows as they are stored, in the columns of `recipe.read`. `known` and `keep` are as in `perturbed_block`.
    NotReleasable when a number is so large that its noise would be lost to rounding.
    """
    own = recipe.parts[part]
    rows = Rows(index, first, first + originals.num_rows)
    shown = _numeric(recipe, own, originals, rows, known, keep)
    if recipe.pool is not None and recipe.recorded:
        shown |= _records(
            recipe.pool,
            recipe.record,
            recipe.recorded,
            originals,
            recipe.applied_variance,
            key=own.record_key,
            start=index * BLOCK_ROWS + first,
        )
    for column in recipe.columns:
        if column.kind is Kind.PASSTHROUGH:
            shown[column.name] = passed_through(column, originals.column(column.name))
    # By name and without a default: a column that nobody perturbed has nothing to show.
    arrays = [shown[column.name] for column in recipe.columns]
    return pa.record_batch(arrays, schema=recipe.schema)


def _numeric(
    recipe: CopyRecipe,
    own: PartRecipe,
    originals: pa.RecordBatch,
    rows: Rows,
    known: Mapping[int, FloatArray] | None,
    keep: FloatArray | None,
) -> dict[str, pa.Array]:
    wanted = recipe.numeric
    if not wanted:
        return {}
    grid = recipe.grid
    places = [recipe.frozen.numeric.index(column.name) for column in wanted]
    exact = [numbers(originals.column(column.name)) for column in wanted]
    largest = {c.name: largest_magnitude(x) for c, x in zip(wanted, exact, strict=True)}
    refuse_lost_noise(grid, largest)
    values = perturbed_block(
        exact,
        own.draws,
        rows,
        L=own.factor[places],
        exponents=[grid[column.name] for column in wanted],
        known=known,
        keep=keep,
    )
    return {
        column.name: numbers_shown(column, row, grid[column.name])
        for column, row in zip(wanted, values, strict=True)
    }


def _records(
    pool: Pool,
    record: Sequence[Column],
    wanted: Sequence[Column],
    originals: pa.RecordBatch,
    applied_variance: float,
    *,
    key: bytes,
    start: int,
) -> dict[str, pa.Array]:
    """Those wanted of the columns of the record, for a part's rows from `start` on.

    `originals` has all columns of the record: whether one is kept depends on all its values,
    whichever of them are released.
    """
    values = {
        column.name: category_text(originals.column(column.name))
        if column.kind is Kind.CATEGORICAL
        else originals.column(column.name)
        for column in record
    }
    names = [column.name for column in wanted]
    shown = pool.shown(values, names, applied_variance, key=key, start=start)
    for column in wanted:
        if column.kind.noised:
            shown[column.name] = numbers_shown(column, numbers(shown[column.name]), None)
    return shown


def _binding(secret: bytes, part: Part, shape: Shape) -> bytes:
    if not part.digest:
        raise NotReleasable(
            "The rows were stored by an earlier version, which did not bind noise to them; register"
            " the table anew.",
            part=part.number,
        )
    content = b"cornerwave noise v1\0" + bytes.fromhex(part.digest) + bytes.fromhex(shape.hash)
    return hmac.new(secret, content, hashlib.sha256).digest()
