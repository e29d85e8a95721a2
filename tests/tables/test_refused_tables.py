"""What is no table, or too much of one, is refused by column and row and never worse."""

from __future__ import annotations

import contextlib
import gzip
import io
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import DomainError, InvalidTable, TooLarge, UnsupportedMediaType
from app.model import Limits
from app.tables.media import MediaType
from app.tables.pipeline import TableSource, open_table, read_table
from app.tables.stream import AUTOMATIC
from tests.tables.table_bodies import BODIES, LIMITS, Slow, as_arrow, as_parquet, read, zstd

SECRET = "hunter2"

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
    ("a name with a NUL", b"a,b\x00c\n1,2\n", "text/csv", {}),
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
    ("UTF-8 broken in a text", b"a,b\n1,x\n2,\xff\n", "text/csv", {"parameter": "encoding"}),
    ("UTF-8 broken in a number", b"a,b\n1,2\n2,\xff\n", "text/csv", {}),
    ("UTF-8 broken in a name", b"a,\xff\n1,x\n", "text/csv", {}),
    ("UTF-8 broken in JSON", b'{"columns": {"a": ["\xff"]}}', MediaType.JSON, {}),
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
    assert fields == {name: refused.value.fields.get(name) for name in fields}
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
        open_table(TableSource(Slow(body()), "text/csv"), AUTOMATIC, LIMITS, tmp_path) as stream,
    ):
        for _ in stream.batches:
            pass
    assert {"column": "b", "row": 4_000_001}.items() <= refused.value.fields.items()


@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "nonsense", "image/png", "multipart/form-data"],
)
def test_other_content_types_are_not_read(content_type: str | None, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedMediaType):
        read_table(TableSource(io.BytesIO(b"a\n1\n"), content_type), AUTOMATIC, LIMITS, tmp_path)


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/octet-stream"])
def test_a_body_of_no_named_format_is_looked_at(content_type: str | None, tmp_path: Path) -> None:
    table = read_table(
        TableSource(io.BytesIO(b"a\n1\n"), content_type), AUTOMATIC, LIMITS, tmp_path
    )
    assert table.to_pydict() == {"a": [1.0]}


def test_parameters_of_the_content_type_say_how_text_is_read(tmp_path: Path) -> None:
    said = "text/csv; charset=latin-1; header=absent"
    table = read_table(
        TableSource(io.BytesIO(b"1,\xe9\n2,\xe8\n"), said), AUTOMATIC, LIMITS, tmp_path
    )
    assert table.to_pydict() == {"column_1": [1.0, 2.0], "column_2": ["é", "è"]}


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "compress"])
def test_other_content_encodings_are_not_read(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(b"a\n1\n", "text/csv", tmp_path, encoding=encoding)


@pytest.mark.parametrize(
    "body",
    [b"a\n1\n", gzip.compress(b"a\n1\n")[:-9], zstd(b"a\n1\n")[:-2]],
    ids=["plain", "gzip cut", "zstd cut"],  # gzip's header holds the time: no name for a test
)
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_that_is_not_in_its_content_encoding_is_refused(
    body: bytes, encoding: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidTable):
        read(body, "text/csv", tmp_path, encoding=encoding)


@pytest.mark.parametrize("media_type", BODIES)
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
        open_table(
            TableSource(Slow(filter(None, bomb())), "text/csv", "gzip"), AUTOMATIC, LIMITS, tmp_path
        ) as stream,
    ):
        for _ in stream.batches:
            pass
    assert {"limit_ratio": 200}.items() <= refused.value.fields.items()


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


@pytest.mark.parametrize("offset", [2**30, -5, 1])
def test_arrow_offsets_that_point_elsewhere_are_refused(offset: int, tmp_path: Path) -> None:
    body = as_arrow(pa.table({"t": pa.array(["ab", "cd", "ef"])}))
    altered = body.replace(struct.pack("<4i", 0, 2, 4, 6), struct.pack("<4i", 0, 2, offset, 6))
    assert altered != body
    with pytest.raises(InvalidTable):
        read(altered, MediaType.ARROW, tmp_path)


@pytest.mark.parametrize("bit", [1, 2])
def test_no_altered_byte_of_a_parquet_footer_ends_the_process(bit: int, tmp_path: Path) -> None:
    """Some metadata, asked for through pyarrow, abort; this test then ends the run."""
    body = as_parquet(pa.table({"x": [1.0, None], "t": ["u", "v"]}))
    footer = int.from_bytes(body[-8:-4], "little") + 8
    schema_of_arrow = body.index(b"ARROW:schema")
    for position in range(len(body) - footer, schema_of_arrow):
        altered = bytearray(body)
        altered[position] ^= bit
        with contextlib.suppress(DomainError):
            read(bytes(altered), MediaType.PARQUET, tmp_path)


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_altered_bytes_are_read_or_refused_and_never_worse(data: st.DataObject) -> None:
    table = pa.table({"x": [1.0, None, 2.5], "t": pa.array(["u", "v", None]).dictionary_encode()})
    media_type = data.draw(st.sampled_from(list(BODIES)))
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


def test_a_corrupt_dictionary_in_parquet_is_refused(tmp_path: Path) -> None:
    sink = io.BytesIO()
    table = pa.table({"city": ["Paris", "Oslo"] * 50, "n": [1.0, 2.0] * 50})
    pq.write_table(table, sink, compression="none", use_dictionary=True)
    body = sink.getvalue().replace(b"Oslo", b"\xff\xfe\xfd\xfc", 1)
    assert body != sink.getvalue()
    with (
        pytest.raises(InvalidTable, match="cannot be read"),
        open_table(
            TableSource(io.BytesIO(body), MediaType.PARQUET), AUTOMATIC, Limits(), tmp_path
        ) as stream,
    ):
        for _ in stream.batches:
            pass
