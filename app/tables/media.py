"""Table formats, and their media types and signatures.

First bytes go before the Content-Type, which is often wrong.
"""

from __future__ import annotations

import re
from dataclasses import replace
from email.message import Message
from enum import StrEnum

from app.errors import UnsupportedMediaType
from app.tables.stream import Header, ReadOptions


class FileFormat(StrEnum):
    """A format that is read, by its name in `read_as`."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"
    ARROW_FILE = "arrow file"
    XLSX = "xlsx"
    XLS = "xls"
    XLSB = "xlsb"
    ODS = "ods"
    STATA = "stata"
    SPSS = "spss"
    SAS = "sas"
    SAS_TRANSPORT = "sas transport"
    GZIP = "gzip"
    ZSTD = "zstd"
    ZIP = "zip"


class MediaType(StrEnum):
    """A format that is both read and written."""

    CSV = "text/csv"
    PARQUET = "application/vnd.apache.parquet"
    ARROW = "application/vnd.apache.arrow.stream"
    JSON = "application/json"
    XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


CONTENT_TYPES: dict[str, FileFormat | None] = {
    MediaType.CSV: FileFormat.CSV,
    MediaType.PARQUET: FileFormat.PARQUET,
    MediaType.ARROW: FileFormat.ARROW,
    MediaType.JSON: FileFormat.JSON,
    "text/tab-separated-values": FileFormat.CSV,
    "application/csv": FileFormat.CSV,
    "text/plain": FileFormat.CSV,
    "application/vnd.apache.arrow.file": FileFormat.ARROW_FILE,
    "application/x-ndjson": FileFormat.JSON,
    MediaType.XLSX: FileFormat.XLSX,
    "application/vnd.ms-excel.sheet.macroenabled.12": FileFormat.XLSX,
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": FileFormat.XLSB,
    "application/vnd.oasis.opendocument.spreadsheet": FileFormat.ODS,
    # Browsers on machines with Excel send this with a CSV, too.
    "application/vnd.ms-excel": None,
    "application/gzip": FileFormat.GZIP,
    "application/zip": FileFormat.ZIP,
    "application/x-zip-compressed": FileFormat.ZIP,
    "application/octet-stream": None,
    "": None,
}
"""Format by Content-Type; None where it names none."""

OFFERED = tuple(MediaType)


def declared_format(content_type: str | None) -> FileFormat | None:
    """Return the format that a Content-Type names, None where it names none, or UnsupportedMediaType."""
    # Of what is no type at all, such as "nonsense", the library makes text/plain.
    said = (content_type or "").partition(";")[0].strip()
    named = _message(content_type).get_content_type() if said else ""
    if named not in CONTENT_TYPES or (said and "/" not in said):
        raise UnsupportedMediaType(
            "The Content-Type of the body must be one of: "
            + ", ".join(name for name in CONTENT_TYPES if name),
            supported=[str(name) for name in CONTENT_TYPES if name],
        )
    return CONTENT_TYPES[named]


def with_content_type(content_type: str | None, options: ReadOptions) -> ReadOptions:
    """Return the options with `charset` and `header` of the Content-Type where they leave these open."""
    message = _message(content_type)
    charset, header = message.get_param("charset"), message.get_param("header")
    if isinstance(charset, str) and options.encoding is None:
        options = replace(options, encoding=charset)
    if isinstance(header, str) and options.header is None and header.lower() in list(Header):
        options = replace(options, header=Header(header.lower()))
    return options


def _message(content_type: str | None) -> Message:
    message = Message()
    message["content-type"] = content_type or ""
    return message


SIGNATURES: tuple[tuple[bytes, FileFormat], ...] = (
    (b"PAR1", FileFormat.PARQUET),
    (b"ARROW1", FileFormat.ARROW_FILE),
    (b"\xff\xff\xff\xff", FileFormat.ARROW),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileFormat.XLS),
    (b"<stata_dta>", FileFormat.STATA),
    (b"$FL2", FileFormat.SPSS),
    (b"$FL3", FileFormat.SPSS),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", FileFormat.SAS),
    (b"HEADER RECORD*******LIB", FileFormat.SAS_TRANSPORT),
    (b"\x1f\x8b", FileFormat.GZIP),
    (b"\x28\xb5\x2f\xfd", FileFormat.ZSTD),
    (b"PK\x03\x04", FileFormat.ZIP),
    (b"PK\x05\x06", FileFormat.ZIP),
)
UNREAD: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ\x00", "packed with xz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89PNG", "a picture"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"RDX", "an R data file"),
    (b"\x00\x01\x00\x00Standard Jet DB", "an Access database"),
    (b"\x00\x01\x00\x00Standard ACE DB", "an Access database"),
)
"""Formats that are known and not read here."""

JSON_LINES = re.compile(rb"""\s*\{[^{}\n]*\}\r?\n\s*\{""")
"""One object to a line."""

JSON_TEXT = re.compile(rb"\s*(\{|\[\s*\{)")
"""What no column is likely to be called."""

OLD_STATA = (0x69, 0x6C, 0x6E, 0x6F, 0x71, 0x72, 0x73)
SIGNATURE_BYTES = 512


def detected_format(head: bytes) -> FileFormat | None:
    """Return the format whose signature the first bytes are, None for text.

    UnsupportedMediaType, with its name, for one that is not read here.
    """
    for mark, source in SIGNATURES:
        if head.startswith(mark):
            return source
    # Stata before version 13: the version, the byte order, 1, and 0.
    if len(head) > 4 and head[0] in OLD_STATA and head[1] in (1, 2) and head[2:4] == b"\x01\x00":
        return FileFormat.STATA
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html", b"<table")):
        raise _unread("an HTML page")
    if head.lstrip()[:5] == b"<?xml":
        raise _unread("an XML document")
    for mark, what in UNREAD:
        if head.startswith(mark) and (mark != b"ORC" or b"\x00" in head):
            raise _unread(what)
    return None


def _unread(what: str) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        f"The body is {what}, which is not read here; send CSV, Excel, Parquet, an Arrow stream or "
        "JSON columns.",
        supported=[str(source) for source in FileFormat],
    )
