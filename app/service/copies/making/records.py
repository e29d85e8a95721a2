"""The records of a copy on their way out: categories, and numbers that they determine, as they leave."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from app.model import Column, Kind
from app.service.copies.freezing.pool import Pool
from app.service.copies.typed_output import numbers, numbers_shown
from app.tables.stream import category_text


def records_shown(
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
