"""Tables in: the same table from every format, and what cannot be a table refused by name."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import gzip
import io
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.api.tables.media import MediaType
from app.api.tables.reading import read_batches, read_table
from app.api.tables.reading_csv import MISSING_NUMBERS
from app.errors import (
    DomainError,
    InvalidParameter,
    InvalidTable,
    TooLarge,
    UnsupportedMediaType,
)
from app.model import Limits, Storage
from tests.api.table_bodies import BODIES, LIMITS, Slow, as_arrow, as_json, as_parquet, read, tables

SECRET = "hunter2"


def zstd(body: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(body)
    packed_bytes: bytes = sink.getvalue().to_pybytes()
    return packed_bytes


@pytest.mark.parametrize("media_type", MediaType)
@settings(deadline=None, max_examples=25)
@given(table=tables())
def test_every_format_reads_as_the_same_table(media_type: MediaType, table: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert read(BODIES[media_type](table), media_type, Path(folder)).equals(table)


@pytest.mark.parametrize("media_type", MediaType)
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
    body = f"a,t\n1.5,{spelling}\n{spelling},y\n".encode()
    got = read(body, "text/csv", tmp_path).to_pydict()
    assert got == {"a": [1.5, None], "t": [spelling or None, "y"]}


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


@pytest.mark.parametrize("media_type", MediaType)
def test_a_wish_for_text_settles_how_a_column_is_read(
    media_type: MediaType, tmp_path: Path
) -> None:
    table = pa.table({"code": pa.array([7, 12, None], pa.int64()), "x": [1.0, 2.0, 3.0]})
    got = read(BODIES[media_type](table), media_type, tmp_path, wished={"code": Storage.TEXT})
    assert got.column("code").to_pylist() == ["7", "12", None]


@pytest.mark.parametrize("media_type", MediaType)
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
    assert refused.value.fields == {"column": "n", "row": 3}
    assert SECRET not in refused.value.detail


FLOATS = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
BAD = pa.array([1.0, float("nan")])
FLAT = b'{"columns": {"a": [1, 2]}}'

REFUSED: list[tuple[str, bytes, str, dict[str, object]]] = [
    ("empty CSV", b"", "text/csv", {}),
    ("blank CSV", b"\n\n", "text/csv", {}),
    ("empty Parquet", b"", MediaType.PARQUET, {}),
    ("empty Arrow", b"", MediaType.ARROW, {}),
    ("empty JSON", b"  ", MediaType.JSON, {}),
    ("header only", b"a,b\n", "text/csv", {}),
    ("header only, no newline", b"a,b", "text/csv", {}),
    ("no rows in Parquet", as_parquet(FLOATS.slice(0, 0)), MediaType.PARQUET, {}),
    ("no rows in Arrow", as_arrow(FLOATS.slice(0, 0)), MediaType.ARROW, {}),
    ("no rows in JSON", b'{"columns": {"a": []}}', MediaType.JSON, {}),
    ("no columns in JSON", b'{"columns": {}}', MediaType.JSON, {}),
    ("the same name twice in CSV", b"a,b,a\n1,2,3\n", "text/csv", {"column": "a"}),
    (
        "the same name twice in Parquet",
        as_parquet(pa.table([[1], [2]], names=["a", "a"])),
        MediaType.PARQUET,
        {"column": "a"},
    ),
    (
        "the same name twice in Arrow",
        as_arrow(pa.table([[1], [2]], names=["a", "a"])),
        MediaType.ARROW,
        {"column": "a"},
    ),
    (
        "the same name twice in JSON",
        b'{"columns": {"a": [1], "a": [2]}}',
        MediaType.JSON,
        {"column": "a"},
    ),
    ("a name that is empty", b"a,,c\n1,2,3\n", "text/csv", {"position": 2}),
    ("a name that is blank", b'a," ",c\n1,2,3\n', "text/csv", {"position": 2}),
    ("a name with a NUL", b"a,b\x00c\n1,2\n", "text/csv", {"position": 2}),
    ("a name with a line break", b'a,"b\nc"\n1,2\n', "text/csv", {"position": 2}),
    ("a name too long", b"a," + b"b" * 201 + b"\n1,2\n", "text/csv", {"position": 2}),
    ("a short row", b"a,b\n1,2\n3\n", "text/csv", {"row": 2}),
    ("a long row", b"a,b\n1,2\n3,4,hunter2\n", "text/csv", {"row": 2}),
    ("a long row after blank lines", b"a,b\n\n1,2\n\n3,4,5\n", "text/csv", {"row": 2}),
    ("a long row after a line break in quotes", b'a,b\n"\n",2\n3,4,5\n', "text/csv", {"row": 2}),
    ("a quote that never ends", b'a,b\n1,2\n"hunter2,4\n', "text/csv", {"row": 2}),
    ("a quote that never ends, long", b'a,b\n1,"' + b"x,\n" * 2**20, "text/csv", {}),
    (
        "number, then text",
        b"a,b\n" + b"1,2\n" * 600_000 + b"1,hunter2\n",
        "text/csv",
        {"column": "b", "row": 600_001},
    ),
    (
        "integer, then one beyond 2^53",
        b"a,b\n" + b"1,2\n" * 600_000 + b"1,9007199254740993\n",
        "text/csv",
        {"column": "b", "row": 600_001},
    ),
    ("nan in CSV", b"a,b\n1,2\nnan,2\n", "text/csv", {"column": "a", "row": 2}),
    ("NaN in CSV", b"a,b\n1,2\n3,NaN\n", "text/csv", {"column": "b", "row": 2}),
    ("inf in CSV", b"a,b\n1,2\n3,-inf\n", "text/csv", {"column": "b", "row": 2}),
    ("1e999 in CSV", b"a,b\n1,2\n3,1e999\n", "text/csv", {"column": "b", "row": 2}),
    (
        "NaN in Parquet",
        as_parquet(pa.table({"a": BAD})),
        MediaType.PARQUET,
        {"column": "a", "row": 2},
    ),
    ("NaN in Arrow", as_arrow(pa.table({"a": BAD})), MediaType.ARROW, {"column": "a", "row": 2}),
    (
        "infinity in Arrow",
        as_arrow(pa.table({"a": [1.0, 2.0, float("-inf")]})),
        MediaType.ARROW,
        {"column": "a", "row": 3},
    ),
    ("NaN in JSON", b'{"columns": {"a": [NaN]}}', MediaType.JSON, {}),
    ("infinity in JSON", b'{"columns": {"a": [1, 1e999]}}', MediaType.JSON, {}),
    ("UTF-8 broken in a text", b"a,b\n1,x\n2,\xff\n", "text/csv", {"column": "b", "row": 2}),
    ("UTF-8 broken in a number", b"a,b\n1,2\n2,\xff\n", "text/csv", {}),
    ("UTF-8 broken in a name", b"a,\xff\n1,x\n", "text/csv", {}),
    ("UTF-8 broken in JSON", b'{"columns": {"a": ["\xff"]}}', MediaType.JSON, {}),
    ("UTF-16", "a,b\n1,2\n".encode("utf-16"), "text/csv", {}),
    ("Parquet cut at its end", as_parquet(FLOATS)[:-20], MediaType.PARQUET, {}),
    ("Parquet cut at its beginning", as_parquet(FLOATS)[50:], MediaType.PARQUET, {}),
    ("no Parquet at all", b"a,b\n1,2\n", MediaType.PARQUET, {}),
    ("Arrow cut", as_arrow(FLOATS)[:-60], MediaType.ARROW, {}),
    ("no Arrow at all", b"a,b\n1,2\n", MediaType.ARROW, {}),
    ("JSON cut", FLAT[:-3], MediaType.JSON, {}),
    ("JSON without columns", b'{"a": [1]}', MediaType.JSON, {}),
    ("JSON that is a list", b"[1, 2]", MediaType.JSON, {}),
    (
        "JSON columns of unequal lengths",
        b'{"columns": {"a": [1, 2, 3], "b": [1, 2]}}',
        MediaType.JSON,
        {"column": "b", "row": 3},
    ),
    (
        "JSON nested cell",
        b'{"columns": {"a": [1, [2]]}}',
        MediaType.JSON,
        {"column": "a", "row": 2},
    ),
    (
        "JSON mixed",
        b'{"columns": {"a": [null, 1, "2"]}}',
        MediaType.JSON,
        {"column": "a", "row": 3},
    ),
    (
        "JSON mixed truth",
        b'{"columns": {"a": [true, 1]}}',
        MediaType.JSON,
        {"column": "a", "row": 2},
    ),
    ("JSON 10,000 deep", b"[" * 10_000 + b"]" * 10_000, MediaType.JSON, {}),
    (
        "JSON 1,000 deep beside a name given twice",
        b'{"columns": ' + b"[" * 1_000 + b"]" * 1_000 + b', "columns": {"a": [1]}}',
        MediaType.JSON,
        {},
    ),
    (
        "nested Parquet",
        as_parquet(pa.table({"a": [[1, 2], [3]]})),
        MediaType.PARQUET,
        {"column": "a"},
    ),
    ("bytes in Arrow", as_arrow(pa.table({"a": [b"x"]})), MediaType.ARROW, {"column": "a"}),
    ("2,001 columns", b"x," * 2_000 + b"x\n", "text/csv", {"columns": 2_001, "limit": 2_000}),
    ("10,001 columns", b"x," * 10_000 + b"x\n", "text/csv", {"columns": 10_001, "limit": 2_000}),
]


@pytest.mark.parametrize(
    ("body", "media_type", "fields"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_what_is_no_table_is_refused_by_column_and_row(
    body: bytes, media_type: str, fields: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(InvalidTable) as refused:
        read(body, media_type, tmp_path)
    assert fields.items() <= refused.value.fields.items()
    assert SECRET not in f"{refused.value.detail} {refused.value.fields}"
    assert list(tmp_path.iterdir()) == []


def test_a_text_far_down_a_number_column_of_a_long_file_is_found(tmp_path: Path) -> None:
    def body() -> Iterator[bytes]:
        yield b"a,b\n"
        for _ in range(40):
            yield b"1,2\n" * 100_000
        yield b"1,hunter2\n"

    with (
        pytest.raises(InvalidTable) as refused,
        read_batches(Slow(body()), "text/csv", None, LIMITS, tmp_path) as stream,
    ):
        for _ in stream.batches:
            pass
    assert refused.value.fields == {"column": "b", "row": 4_000_001}


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "nonsense",
        "text/csv; charset=latin-1",
        "text/csv; header=absent",
    ],
)
def test_other_content_types_are_not_read(content_type: str | None, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedMediaType):
        read_table(io.BytesIO(b"a\n1\n"), content_type, None, LIMITS, tmp_path)


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "compress"])
def test_other_content_encodings_are_not_read(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(b"a\n1\n", "text/csv", tmp_path, encoding=encoding)


@pytest.mark.parametrize("body", [b"a\n1\n", gzip.compress(b"a\n1\n")[:-9], zstd(b"a\n1\n")[:-2]])
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_that_is_not_in_its_content_encoding_is_refused(
    body: bytes, encoding: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidTable):
        read(body, "text/csv", tmp_path, encoding=encoding)


@pytest.mark.parametrize("media_type", MediaType)
@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_a_body_above_the_limit_is_too_large(
    media_type: MediaType, encoding: str | None, tmp_path: Path
) -> None:
    table = pa.table({"x": np.random.default_rng(1).normal(size=5_000)})
    body = BODIES[media_type](table)
    packed = gzip.compress(body) if encoding else body
    read(
        packed,
        media_type,
        tmp_path,
        encoding=encoding,
        limits=Limits(upload_bytes=len(body) + 9_000),
    )
    with pytest.raises(TooLarge) as refused:
        read(
            packed,
            media_type,
            tmp_path,
            encoding=encoding,
            limits=Limits(upload_bytes=len(body) - 1),
        )
    assert refused.value.fields == {"limit_bytes": len(body) - 1}


def test_a_body_that_unpacks_to_much_is_refused_early(tmp_path: Path) -> None:
    def bomb() -> Iterator[bytes]:
        packer = zlib.compressobj(9, wbits=31)
        yield packer.compress(b"a,b\n")
        while True:
            yield packer.compress(b"1,2\n" * 2**18)

    with (
        pytest.raises(TooLarge) as refused,
        read_batches(Slow(filter(None, bomb())), "text/csv", "gzip", LIMITS, tmp_path) as stream,
    ):
        for _ in stream.batches:
            pass
    assert refused.value.fields == {"limit_ratio": 200}


@pytest.mark.parametrize("media_type", [MediaType.PARQUET, MediaType.ARROW])
def test_a_short_body_of_many_rows_is_too_large(media_type: MediaType, tmp_path: Path) -> None:
    rows = 400_000
    table = pa.table({"x": np.zeros(rows)})
    options = {"compression": "zstd"}
    body = (as_parquet if media_type is MediaType.PARQUET else as_arrow)(table, **options)
    limits = Limits(upload_bytes=2**20)
    assert len(body) < limits.upload_bytes // 10
    with pytest.raises(TooLarge):
        read(body, media_type, tmp_path, limits=limits)


def test_a_compressed_arrow_buffer_that_claims_to_be_huge_is_too_large(tmp_path: Path) -> None:
    body = as_arrow(pa.table({"x": np.zeros(1_000)}), compression="zstd")
    claimed = body.replace(struct.pack("<q", 8_000), struct.pack("<q", 2**40))
    assert claimed != body
    with pytest.raises(TooLarge):
        read(claimed, MediaType.ARROW, tmp_path)


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_altered_bytes_are_read_or_refused_and_never_worse(data: st.DataObject) -> None:
    table = pa.table({"x": [1.0, None, 2.5], "t": pa.array(["u", "v", None]).dictionary_encode()})
    media_type = data.draw(st.sampled_from(list(MediaType)))
    body = bytearray(
        BODIES[media_type](
            table.cast(pa.schema([("x", pa.float64()), ("t", pa.string())]))
            if media_type in (MediaType.CSV, MediaType.JSON)
            else table
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(DomainError):
        read(bytes(body), media_type, Path(folder))


def test_a_whole_table_has_a_limit_of_rows(tmp_path: Path) -> None:
    body = b"a\n" + b"1\n" * 11
    assert read_table(io.BytesIO(body), "text/csv", None, LIMITS, tmp_path).num_rows == 11
    with pytest.raises(TooLarge) as refused:
        read_table(io.BytesIO(body), "text/csv", None, Limits(stateless_rows=10), tmp_path)
    assert refused.value.fields == {"limit_rows": 10}


def test_memory_does_not_grow_with_the_csv(tmp_path: Path) -> None:
    block = b"".join(b"%d.25,%d,abc\n" % (i, i) for i in range(50_000))

    def body(blocks: int) -> Iterator[bytes]:
        yield b"a,b,c\n"
        for _ in range(blocks):
            yield block

    def resident_after(blocks: int) -> int:
        with read_batches(Slow(body(blocks)), "text/csv", None, LIMITS, tmp_path) as stream:
            for _ in stream.batches:
                pass
        return int(psutil.Process().memory_info().rss)

    warm = resident_after(20)
    assert resident_after(100) - warm < 40 * 2**20


def test_a_spooled_body_is_not_on_disk_in_clear(tmp_path: Path) -> None:
    from app.api.tables.spool import Spool

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
    whole = read_table(io.BytesIO(as_json(table)), "application/json", None, LIMITS, tmp_path)
    assert whole.equals(table)
