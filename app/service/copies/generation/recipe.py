"""Recipe of a copy: everything but the original rows, and the function that perturbs a block.

A recipe is a plain value: no connection, no store, no lock. It can be sent to another process or
machine together with originals, and `block` gives the same rows there.

The noise of a part is bound to its rows, to its protection, and to how many earlier parts have the same rows. Other rows
under the same ordinals, which a restore may bring about, meet fresh noise; the same path is never shown under two
shapes, whose difference would give it away; and rows that come again have noise of their own.

A path comes from the cache where that pays. Drawing a block costs less than fetching it from another machine, and hardly
more than copying it. A path that hangs from several others is another matter: each of them is a draw of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.model import BLOCK_ROWS, Column, Dataset, HistoryEntry, Kind, Part, Storage
from app.numerics.copies.grid import largest_magnitude
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.path import PathDraws, RowRange, draws_needed
from app.numerics.copies.perturbation import perturbed_block
from app.numerics.copies.records import record_key
from app.service.copies.generation.history import Chain
from app.service.datasets.output_columns import (
    numbers_shown,
    output_type,
    passed_through,
    scaled_numbers,
)
from app.service.datasets.protection.declaration import Declaration
from app.service.datasets.protection.donor_pool import CategoryPool, DeclaredPool, DonorPool
from app.service.datasets.protection.part_protection import PartProtection, refuse_lost_noise
from app.store.caches.block_cache import BlockName, NoiseCache
from app.store.database.copies.history import HistoryNotWhole
from app.tables.stream import category_text

FloatArray = NDArray[np.float64]

LEAST_DRAWS = 3
"""Draws from which on a path is looked for in the cache, and kept there."""


@dataclass(frozen=True, repr=False)
class PathCache:
    """Blocks of the paths of one data set; `key` protects them outside this process."""

    cache: NoiseCache
    key: bytes

    def at_hand(self, draws: PathDraws, rows: RowRange) -> dict[int, FloatArray]:
        """Return the cached path of the target or, without one, those it depends on."""
        known: dict[int, FloatArray] = {}
        asked: set[int] = set()
        waiting = [draws.target]
        while waiting:
            position = waiting.pop()
            if position in asked or not worth_keeping(draws, position):
                continue
            asked.add(position)
            held = self.cache.get(
                _name(draws, position, rows), columns=draws.columns, rows=rows.last, key=self.key
            )
            if held is not None:
                known[position] = held[:, rows.first : rows.last]
                continue
            bridge = draws.history[position]
            waiting += [end for end in (bridge.lower, bridge.upper) if end is not None]
        return known

    def keep(self, draws: PathDraws, rows: RowRange, path: FloatArray) -> None:
        """Keep the target's path of a whole block."""
        self.cache.put(_name(draws, draws.target, rows), path, self.key)


def worth_keeping(draws: PathDraws, position: int) -> bool:
    """Return whether drawing the path at a position anew costs more than keeping it."""
    return len(draws_needed(draws.history, position, {})) >= LEAST_DRAWS


def _name(draws: PathDraws, position: int, rows: RowRange) -> BlockName:
    """By what the block is drawn with, which says entry, part and shape, and tells nobody the key."""
    return BlockName(hashlib.sha256(b"path\0" + draws.keys[position]).hexdigest(), rows.block)


@dataclass(frozen=True, repr=False)
class PartRecipe:
    """Recipe of one part's rows.

    where:
        binding           the rows and their protection, keyed: what the draws are bound to
        applied_variance  a(v) of the part
        factor            (d, d), L of the part's shape
        grid              column → exponent of its step, that of the copy's grid or a coarser one
        record_key        by which its records are kept or replaced
        pool              donors, where there are categorical columns
        declared          what rows are held to first, under formal protection
    """

    first_row: int
    binding: bytes
    applied_variance: float
    draws: PathDraws
    factor: FloatArray
    grid: Mapping[str, int]
    record_key: bytes
    pool: CategoryPool | None
    declared: Declaration | None


@dataclass(frozen=True, repr=False)
class CopyRecipe:
    """A copy, or some columns of it.

    where:
        columns  those released, in the data set's order
        noised   names of all columns with noise, in the order of the shapes
        parts    number → what is particular to the part's rows

    What follows from these is found once: hundreds of batches are made of one recipe.
    """

    entry_hash: str
    columns: tuple[Column, ...]
    noised: tuple[str, ...]
    parts: Mapping[int, PartRecipe]

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the released columns."""
        return pa.schema([(column.name, output_type(column)) for column in self.columns])

    @cached_property
    def numeric(self) -> tuple[Column, ...]:
        """The released columns that carry noise."""
        return tuple(column for column in self.columns if column.name in self.noised)

    @cached_property
    def categorical(self) -> tuple[Column, ...]:
        """The released columns whose values are replaced."""
        return tuple(column for column in self.columns if column.kind is Kind.CATEGORICAL)

    @cached_property
    def coded(self) -> list[str]:
        """Those of the columns that are read as codes: texts that are replaced."""
        return [column.name for column in self.categorical if column.storage is Storage.TEXT]


@dataclass(frozen=True, repr=False)
class ProtectedPart:
    """A part, its protection, and how many earlier parts have the same rows."""

    part: Part
    protection: PartProtection
    repeats: int


def copy_recipe(
    dataset: Dataset,
    columns: tuple[Column, ...],
    chain: Chain,
    entry: HistoryEntry,
    first: PartProtection,
    parts: Sequence[ProtectedPart],
    secret: bytes,
) -> CopyRecipe:
    """The recipe of an entry's copy for these parts.

    `chain` is the whole history, `first` the protection that the columns were frozen with. NotReleasable when a number is so
    large that its noise would be lost to rounding.
    """
    by_name = {column.name: column for column in dataset.columns}
    for name, unit in zip(first.numeric, first.scale_units, strict=True):
        if by_name[name].scale_unit != unit:  # the same path on two scales would give itself away
            raise HistoryNotWhole("the scale of a column is not the one it was frozen with")
    return CopyRecipe(
        entry_hash=entry.hash,
        columns=columns,
        noised=first.numeric,
        parts={one.part.number: _part_recipe(one, chain, entry, secret) for one in parts},
    )


def _part_recipe(
    protected: ProtectedPart, chain: Chain, entry: HistoryEntry, secret: bytes
) -> PartRecipe:
    part, protection = protected.part, protected.protection
    binding = _binding(secret, protected)
    target = entry.sequence - 1
    # Only of those that the target leads back to: the others may be thousands.
    history = chain.bridges_to(target, protection.r_squared)
    keys = {
        position: draw_key(secret, bytes.fromhex(chain.entries[position].hash), binding)
        for position in history
    }
    pool: CategoryPool | None = None
    declared = protection.declared
    if declared is not None and declared.values:
        pool = DeclaredPool(declared)
    elif protection.donors is not None:
        pool = DonorPool.of(protection.donors, secret, protection.hash, protection.rows)
    return PartRecipe(
        first_row=part.first_row,
        binding=binding,
        applied_variance=protection.applied(entry.noise_variance),
        draws=PathDraws(history, target, keys, len(protection.numeric)),
        factor=protection.factor,
        grid=protection.grid(entry.noise_variance),
        record_key=record_key(secret, binding),
        pool=pool,
        declared=declared,
    )


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

    `originals` are those rows as they are stored, in the columns that are released. `known` and `keep` are as in `perturbed_block`.
    NotReleasable when a number is so large that its noise would be lost to rounding.
    """
    own = recipe.parts[part]
    rows = RowRange(index, first, first + originals.num_rows)
    shown = _numeric(recipe, own, originals, rows, known, keep)
    if own.pool is not None and recipe.categorical:
        values = {
            column.name: category_text(originals.column(column.name))
            for column in recipe.categorical
        }
        start = index * BLOCK_ROWS + first
        shown |= own.pool.shown(values, own.applied_variance, key=own.record_key, start=start)
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
    rows: RowRange,
    known: Mapping[int, FloatArray] | None,
    keep: FloatArray | None,
) -> dict[str, pa.Array]:
    wanted = recipe.numeric
    if not wanted:
        return {}
    grid = own.grid
    places = [recipe.noised.index(column.name) for column in wanted]
    exact = [scaled_numbers(column, originals.column(column.name)) for column in wanted]
    if own.declared is not None:
        # Bounds hold the rows; what leaves may lie beyond them, or estimates from it would be biased.
        exact = [
            own.declared.held_numbers(place, x) for place, x in zip(places, exact, strict=True)
        ]
        wanted = tuple(replace(column, lower=None, upper=None) for column in wanted)
    largest = {c.name: largest_magnitude(x) for c, x in zip(wanted, exact, strict=True)}
    refuse_lost_noise({name: grid[name] for name in largest}, largest)
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


def _binding(secret: bytes, protected: ProtectedPart) -> bytes:
    assert protected.part.protection is not None
    content = b"cornerwave noise v2\0" + bytes.fromhex(protected.part.digest)
    content += bytes.fromhex(protected.part.protection) + protected.repeats.to_bytes(8, "big")
    return hmac.new(secret, content, hashlib.sha256).digest()
