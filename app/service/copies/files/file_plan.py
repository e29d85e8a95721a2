"""Plan of a copy's files: row ranges and names.

A file has the rows of consecutive row groups, a million at most (2²⁰, sixteen full ones). Where it is
cut follows from the row groups alone: rows that are appended change no file but the last, and may
add some after it. The id of a file follows from all that its bytes follow from, the writer's version
among them; so the same id is the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from app.numerics.arrays import IntArray
from app.service.context import RequestContext
from app.service.copies.generation.recipe import CopyRecipe
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.copies.generation.row_ranges import RowGroupRange, gathered
from app.service.datasets.output_columns import output_type
from app.service.resources import Resources

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
