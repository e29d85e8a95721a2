"""Writer of one file of a copy, in any process or machine.

All that it needs are plain values: the recipe of the parts that it has rows of, the keys of the blobs
that these lie in, and where the file goes. What comes back are counts, a hash and the statistics of
perturbed values; rows stay where they are.

A release is cut into files of the rows of consecutive row groups, a million at most (2²⁰, sixteen full ones). Where it is
cut follows from the row groups alone: rows that are appended change no file but the last, and may add some after it. The
id of a file follows from all that its bytes follow from, the writer's version among them; so the same id is the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.numerics.arrays import IntArray
from app.service.context import RequestContext
from app.service.copies.generation.recipe import CopyRecipe, block
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.copies.generation.row_ranges import RowGroupRange, gathered
from app.service.datasets.output_columns import output_type
from app.service.executor import require_wanted
from app.service.resources import Resources
from app.store.blobs.released import PendingFile
from app.store.blobs.store import BlobRows, row_blocks
from app.tables.writer import rows_in_a_group, text_columns

FILE_ROWS = 16 * 65_536
FILE_CELLS = 2**28
"""A table of more than 256 columns has files of fewer rows."""

FORMAT = "parquet 1"
"""Another number for another way to write the same rows."""


@dataclass(frozen=True, repr=False)
class FilePlan:
    """A file that a release has, written or not.

    where:
        recipe   for the parts that the file has rows of, and no others
        retired  ordinals between its first and its last that are withdrawn, ascending
    """

    id: str
    recipe: CopyRecipe
    pieces: tuple[RowGroupRange, ...]
    retired: IntArray

    @property
    def first_row(self) -> int:
        return self.pieces[0].ordinal

    @property
    def end_row(self) -> int:
        """The ordinal after its last."""
        return self.pieces[-1].ordinal + self.pieces[-1].rows

    @property
    def rows(self) -> int:
        """How many rows it has, without those withdrawn."""
        runs = [(piece.ordinal, piece.ordinal + piece.rows) for piece in self.pieces]
        left_out = [np.searchsorted(self.retired, run) for run in runs]
        rows = sum(piece.rows for piece in self.pieces)
        return rows - sum(int(last - first) for first, last in left_out)


def planned_files(
    resources: Resources, context: RequestContext, copy_id: str, selection: Selection
) -> tuple[Release, list[FilePlan]]:
    """The files of a selection as the principal may have it; none where it has no rows."""
    release = open_release(resources, context, copy_id, selection)
    return release, [_plan(release, pieces) for pieces in _cut(release)]


def first_plans(plans: Sequence[FilePlan], enough_rows: int) -> list[FilePlan]:
    """Return the first files that together have at least `rows` rows, or all."""
    taken: list[FilePlan] = []
    rows = 0
    for plan in plans:
        if rows >= enough_rows:
            break
        taken.append(plan)
        rows += plan.rows
    return taken


def _cut(release: Release) -> Iterator[tuple[RowGroupRange, ...]]:
    most = min(FILE_ROWS, max(1, FILE_CELLS // len(release.columns)))
    return gathered(chain.from_iterable(release.batches_of_rows), most)


def _plan(release: Release, pieces: tuple[RowGroupRange, ...]) -> FilePlan:
    numbers = {piece.part.number for piece in pieces}
    recipe = replace(
        release.recipe, parts={number: release.recipe.parts[number] for number in numbers}
    )
    plan = FilePlan("", recipe, pieces, release.retired)
    first, last = np.searchsorted(release.retired, (plan.first_row, plan.end_row))
    retired = release.retired[first:last].copy()
    return FilePlan(_id(recipe, pieces, retired), recipe, pieces, retired)


def _id(recipe: CopyRecipe, pieces: tuple[RowGroupRange, ...], retired: IntArray) -> str:
    columns = [
        (column.name, str(output_type(column)), column.kind, column.lower, column.upper)
        for column in recipe.columns
    ]
    lie = [
        (recipe.parts[piece.part.number].binding.hex(), piece.index, piece.first, piece.last)
        for piece in pieces
    ]
    said = [FORMAT, pa.__version__, recipe.entry_hash, columns, lie]
    digest = hashlib.sha256(json.dumps(said).encode())
    digest.update(retired.tobytes())
    return digest.hexdigest()[:32]


Statistics = dict[str, dict[str, Any]]
"""Column → how many cells are missing, and the least and the greatest of the others."""


@dataclass(frozen=True, repr=False)
class FileTask:
    """A file to be written."""

    plan: FilePlan
    originals: BlobRows
    file: PendingFile


@dataclass(frozen=True, repr=False)
class CopyFileStatistics:
    """A file that was written."""

    rows: int
    size: int
    sha256: str
    statistics: Statistics


def write_file(task: FileTask) -> CopyFileStatistics:
    """Make the rows and write them; the file appears whole or not at all."""
    schema = task.plan.recipe.schema
    statistics: Statistics = {name: {"missing": 0} for name in schema.names}
    rows = 0
    with (
        task.file.opened() as (sink, written),
        pq.ParquetWriter(sink, schema, use_dictionary=text_columns(schema)) as writer,
    ):
        for group in row_blocks(_made_rows(task.plan, task.originals), rows_in_a_group(schema)):
            require_wanted()
            # In one piece: where pieces meet would show in the pages.
            whole = group.combine_chunks()
            writer.write_table(whole)
            rows += whole.num_rows
            for name in schema.names:
                _see(statistics[name], whole.column(name))
    return CopyFileStatistics(rows, written.size, written.sha256, statistics)


def _made_rows(plan: FilePlan, originals: BlobRows) -> Iterator[pa.RecordBatch]:
    """The rows of a plan, perturbed, piece by piece."""
    held: tuple[tuple[str, int], pa.RecordBatch] | None = None
    for piece in plan.pieces:
        group = (piece.part.blob, piece.index)
        if held is None or held[0] != group:
            held = group, _row_group(plan, originals, piece.of_whole_group())
        own = held[1].slice(piece.first, piece.rows)
        made = block(plan.recipe, own, piece.part.number, piece.index, first=piece.first)
        yield _without_retired(plan, piece, made)


def _row_group(plan: FilePlan, originals: BlobRows, piece: RowGroupRange) -> pa.RecordBatch:
    start = piece.ordinal - piece.part.first_row
    names, coded = plan.recipe.schema.names, plan.recipe.coded
    found = list(originals.read_rows(piece.part.blob, start, start + piece.rows, names, coded))
    if len(found) != 1 or found[0].num_rows != piece.rows:
        raise ValueError("the blobs do not hold the rows that the database counts")
    return found[0]


def _without_retired(plan: FilePlan, piece: RowGroupRange, made: pa.RecordBatch) -> pa.RecordBatch:
    first, last = np.searchsorted(plan.retired, (piece.ordinal, piece.ordinal + piece.rows))
    if first == last:
        return made
    kept = np.ones(piece.rows, dtype=bool)
    kept[plan.retired[first:last] - piece.ordinal] = False
    return made.filter(pa.array(kept))


def _see(seen: dict[str, Any], values: pa.ChunkedArray) -> None:
    seen["missing"] += values.null_count
    bounds = pc.min_max(values)
    for name, better in (("min", min), ("max", max)):
        found = bounds[name].as_py()
        if found is None:
            continue
        found = found.isoformat() if isinstance(found, date) else found
        seen[name] = found if name not in seen else better(seen[name], found)
