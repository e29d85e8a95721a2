"""Writer of one file of a copy, in any process or machine.

All that it needs are plain values: the recipe of the parts that it has rows of, the keys of the blobs
that these lie in, and where the file goes. What comes back are counts, a hash and the statistics of
perturbed values; rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.service.copies.files.file_plan import FilePlan
from app.service.copies.generation.recipe import block
from app.service.copies.generation.row_ranges import RowGroupRange
from app.service.executor import require_wanted
from app.store.blobs.released import PendingFile
from app.store.blobs.store import BlobRows, row_blocks
from app.tables.writer import rows_in_a_group, text_columns

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
