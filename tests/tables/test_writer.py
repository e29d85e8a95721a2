"""Tables out: what is written reads as what it was, in chunks, in the format asked for."""

from __future__ import annotations

import itertools
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings

from app.api.transport.endpoints.answers import preferred
from app.errors import NotAcceptable
from app.tables import writer
from app.tables.media import OFFERED, MediaType
from app.tables.stream import BatchMap, Decimal, Header, ReadOptions
from app.tables.writer import CHUNK_BYTES, write_batches, write_table
from tests.tables.table_bodies import read, tables

AS_WRITTEN = ReadOptions(",", Decimal.POINT, "utf-8", Header.PRESENT)
"""Said, since a table of hardly any cells may be read in more than one way."""


def batches_of(table: pa.Table, rows: int) -> BatchMap:
    return lambda then: map(then, table.to_batches(max_chunksize=rows))


@pytest.mark.parametrize("media_type", [one for one in MediaType if one is not MediaType.XLSX])
@settings(deadline=None, max_examples=25)
@given(table=tables())
def test_what_is_written_reads_as_the_same_table(media_type: MediaType, table: pa.Table) -> None:
    body = b"".join(write_batches(batches_of(table, 7), table.schema, media_type))
    with tempfile.TemporaryDirectory() as folder:
        assert read(body, media_type, Path(folder), params=AS_WRITTEN).equals(table)


@pytest.mark.parametrize("media_type", MediaType)
@pytest.mark.parametrize("rows", [777, 50_000])
def test_chunks_are_neither_long_nor_many(media_type: MediaType, rows: int) -> None:
    table = pa.table({"x": np.random.default_rng(1).normal(size=200_000)})
    batches = batches_of(table, rows)
    sizes = [len(chunk) for chunk in write_batches(batches, table.schema, media_type)]
    assert 0 < min(sizes) <= max(sizes) <= CHUNK_BYTES
    # No two neighbours would have fitted into one chunk.
    assert all(a + b > CHUNK_BYTES for a, b in itertools.pairwise(sizes))


@settings(deadline=None, max_examples=50)
@given(table=tables())
def test_arrow_is_what_arrow_itself_would_write(table: pa.Table) -> None:
    """To the byte, slices and missing cells among them: an ETag stands for bytes."""
    batches = [batch.slice(2) for batch in table.to_batches(max_chunksize=7)]
    body = b"".join(write_batches(lambda then: map(then, batches), table.schema, MediaType.ARROW))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert body == sink.getvalue().to_pybytes()


def test_what_is_made_of_batches_at_once_comes_in_their_order() -> None:
    table = pa.table({"x": np.arange(1_000.0)})
    with ThreadPoolExecutor(4) as pool:
        for media_type in (MediaType.CSV, MediaType.ARROW):
            body = b"".join(
                write_batches(
                    lambda then: pool.map(then, table.to_batches(max_chunksize=10)),
                    table.schema,
                    media_type,
                )
            )
            with tempfile.TemporaryDirectory() as folder:
                assert read(body, media_type, Path(folder)).column("x").equals(table.column("x"))


@pytest.mark.parametrize("media_type", MediaType)
def test_a_table_without_rows_has_its_columns(media_type: MediaType) -> None:
    schema = pa.schema([("x", pa.float64()), ("t", pa.large_string())])
    body = b"".join(write_table(schema.empty_table(), media_type))
    match media_type:
        case MediaType.CSV:
            assert body == b"x,t\n"
        case MediaType.JSON:
            assert body == b'{"columns":{"x":[],"t":[]}}'
        case MediaType.ARROW:
            assert pa.ipc.open_stream(body).read_all().schema == schema
        case MediaType.PARQUET:
            assert pa.parquet.read_schema(pa.BufferReader(body)) == schema


def test_integers_are_written_without_a_point_and_floats_in_full() -> None:
    table = pa.table({"i": [1, None], "x": [0.1 + 0.2, 1.0], "t": ['a "b"', None]})
    csv = b"".join(write_table(table, MediaType.CSV))
    assert csv == b'i,x,t\n1,0.30000000000000004,"a ""b"""\n,1.0,\n'
    json = b"".join(write_table(table, MediaType.JSON))
    assert (
        json == b'{"columns":{"i":[1,null],"x":[0.30000000000000004,1.0],"t":["a \\"b\\"",null]}}'
    )


def test_a_missing_cell_of_the_only_column_is_no_empty_line() -> None:
    body = b"".join(write_table(pa.table({"x": [None, 1.5, None]}), MediaType.CSV))
    assert body == b'x\n""\n1.5\n""\n'
    assert pa.csv.read_csv(pa.BufferReader(body)).column("x").to_pylist() == [None, 1.5, None]


def test_floats_have_no_dictionary_in_parquet() -> None:
    table = pa.table({"x": [1.0, 1.0], "t": ["a", "a"]})
    body = b"".join(write_table(table, MediaType.PARQUET))
    group = pa.parquet.ParquetFile(pa.BufferReader(body)).metadata.row_group(0)
    assert not group.column(0).has_dictionary_page
    assert group.column(1).has_dictionary_page


def test_a_table_too_large_for_json_is_offered_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "JSON_BYTES", 1_000)
    table = pa.table({"x": np.zeros(1_000)})
    with pytest.raises(NotAcceptable):
        next(write_table(table, MediaType.JSON))


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, MediaType.CSV),
        ("", MediaType.CSV),
        ("*/*", MediaType.CSV),
        ("application/json", MediaType.JSON),
        ("Application/JSON", MediaType.JSON),
        ("application/*", MediaType.PARQUET),
        ("text/csv;q=0.5, application/json", MediaType.JSON),
        ("text/html, application/xhtml+xml, */*;q=0.8", MediaType.CSV),
        ("text/csv;q=0, */*", MediaType.PARQUET),
        ("application/*;q=0.9, application/json;q=0.1, text/csv;q=0.2", MediaType.PARQUET),
        ("application/vnd.apache.arrow.stream; q=0.7,text/csv; q=0.6", MediaType.ARROW),
        ("text/csv;q=nonsense, application/json;q=0.1", MediaType.JSON),
        ("text/csv;q=nan, application/json;q=0.1", MediaType.JSON),
    ],
)
def test_the_format_that_is_liked_best_is_written(accept: str | None, chosen: MediaType) -> None:
    assert preferred(accept, OFFERED) is chosen


@pytest.mark.parametrize("accept", ["text/html", "image/*", "text/csv;q=0", "*/*;q=0", "nonsense"])
def test_a_format_that_cannot_be_written_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        preferred(accept, OFFERED)


def test_only_what_is_offered_is_chosen() -> None:
    offered = [MediaType.JSON, MediaType.CSV]
    assert preferred(None, offered) is MediaType.JSON
    with pytest.raises(NotAcceptable):
        preferred("application/vnd.apache.parquet", offered)
