"""The rows of a preview as two tables: the original and a simulated copy, numbers and codes alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.model import Kind
from app.numerics.tables import MixedTable
from app.service.attacks.released_sample import (
    OriginalRows,
    code_sizes,
    number_matrix,
    record_codes,
)
from app.service.attacks.simulated_copy import Simulated, numbers_released


@dataclass(frozen=True, repr=False)
class Side:
    """Original or copy, by the names of its columns."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    cells: MixedTable


def original_side(original: OriginalRows) -> Side:
    """The rows as they are; a missing category is a category."""
    numbers = tuple(column.name for column in original.columns if column.kind.noised)
    categories = tuple(c.name for c in original.columns if c.kind is Kind.CATEGORICAL)
    codes = record_codes(original.table, categories).astype(np.intp)
    cells = MixedTable(
        number_matrix(original.table, numbers), codes, tuple(code_sizes(codes.astype(np.int32)))
    )
    return Side(numbers, categories, cells)


def copied_side(original: OriginalRows, before: Side, simulated: Simulated) -> Side:
    """The same rows in a copy: noised numbers as released, all else from the row whose record is shown."""
    by_name = {column.name: column for column in original.columns}
    released = simulated.copied.rows.released
    columns = []
    for place, name in enumerate(before.numbers):
        if name in original.numbers:
            columns.append(released[:, original.numbers.index(name)])
        else:
            shown = before.cells.numeric[simulated.sources, place]
            columns.append(numbers_released(by_name[name], shown))
    n = before.cells.records
    numeric = np.stack(columns, axis=1) if columns else np.empty((n, 0))
    codes = before.cells.codes[simulated.sources]
    return Side(
        before.numbers, before.categories, MixedTable(numeric, codes, before.cells.categories)
    )
