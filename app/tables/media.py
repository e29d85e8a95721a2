"""The formats of a table by the names that HTTP has for them: five that are written, more that are read."""

from __future__ import annotations

from dataclasses import replace
from email.message import Message
from enum import StrEnum

from app.errors import UnsupportedMediaType
from app.tables.reading_as import Header, ReadingWishes
from app.tables.source import Source


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
