"""Retiring rows: they keep their ordinals, and later downloads leave them out."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter, NotFound
from app.model import Dataset, Part
from app.service.access import owned, owned_and_locked
from app.service.asking import Ask, work
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.registered import datasets


def retire_rows(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    *,
    rows: Sequence[int] | None,
    keys: Sequence[str] | None,
) -> tuple[int, Dataset]:
    """Withdraw rows by ordinal or by key; how many were not withdrawn before."""
    if (rows is None) == (keys is None):
        raise InvalidParameter("give either rows or keys", parameter="rows")
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        parts = datasets.parts(connection, dataset_id)
    # Rows never change, so they are searched before the lock is taken.
    ordinals = rows if keys is None else _rows_of_keys(resources, dataset, parts, keys)
    assert ordinals is not None
    with work(resources, ask) as under_way:
        dataset = owned_and_locked(under_way.connection, ask, dataset_id)
        if ordinals and max(ordinals) >= dataset.rows:
            raise InvalidParameter(
                f"the data set has rows 0 to {dataset.rows - 1}", parameter="rows"
            )
        retired = datasets.retire(under_way.connection, dataset_id, ordinals)
        under_way.record("rows.retire", dataset_id, rows=retired)
        return retired, owned(under_way.connection, ask, dataset_id)


def _rows_of_keys(
    resources: Resources, dataset: Dataset, parts: Sequence[Part], keys: Sequence[str]
) -> list[int]:
    """The ordinals of all rows whose key is among `keys`; each key must occur."""
    if dataset.key_column is None:
        raise InvalidParameter(
            "the data set was registered without key_column; retire rows by ordinal",
            parameter="keys",
        )
    wanted = pa.array(sorted(set(keys)), pa.large_string())
    found: list[int] = []
    seen: set[str] = set()
    for part in parts:
        row = part.first_row
        for batch in resources.blobs.read_rows(part.blob, 0, part.rows, [dataset.key_column]):
            column = batch.column(0)
            matches = pc.indices_nonzero(pc.is_in(column, value_set=wanted))
            found += [row + index for index in matches.to_pylist()]
            seen.update(column.take(matches).to_pylist())
            row += batch.num_rows
    if len(seen) < len(wanted):
        # Which keys are unknown is not said: keys are data.
        raise NotFound(f"{len(wanted) - len(seen)} of the keys do not occur; nothing was retired")
    return found
