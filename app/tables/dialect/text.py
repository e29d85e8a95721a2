"""All that is found out of a text before its rows are parsed: delimiter, header, stray blanks and quotes."""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from dataclasses import dataclass

from app.errors import InvalidTable
from app.tables.dialect.delimiter import Records, found_delimiter, sampled_records
from app.tables.dialect.header import found_header
from app.tables.reading_as import Header, ReadingWishes


@dataclass(frozen=True)
class TextDialect:
    """How records are told apart in a text.

    where:
        skipped  bytes before the first record: the line by which Excel is told the delimiter
        spaced   whether a blank follows every delimiter, and belongs to it
    """

    delimiter: str
    header: Header
    skipped: int = 0
    spaced: bool = False


def found_dialect(head: bytes, wishes: ReadingWishes, *, cut: bool) -> TextDialect:
    """The dialect of a text in UTF-8 that begins with `head` and, unless `cut`, ends with it."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    line = text[: text.find("\n") + 1]
    skipped = 0
    if line.lower().startswith("sep=") and len(told := line.rstrip("\r\n")) == len("sep=") + 1:
        skipped = len(line.encode())
        text = text[len(line) :]
        wishes = _told(wishes, told[-1])
    delimiter = found_delimiter(text, wishes, cut=cut)
    try:
        records = sampled_records(text, delimiter, cut=cut)
    except csv.Error:
        _refuse_undoubled(text, delimiter)
        records = []
    if not records:  # nothing that the parser will not complain about
        return TextDialect(delimiter, wishes.header or Header.PRESENT, skipped)
    _refuse_preamble(records)
    _refuse_quotes(records)
    return TextDialect(
        delimiter, found_header(records, wishes.header), skipped, _is_spaced(records)
    )


def _told(wishes: ReadingWishes, delimiter: str) -> ReadingWishes:
    if wishes.delimiter not in (None, delimiter):
        raise InvalidTable(
            "The first line says another delimiter (sep=) than the parameter `delimiter`.",
            parameter="delimiter",
        )
    return ReadingWishes(delimiter, wishes.decimal, wishes.encoding, wishes.header, wishes.missing)


def _refuse_undoubled(text: str, delimiter: str) -> None:
    """InvalidTable when a quote inside quotes is the fault; an unclosed one is the parser's to name."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        deque(reader, maxlen=0)
    except csv.Error as error:
        if "expected after" in str(error):
            raise InvalidTable(
                f'A quote inside a quoted field must be doubled ("") in line {reader.line_num}.',
                line=reader.line_num,
            ) from None


def _refuse_preamble(records: Records) -> None:
    """InvalidTable for a title above the table."""
    widths = [len(record) for record in records]
    if len(widths) > 2 and widths[0] < widths[1] and len(set(widths[1:])) == 1:
        filled = sum(bool(cell.strip()) for cell in records[0])
        if filled <= 1 < widths[1] and widths[1] > 2:
            raise InvalidTable(
                "The first row has fewer fields than all others, as a title has: leave out what "
                "stands above the column names."
            )
    # A title in a table of equal widths has its other fields empty.
    if len(widths) > 2 and widths[0] > 2 and sum(bool(cell.strip()) for cell in records[0]) == 1:
        raise InvalidTable(
            "The first row has one field that is not empty, as a title has: leave out what stands "
            "above the column names."
        )


def _refuse_quotes(records: Records) -> None:
    for row, record in enumerate(records):
        if any(cell[:1].isspace() and cell.lstrip().startswith('"') for cell in record):
            raise InvalidTable(
                f"A quote stands behind a blank in line {row + 1}; write no blank between the "
                "delimiter and the quote.",
                line=row + 1,
            )
    body = records[1:]
    for position in range(len(records[0])):
        cells = [record[position] for record in body if len(record) > position]
        filled = [cell.strip() for cell in cells if cell.strip()]
        if len(filled) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in filled):
            raise InvalidTable(
                f'The fields of column {position + 1} are in single quotes; use double quotes ("), '
                "or none.",
                position=position + 1,
            )


def _is_spaced(records: Records) -> bool:
    inner = [cell for record in records for cell in record[1:] if cell]
    return bool(inner) and all(cell.startswith(" ") for cell in inner)
