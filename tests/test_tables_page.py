"""docs/tables.md says what the code does."""

from __future__ import annotations

from pathlib import Path

from app.model import BLOCK_ROWS, Kind, Limits
from app.store.blobs.store import BLOCK_BYTES
from app.tables import pipeline, writer
from app.tables.bodies import streams
from app.tables.columns import NEARLY_UNIQUE_SHARE
from app.tables.detection import personal
from app.tables.dialect.number_syntax import MISSING_NUMBERS
from app.tables.formats import archive, arrow_message, csv, json, parquet_pages
from app.tables.media import MediaType
from app.tables.values import normalisation

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "tables.md").read_text(encoding="utf-8")
MEBIBYTE = 2**20


def test_every_format_kind_and_spelling_is_on_the_page() -> None:
    named = [*MediaType, *Kind, *filter(None, MISSING_NUMBERS)]
    assert [word for word in named if f"`{word}`" not in PAGE] == []


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    limits = Limits()
    told = [
        f"no row longer than {csv.BLOCK_BYTES // MEBIBYTE} MiB",
        f"the first block ({csv.BLOCK_BYTES // MEBIBYTE} MiB)",
        f"at most {arrow_message.BATCH_BYTES // MEBIBYTE} MiB, also when unpacked",
        f"a page of at most {parquet_pages.PAGE_BYTES // MEBIBYTE} MiB when unpacked",
        f"at most {json.JSON_BYTES // MEBIBYTE} MiB; written up to"
        f" {writer.JSON_BYTES // MEBIBYTE} MiB",
        f"up to {json.RECORDS:,} records",
        f"`CORNERWAVE_MAX_UPLOAD_BYTES`, {limits.upload_bytes // 2**30} GiB",
        f"beyond {streams.FREE_BYTES // MEBIBYTE} MiB",
        f"at most {streams.RATIO} times the bytes that were sent",
        f"a workbook or archive at most {archive.ARCHIVE_BYTES // MEBIBYTE} MiB",
        f"longer than {normalisation.LONGEST_NAME} characters",
        f"more than {limits.columns:,} columns",
        f"more than {limits.categories:,} different values",
        f"text of {personal.FEWEST} or more values of which at least"
        f" {NEARLY_UNIQUE_SHARE:.0%}".replace("%", " %"),
    ]
    told += [
        f"Any {BLOCK_ROWS:,} consecutive rows may take at most {BLOCK_BYTES // 2**30} GiB",
        f"the texts of one column in them {normalisation.TEXT_BYTES // MEBIBYTE} MiB",
        f"may take {pipeline.WHOLE_BYTES // 2**30} GiB and {limits.stateless_rows:,} rows",
    ]
    page = " ".join(PAGE.split())
    assert [sentence for sentence in told if sentence not in page] == []
