"""Tables in: the same table from every format, and what cannot be a table refused by name."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import psutil
import pyarrow as pa
import pytest
from hypothesis import given, settings

from app.errors import InvalidParameter, InvalidTable, TooLarge
from app.model import Limits, Storage
from app.tables.dialect.number_syntax import MISSING_NUMBERS
from app.tables.media import MediaType
from app.tables.pipeline import TableSource, open_table, read_table
from app.tables.stream import AUTOMATIC, Decimal, Header, ReadOptions
from tests.tables.table_bodies import (
    BODIES,
    LIMITS,
    Slow,
    as_arrow,
    as_json,
    as_parquet,
    read,
    tables,
    zstd,
)

SECRET = "hunter2"
TOLD = ReadOptions(delimiter=",", decimal=Decimal.POINT, encoding="utf-8", header=Header.PRESENT)
"""Of a table of any texts nobody could find it out."""


@pytest.mark.parametrize("media_type", BODIES)
@settings(deadline=None, max_examples=25)
@given(table=tables())
def test_every_format_reads_as_the_same_table(media_type: MediaType, table: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        got = read(BODIES[media_type](table), media_type, Path(folder), params=TOLD)
        assert got.equals(table)


@pytest.mark.parametrize("media_type", BODIES)
def test_many_batches_keep_their_order(media_type: MediaType, tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(200_000) + 0.5, "t": [f"t{i % 7}" for i in range(200_000)]})
    got = read(BODIES[media_type](table), media_type, tmp_path)
    assert got.column("x").to_numpy().tolist() == table.column("x").to_numpy().tolist()
    assert got.column("t").to_pylist() == table.column("t").to_pylist()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("zstd", zstd),
        ("identity", bytes),
        ("", bytes),
    ],
)
def test_content_encodings_are_undone(
    encoding: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    got = read(pack(b"a,b\n1,x\n"), "text/csv", tmp_path, encoding=encoding)
    assert got.to_pydict() == {"a": [1.0], "b": ["x"]}


def test_types_become_numbers_or_text(tmp_path: Path) -> None:
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "big": pa.array([2**53 + 1, 5], pa.int64()),
            "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
            "negative": pa.array([-(2**53) - 1, 3], pa.int64()),
            "half": pa.array([np.float16(1.5), None], pa.float16()),
            "single": pa.array([0.5, 2.0], pa.float32()),
            "exact": pa.array([decimal.Decimal("1.25"), None], pa.decimal128(5, 2)),
            "truth": [True, None],
            "day": [dt.date(2020, 1, 31), None],
            "moment": pa.array([dt.datetime(2020, 1, 31, 12, 5), None], pa.timestamp("s")),
            "clock": pa.array([dt.time(12, 5), None], pa.time32("s")),
            "word": pa.array(["x", ""]).dictionary_encode(),
            "nothing": pa.nulls(2),
        }
    )
    for body, media_type in (
        (as_arrow(table), MediaType.ARROW),
        (as_parquet(table), MediaType.PARQUET),
    ):
        assert read(body, media_type, tmp_path).to_pydict() == {
            "small": [1.0, None],
            "big": ["9007199254740993", "5"],
            "unsigned": ["18446744073709551615", None],
            "negative": ["-9007199254740993", "3"],
            "half": [1.5, None],
            "single": [0.5, 2.0],
            "exact": [1.25, None],
            "truth": ["true", None],
            "day": ["2020-01-31", None],
            "moment": ["2020-01-31T12:05:00", None],
            "clock": ["12:05:00", None],
            "word": ["x", None],
            "nothing": [None, None],
        }


def test_json_cells_of_one_sort_become_numbers_or_text(tmp_path: Path) -> None:
    body = (
        b'{"columns": {"n": [1, 2.5, null], "b": [true, null, false], "t": ["a:b", "", null],'
        b' "e": [null, null, null], "big": [9007199254740993, 1, null],'
        b' "bigger": [18446744073709551615, 1, null]}}'
    )
    assert read(body, "application/json; charset=utf-8", tmp_path).to_pydict() == {
        "n": [1.0, 2.5, None],
        "b": ["true", None, "false"],
        "t": ["a:b", None, None],
        "e": [None, None, None],
        "big": ["9007199254740993", "1", None],
        "bigger": ["18446744073709551615", "1", None],
    }


@pytest.mark.parametrize("spelling", MISSING_NUMBERS)
def test_missing_numbers_in_csv_have_several_spellings(spelling: str, tmp_path: Path) -> None:
    body = f"a,t\n1.5,x\n{spelling},y\n".encode()
    got = read(body, "text/csv", tmp_path).to_pydict()
    assert got == {"a": [1.5, None], "t": ["x", "y"]}


def test_a_spelling_of_missing_numbers_among_texts_too_is_asked(tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match="missing=NA"):
        read(b"a,t\n1.5,NA\nNA,y\n", "text/csv", tmp_path)


def test_csv_text_is_kept_as_written(tmp_path: Path) -> None:
    body = b'zip,when,ok,say\n00123,2020-01-31,True,"a ""b"",\nc"\n12345,,False,NA\n'
    assert read(body, "text/csv", tmp_path).to_pydict() == {
        "zip": ["00123", "12345"],
        "when": ["2020-01-31", None],
        "ok": ["True", "False"],
        "say": ['a "b",\nc', "NA"],
    }


def test_csv_integers_that_no_double_holds_are_text(tmp_path: Path) -> None:
    body = b"a,b,c\n9007199254740993,12345678901234567890123,9007199254740991\n1,1,1\n"
    assert read(body, "text/csv", tmp_path).to_pydict() == {
        "a": ["9007199254740993", "1"],
        "b": ["12345678901234567890123", "1"],
        "c": [9007199254740991.0, 1.0],
    }


def test_csv_integers_may_be_followed_by_floats(tmp_path: Path) -> None:
    body = b"a,b\n" + b"1,2\n" * 600_000 + b"1.5,2e-3\n"
    assert read(body, "text/csv", tmp_path).slice(600_000).to_pydict() == {"a": [1.5], "b": [0.002]}


def test_an_empty_line_is_a_missing_cell_only_in_a_table_of_one_column(tmp_path: Path) -> None:
    assert read(b"a\n1\n\n2\n", "text/csv", tmp_path).to_pydict() == {"a": [1.0, None, 2.0]}
    assert read(b"a,b\n1,2\n\n", "text/csv", tmp_path).num_rows == 1


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_csv(tmp_path: Path) -> None:
    body = b"\xef\xbb\xbfa,b\r\n1,x\r\n"
    assert read(body, "text/csv", tmp_path).to_pydict() == {"a": [1.0], "b": ["x"]}


@pytest.mark.parametrize("media_type", BODIES)
def test_a_wish_for_text_settles_how_a_column_is_read(
    media_type: MediaType, tmp_path: Path
) -> None:
    table = pa.table({"code": pa.array([7, 12, None], pa.int64()), "x": [1.0, 2.0, 3.0]})
    got = read(BODIES[media_type](table), media_type, tmp_path, wished={"code": Storage.TEXT})
    assert got.column("code").to_pylist() == ["7", "12", None]


@pytest.mark.parametrize("media_type", BODIES)
def test_a_wish_for_numbers_is_granted_where_the_texts_are_numbers(
    media_type: MediaType, tmp_path: Path
) -> None:
    wished = {"n": Storage.NUMBER}
    table = pa.table({"n": pa.array([None, "1.5", "2"]), "x": [1.0, 2.0, 3.0]})
    got = read(BODIES[media_type](table), media_type, tmp_path, wished=wished)
    assert got.column("n").to_pylist() == [None, 1.5, 2.0]
    table = pa.table({"n": ["1", "2", SECRET], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(InvalidParameter) as refused:
        read(BODIES[media_type](table), media_type, tmp_path, wished=wished)
    assert {"column": "n", "row": 3}.items() <= refused.value.fields.items()
    assert SECRET not in refused.value.detail


def test_a_whole_table_has_a_limit_of_rows(tmp_path: Path) -> None:
    body = b"a\n" + b"1\n" * 11
    assert (
        read_table(TableSource(io.BytesIO(body), "text/csv"), AUTOMATIC, LIMITS, tmp_path).num_rows
        == 11
    )
    with pytest.raises(TooLarge) as refused:
        read_table(
            TableSource(io.BytesIO(body), "text/csv"),
            AUTOMATIC,
            Limits(stateless_rows=10),
            tmp_path,
        )
    assert {"limit_rows": 10}.items() <= refused.value.fields.items()


def test_memory_does_not_grow_with_the_csv(tmp_path: Path) -> None:
    block = b"".join(b"%d.25,%d,abc\n" % (i, i) for i in range(50_000))

    def body(blocks: int) -> Iterator[bytes]:
        yield b"a,b,c\n"
        for _ in range(blocks):
            yield block

    def resident_after(blocks: int) -> int:
        with open_table(
            TableSource(Slow(body(blocks)), "text/csv"), AUTOMATIC, LIMITS, tmp_path
        ) as stream:
            for _ in stream.batches:
                pass
        return int(psutil.Process().memory_info().rss)

    # Arrow reads up to 32 blocks ahead: as many as chance has it lie there when it is done.
    warm = max(resident_after(50), resident_after(50))
    assert resident_after(200) - warm < 40 * 2**20


def test_a_spooled_body_is_not_on_disk_in_clear(tmp_path: Path) -> None:
    from app.tables.bodies.spool import Spool

    secret = b"a very secret value " * 1_000
    spool = Spool(io.BytesIO(secret), tmp_path)
    on_disk = Path(f"/proc/self/fd/{spool._file.fileno()}").read_bytes()
    assert len(on_disk) == len(secret)
    assert b"secret" not in on_disk
    assert list(tmp_path.iterdir()) == []
    assert spool.read() == secret
    assert spool.seek(-7, io.SEEK_END) == len(secret) - 7
    assert spool.read(100) == secret[-7:]
    assert spool.seek(1_001) == spool.tell()
    assert spool.read(50) == secret[1_001:1_051]
    spool.close()


def test_json_and_csv_read_alike_as_a_whole(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, None], "t": pa.array(["a", None], pa.large_string())})
    whole = read_table(
        TableSource(io.BytesIO(as_json(table)), "application/json"), AUTOMATIC, LIMITS, tmp_path
    )
    assert whole.equals(table)


@pytest.mark.parametrize("compression", ["uncompressed", "zstd", "lz4"])
def test_what_polars_writes_is_read(
    compression: Literal["uncompressed", "zstd", "lz4"], tmp_path: Path
) -> None:
    frame = pl.DataFrame(
        {
            "x": [1.5, None, 3.0],
            "i": pl.Series([1, 2, 3], dtype=pl.UInt8),
            "t": ["a", None, "a text that is longer than a view holds"],
            "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "ok": [True, None, False],
            "day": [dt.date(2020, 1, 31), None, None],
        }
    )
    arrow, parquet = io.BytesIO(), io.BytesIO()
    frame.write_ipc_stream(arrow, compression=compression)
    frame.write_parquet(parquet, compression=compression)
    for media_type, body in ((MediaType.ARROW, arrow), (MediaType.PARQUET, parquet)):
        assert read(body.getvalue(), media_type, tmp_path).to_pydict() == {
            "x": [1.5, None, 3.0],
            "i": [1.0, 2.0, 3.0],
            "t": ["a", None, "a text that is longer than a view holds"],
            "c": ["u", "v", "u"],
            "ok": ["true", None, "false"],
            "day": ["2020-01-31", None, None],
        }
