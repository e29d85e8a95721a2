"""Columns that say the same as another, one to one, in the rows that are compared."""

from __future__ import annotations

import hashlib

import pyarrow as pa

ROWS = 20_000
COLUMNS = 500
"""Of more columns only so many are compared."""


def repeating_columns(batch: pa.RecordBatch) -> dict[str, str]:
    """Column → the first one before it that it repeats, under whatever names its values have.

    A dictionary numbers values in order of appearance, so columns that are one to one have the same
    numbers. Columns of which every value differs all have the same ones: these must be equal.
    """
    rows = batch.slice(0, ROWS)
    first: dict[bytes, str] = {}
    found = {}
    for name, values in list(zip(rows.schema.names, rows.columns, strict=True))[:COLUMNS]:
        coded = values.dictionary_encode(null_encoding="encode")
        if len(coded.dictionary) < 2:
            continue
        unique = len(coded.dictionary) == rows.num_rows
        key = values if unique else coded.indices
        digest = hashlib.sha256(str(values.type if unique else "").encode())
        for part in key.buffers():
            digest.update(part or b"-")
        mark = digest.digest()
        if mark in first:
            found[name] = first[mark]
        else:
            first[mark] = name
    return found
