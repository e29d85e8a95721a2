"""Columns that are wrapped read as their values, and short bodies do not swell in memory."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables import pipeline
from app.tables.media import MediaType
from app.tables.stream import AUTOMATIC
from app.tables.values.normalisation import TEXT_BYTES
from tests.tables.table_bodies import as_arrow, as_csv, as_parquet, read

BINARY = {MediaType.PARQUET: as_parquet, MediaType.ARROW: as_arrow}
LONG = "x" * 2**17
"""A text that takes 8 GiB in a block of rows."""


def repeated(text: str, rows: int, kind: pa.DataType) -> pa.Array:
    """One text many times, in a few bytes for each row."""
    if pa.types.is_string_view(kind):
        prefix = struct.unpack("<i", text.encode()[:4])[0]
        views = struct.pack("<4i", len(text), prefix, 0, 0) * rows
        buffers = [None, pa.py_buffer(views), pa.py_buffer(text.encode())]
        return pa.Array.from_buffers(kind, rows, buffers)
    return pa.DictionaryArray.from_arrays(
        pa.array([0] * rows, pa.int8()), pa.array([text], kind.value_type)
    )


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b", None, "a"]).dictionary_encode(),
        pa.array(["a", "b", None, "a"], pa.string_view()),
        pa.array(["", "a", "b", None, "a"], pa.string_view())[1:],
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 0], pa.int8()), pa.array(["a", "b"], pa.string_view())
        ),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["a", "b", None])),
    ],
    ids=["dictionary", "views", "views from the second on", "of views", "with a null in it"],
)
def test_wrapped_texts_read_as_their_values(values: pa.Array, tmp_path: Path) -> None:
    got = read(as_arrow(pa.table({"t": values})), MediaType.ARROW, tmp_path)
    assert got.to_pydict() == {"t": ["a", "b", None, "a"]}


def test_a_dictionary_of_numbers_reads_as_numbers(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1.5, 2.5, 1.5, None]).dictionary_encode()})
    for media_type, body in BINARY.items():
        got = read(body(table), media_type, tmp_path)
        assert got.to_pydict() == {"x": [1.5, 2.5, 1.5, None]}


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        (MediaType.ARROW, pa.dictionary(pa.int8(), pa.string())),
        (MediaType.ARROW, pa.string_view()),
        (MediaType.PARQUET, pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_one_long_text_in_many_rows_is_too_large_in_little_memory(
    media_type: MediaType, kind: pa.DataType, tmp_path: Path
) -> None:
    body = BINARY[media_type](pa.table({"t": repeated(LONG, BLOCK_ROWS, kind)}))
    assert len(body) < 2 * 2**20 < len(LONG) * BLOCK_ROWS
    before = psutil.Process().memory_info().rss
    with pytest.raises(TooLarge) as refused:
        read(body, media_type, tmp_path)
    assert {"column": "t", "limit_bytes": TEXT_BYTES}.items() <= refused.value.fields.items()
    assert psutil.Process().memory_info().rss - before < 64 * 2**20


@pytest.mark.parametrize("media_type", BINARY)
def test_long_texts_that_fit_are_read(media_type: MediaType, tmp_path: Path) -> None:
    texts = [f"{i % 3}" * 5_000 for i in range(3_000)]
    got = read(BINARY[media_type](pa.table({"t": texts, "u": ["v"] * 3_000})), media_type, tmp_path)
    assert got.column("t").to_pylist() == texts
    assert got.column("u").to_pylist() == ["v"] * 3_000


def test_parquet_pages_that_unpack_to_much_are_refused_in_little_memory(tmp_path: Path) -> None:
    rows = 12_000_000
    options = {"compression": "zstd", "use_dictionary": False, "row_group_size": rows}
    body = as_parquet(pa.table({"x": pa.repeat(0.0, rows)}), **options)
    assert len(body) * 200 < rows * 8
    before = psutil.Process().memory_info().rss
    with pytest.raises(TooLarge) as refused:
        read(body, MediaType.PARQUET, tmp_path)
    assert {"limit_ratio": 200}.items() <= refused.value.fields.items()
    assert psutil.Process().memory_info().rss - before < 32 * 2**20


def test_a_whole_table_has_a_limit_of_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = as_csv(pa.table({"x": [float(i) for i in range(1_000)]}))
    monkeypatch.setattr(pipeline, "WHOLE_BYTES", 7_999)
    with pytest.raises(TooLarge):
        pipeline.read_table(
            pipeline.TableSource(io.BytesIO(body), "text/csv"), AUTOMATIC, Limits(), tmp_path
        )


@pytest.mark.parametrize("storage", Storage)
@pytest.mark.parametrize("media_type", BINARY)
@pytest.mark.parametrize(
    "values",
    [pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}]), pa.array([b"x", b"y"])],
    ids=["lists", "structures", "bytes"],
)
def test_no_wish_makes_a_column_of_what_is_neither_number_nor_text(
    values: pa.Array, media_type: MediaType, storage: Storage, tmp_path: Path
) -> None:
    body = BINARY[media_type](pa.table({"t": values}))
    with pytest.raises(InvalidTable) as refused:
        read(body, media_type, tmp_path, wished={"t": storage})
    assert {"column": "t"}.items() <= refused.value.fields.items()


@pytest.mark.parametrize("media_type", BINARY)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Rome", "+05:30", "Mars/Phobos"])
def test_moments_with_a_zone_are_told_in_utc(
    zone: str, media_type: MediaType, tmp_path: Path
) -> None:
    table = pa.table({"when": pa.array([0, 1_500, None], pa.timestamp("ms", tz=zone))})
    got = read(BINARY[media_type](table), media_type, tmp_path).to_pydict()
    assert got == {"when": ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01.500Z", None]}
