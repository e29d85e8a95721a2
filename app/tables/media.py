"""The formats of a table: five that are written, more that are read.

A body's format is known by the name that HTTP has for it, and by its first bytes: they are right where a
Content-Type often is not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from email.message import Message
from enum import StrEnum

from app.errors import UnsupportedMediaType
from app.tables.stream import Header, ReadingWishes


class Source(StrEnum):
    """A format, by the name that `read_as` has for it."""

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


SOURCES: dict[str, Source | None] = {
    MediaType.CSV: Source.CSV,
    MediaType.PARQUET: Source.PARQUET,
    MediaType.ARROW: Source.ARROW,
    MediaType.JSON: Source.JSON,
    "text/tab-separated-values": Source.CSV,
    "application/csv": Source.CSV,
    "text/plain": Source.CSV,
    "application/vnd.apache.arrow.file": Source.ARROW_FILE,
    MediaType.XLSX: Source.XLSX,
    "application/vnd.oasis.opendocument.spreadsheet": Source.ODS,
    # Browsers on machines with Excel say this of a CSV, too; the first bytes tell.
    "application/vnd.ms-excel": None,
    "application/gzip": Source.GZIP,
    "application/zip": Source.ZIP,
    "application/x-zip-compressed": Source.ZIP,
    "application/octet-stream": None,
    "": None,
}
"""What is read, by Content-Type; None says nothing of the format."""

OFFERED = tuple(MediaType)


def named_source(content_type: str | None) -> Source | None:
    """The format that a Content-Type names, None where it names none, or UnsupportedMediaType."""
    # Of what is no type at all, such as "nonsense", the library makes text/plain.
    said = (content_type or "").partition(";")[0].strip()
    named = _message(content_type).get_content_type() if said else ""
    if named not in SOURCES or (said and "/" not in said):
        raise UnsupportedMediaType(
            "The Content-Type of the body must be one of: "
            + ", ".join(name for name in SOURCES if name),
            supported=[str(name) for name in SOURCES if name],
        )
    return SOURCES[named]


def with_parameters(content_type: str | None, wishes: ReadingWishes) -> ReadingWishes:
    """The wishes with what the Content-Type says beside the format, where nothing else says so."""
    message = _message(content_type)
    charset, header = message.get_param("charset"), message.get_param("header")
    if isinstance(charset, str) and wishes.encoding is None:
        wishes = replace(wishes, encoding=charset)
    if isinstance(header, str) and wishes.header is None and header.lower() in list(Header):
        wishes = replace(wishes, header=Header(header.lower()))
    return wishes


def _message(content_type: str | None) -> Message:
    message = Message()
    message["content-type"] = content_type or ""
    return message


SIGNATURES: tuple[tuple[bytes, Source], ...] = (
    (b"PAR1", Source.PARQUET),
    (b"ARROW1", Source.ARROW_FILE),
    (b"\xff\xff\xff\xff", Source.ARROW),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Source.XLS),
    (b"<stata_dta>", Source.STATA),
    (b"$FL2", Source.SPSS),
    (b"$FL3", Source.SPSS),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", Source.SAS),
    (b"HEADER RECORD*******LIB", Source.SAS_TRANSPORT),
    (b"\x1f\x8b", Source.GZIP),
    (b"\x28\xb5\x2f\xfd", Source.ZSTD),
    (b"PK\x03\x04", Source.ZIP),
    (b"PK\x05\x06", Source.ZIP),
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
"""One object to a line; the JSON that is read here is one object."""

OLD_STATA = (0x69, 0x6C, 0x6E, 0x6F, 0x71, 0x72, 0x73)
ENOUGH_BYTES = 512


def signed(head: bytes) -> Source | None:
    """The format that the first bytes are the signature of, None for text.

    UnsupportedMediaType, with its name, for one that is not read here.
    """
    for mark, source in SIGNATURES:
        if head.startswith(mark):
            return source
    # Stata before version 13: the version, the byte order, 1, and 0.
    if len(head) > 4 and head[0] in OLD_STATA and head[1] in (1, 2) and head[2:4] == b"\x01\x00":
        return Source.STATA
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html", b"<table")):
        raise _unread("an HTML page")
    if head.lstrip()[:5] == b"<?xml":
        raise _unread("an XML document")
    if JSON_LINES.match(head):
        raise _unread("a file of JSON lines")
    for mark, what in UNREAD:
        if head.startswith(mark) and (mark != b"ORC" or b"\x00" in head):
            raise _unread(what)
    return None


def _unread(what: str) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        f"The body is {what}, which is not read here; send CSV, Excel, Parquet, an Arrow stream or "
        "JSON columns.",
        supported=[str(source) for source in Source],
    )
