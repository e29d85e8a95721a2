"""Pages of a Parquet file are refused by the size that they declare, whatever the footer says of them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.errors import InvalidTable, TooLarge
from app.tables.formats import parquet_pages
from app.tables.formats.parquet_pages import refuse_swollen_pages
from app.tables.media import MediaType
from tests.tables.table_bodies import LIMITS, as_parquet, read

NUMBERS = np.random.default_rng(1).normal(size=5_000)
TEXTS = [f"text {number % 50}" for number in range(5_000)]


def varint(number: int) -> bytes:
    """A positive integer as Thrift's compact protocol has it."""
    number *= 2
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def with_declared_size(body: bytes, size: int) -> bytes:
    """The file of one column whose first page declares that it unpacks to `size` bytes."""
    column = pq.ParquetFile(io.BytesIO(body)).metadata.row_group(0).column(0)
    assert body[4] == body[6] == 0x15, "the type of the page, then its size, as integers"
    end = 7
    while body[end] > 127:
        end += 1
    lying = body[:7] + varint(size) + body[end + 1 :]
    longer = len(lying) - len(body)
    compressed = column.total_compressed_size
    before, after = (b"\x16" + varint(one) for one in (compressed, compressed + longer))
    footer = len(lying) - int.from_bytes(lying[-8:-4], "little") - 8
    assert before in lying[footer:]
    assert len(before) == len(after)
    return lying[:footer] + lying[footer:].replace(before, after)


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("column", [NUMBERS, TEXTS], ids=["a page of data", "a dictionary"])
def test_a_page_that_declares_two_gigabytes_is_refused(
    codec: str, column: object, tmp_path: Path
) -> None:
    body = as_parquet(pa.table({"a": column}), compression=codec, use_dictionary=column is TEXTS)
    assert read(body, MediaType.PARQUET, tmp_path).num_rows == 5_000
    with pytest.raises(TooLarge, match="page"):
        read(with_declared_size(body, 2**31 - 1), MediaType.PARQUET, tmp_path)


def test_pages_count_together(tmp_path: Path) -> None:
    """None is too large by itself, and the footer says nothing of them."""
    body = as_parquet(pa.table({"a": NUMBERS}), compression="none", use_dictionary=False)
    with pytest.raises(TooLarge, match="times its size"):
        read(with_declared_size(body, 200 * 2**20), MediaType.PARQUET, tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data_page_version": "2.0"},
        {"data_page_size": 500},
        {"row_group_size": 700},
        {"write_page_index": True},
        {"write_page_checksum": True},
        {"store_schema": False, "version": "1.0"},
    ],
    ids=str,
)
def test_all_pages_are_counted(options: dict[str, object]) -> None:
    """The sizes of all pages of a column are, with their headers, what the footer says of it."""
    table = pa.table({"a": NUMBERS, "t": TEXTS, "empty": pa.nulls(5_000, pa.float64())})
    body = as_parquet(table, compression="none", **options)
    metadata = pq.ParquetFile(io.BytesIO(body)).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    said = sum(group.total_byte_size for group in groups)
    found = list(parquet_pages._declared_sizes(io.BytesIO(body), len(body)))
    assert said - 100 * len(found) <= sum(found) < said
    refuse_swollen_pages(io.BytesIO(body), len(body), LIMITS.upload_bytes)


@pytest.mark.parametrize("bound", ["MOST_PAGES", "FOOTER_BYTES"])
def test_pages_and_footer_are_bounded(
    bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_pages, bound, 3)
    body = as_parquet(pa.table({"a": NUMBERS}), row_group_size=1_000)
    with pytest.raises(TooLarge):
        read(body, MediaType.PARQUET, tmp_path)


def test_chunks_that_overlap_are_refused(tmp_path: Path) -> None:
    body = as_parquet(pa.table({"a": NUMBERS}), row_group_size=2_500, compression="none")
    metadata = pq.ParquetFile(io.BytesIO(body)).metadata
    size = metadata.row_group(0).column(0).total_compressed_size
    before, after = (b"\x16" + varint(one) for one in (size, 2 * size))
    assert body.count(before) >= 2
    with pytest.raises(InvalidTable):
        read(body.replace(before, after), MediaType.PARQUET, tmp_path)
