"""Further tokens for a missing cell, in whatever format the table came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from app.tables.stream import TableStream


def with_missing(stream: TableStream, tokens: tuple[str, ...]) -> TableStream:
    """The stream with each cell that is one of `tokens` missing; -999 is also the number."""
    if not tokens:
        return stream
    texts = pa.array(tokens, pa.large_string())
    numbers = pa.array(list(_numbers(tokens)), pa.float64())
    return replace(stream, batches=_without(stream, texts, numbers))


def _numbers(tokens: tuple[str, ...]) -> Iterator[float]:
    for token in tokens:
        try:
            yield float(token)
        except ValueError:
            continue


def _without(stream: TableStream, texts: pa.Array, numbers: pa.Array) -> Iterator[pa.RecordBatch]:
    try:
        for batch in stream.batches:
            arrays = [_cells(values, texts, numbers) for values in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
    finally:
        stream.close()


def _cells(values: pa.Array, texts: pa.Array, numbers: pa.Array) -> pa.Array:
    number = pa.types.is_floating(values.type)
    said = pc.is_in(values, numbers) if number else pc.is_in(pc.utf8_trim_whitespace(values), texts)
    if not pc.any(said).as_py():
        return values
    return pc.if_else(said, pa.scalar(None, values.type), values)
