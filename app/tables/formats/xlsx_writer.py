"""A table as an Excel workbook of one sheet, written batch by batch.

TextBuffers are inline strings, which no program takes for formulas. Dates are Excel's, where it has them; a
missing cell is absent. The same table is the same bytes: nothing in the file tells when it was made.
"""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Protocol, TypeVar, cast
from xml.sax.saxutils import escape

import polars as pl
import pyarrow as pa

from app.errors import NotAcceptable

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_575, 16_384, 32_767
"""What a sheet holds below its header, and what a cell holds."""

FIRST_DAY = dt.date(1900, 3, 1)
"""Before it Excel counts a 29 February 1900 that never was: such dates are written as text."""

ZERO_DAY = dt.date(1899, 12, 30)
UNWRITABLE = [chr(code) for code in range(32) if code not in (9, 10, 13)] + ["\ufffe", "\uffff"]
"""Characters that XML cannot hold; the format has a way of its own to write them."""

OPEN = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"

PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{KIND}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
    '<sheets><sheet name="rows" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="r2" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">'
    '<fonts count="1"><font/></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="2"><xf/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
SHEET = f'<worksheet xmlns="{MAIN}"><sheetData>'
SHEET_END = "</sheetData></worksheet>"

T = TypeVar("T")


class Sink(Protocol):
    """What is written to, and emptied after each step."""

    def take(self) -> list[bytes]: ...


class Batches(Protocol):
    """As in `writing`."""

    def __call__(self, then: Callable[[pa.RecordBatch], T], /) -> Iterator[T]: ...


def write_workbook(batches: Batches, schema: pa.Schema, sink: Sink) -> Iterator[bytes]:
    """The bytes of the workbook; NotAcceptable as soon as there are more rows than a sheet holds."""
    if len(schema) > MOST_COLUMNS:
        raise _too_large(f"{MOST_COLUMNS} columns")
    rows = 0
    with zipfile.ZipFile(cast("IO[bytes]", sink), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PARTS.items():
            archive.writestr(_entry(name), OPEN + content)
        with archive.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            header = "".join(_text_cell(_harmless(name)) for name in schema.names)
            sheet.write(f"{OPEN}{SHEET}<row>{header}</row>".encode())
            for count, lines in batches(lambda batch: (batch.num_rows, _rows(batch))):
                rows += count
                if rows > MOST_ROWS:
                    raise _too_large(f"{MOST_ROWS} rows below its header")
                sheet.write(lines)
                yield from sink.take()
            sheet.write(SHEET_END.encode())
    yield from sink.take()


def _rows(batch: pa.RecordBatch) -> bytes:
    if not batch.num_rows:
        return b""
    frame = pl.DataFrame(pl.from_arrow(batch))
    cells = [_cells(frame.get_column(name)) for name in frame.columns]
    lines = pl.select(pl.concat_str([pl.lit("<row>"), *cells, pl.lit("</row>")]).str.join(""))
    return str(lines.item()).encode()


def _cells(values: pl.Series) -> pl.Series:
    """A column as cells, missing ones empty."""
    if values.dtype == pl.Date:
        days = (values - ZERO_DAY).dt.total_days().cast(pl.String)
        early = values < FIRST_DAY
        made = pl.select(
            pl.when(early)
            .then(pl.concat_str([pl.lit(TEXT), values.dt.to_string("%Y-%m-%d"), pl.lit(TEXT_END)]))
            .otherwise(pl.concat_str([pl.lit('<c s="1"><v>'), days, pl.lit("</v></c>")]))
        ).to_series()
    elif values.dtype.is_numeric():
        number = values.fill_nan(None) if values.dtype.is_float() else values
        digits = number.cast(pl.String)
        made = pl.select(pl.concat_str([pl.lit("<c><v>"), digits, pl.lit("</v></c>")])).to_series()
    else:
        said = values.cast(pl.String)
        if (said.str.len_chars() > MOST_CHARACTERS).any():
            raise _too_large(f"{MOST_CHARACTERS} characters in a cell")
        # A text that looks like a character written by its number is not one.
        literal = said.str.replace_all(r"_(x[0-9A-Fa-f]{4}_)", "_x005F_${1}")
        plain = literal.str.replace_many(
            ["&", "<", ">", *UNWRITABLE],
            ["&amp;", "&lt;", "&gt;", *(f"_x{ord(one):04X}_" for one in UNWRITABLE)],
        )
        made = pl.select(pl.concat_str([pl.lit(TEXT), plain, pl.lit(TEXT_END)])).to_series()
    return made.fill_null("<c/>")


TEXT, TEXT_END = '<c t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"


def _text_cell(text: str) -> str:
    return f"{TEXT}{escape(text)}{TEXT_END}"


def _harmless(text: str) -> str:
    return "".join(f"_x{ord(one):04X}_" if one in UNWRITABLE else one for one in text)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _too_large(what: str) -> NotAcceptable:
    return NotAcceptable(
        f"An Excel sheet holds {what}; ask for another format, fewer rows or fewer columns.",
        supported=["text/csv", "application/vnd.apache.parquet"],
    )
