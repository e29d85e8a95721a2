"""Sizes that the pages of a Parquet file declare, summed before Arrow allocates them.

Arrow's reader allocates what a page header says its page unpacks to, up to 2 GiB, and the footer may tell another sum.
Headers and footer are Thrift structs in the compact protocol; the field numbers are those of parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from app.errors import InvalidTable, TooLarge
from app.tables.bodies.spool import Spool
from app.tables.bodies.streams import refuse_swollen

PAGE_BYTES = 256 * 2**20
"""Largest page, as in an Arrow stream the largest record batch; writers make pages of about 1 MiB."""

MOST_PAGES = 2**20
FOOTER_BYTES = 64 * 2**20
"""Longest footer: half a million chunks of columns."""

HEADER_BYTES, LONGEST_HEADER = 2**9, 2**20
DEEPEST = 16
MAGIC = b"PAR1"
TAIL_BYTES = 8
"""The length of the footer, and the magic."""

Struct = dict[int, Any]


class CompactReader:
    """Reader of Thrift's compact protocol; ValueError or IndexError for bytes that are none."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int = 0) -> Struct:
        """Return the fields of a struct by their numbers."""
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("too deep")
        match kind:
            case 1 | 2 | 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._integer()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._varint())
            case 9 | 10:
                head = self._byte()
                length = head >> 4 if head >> 4 < 15 else self._varint()
                return [self._value(head & 15, depth + 1) for _ in range(length)]
            case 12:
                return self.struct(depth + 1)
            case _:  # nothing in Parquet has a map
                raise ValueError("an unknown type")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        self.at += length
        if self.at > len(self.data):
            raise IndexError("a text beyond the end")
        return self.data[self.at - length : self.at]

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number too long")
        return number | byte << shift


def refuse_swollen_pages(file: IO[bytes] | Spool, size: int, limit: int) -> None:
    """TooLarge where pages of a file of `size` bytes declare more than a table may unpack to."""
    total = 0
    try:
        for number, declared in enumerate(_declared_sizes(file, size)):
            if declared > PAGE_BYTES:
                raise TooLarge(
                    f"A page of the Parquet file takes more than {PAGE_BYTES} bytes; write smaller pages.",
                    limit_bytes=PAGE_BYTES,
                )
            if number == MOST_PAGES:
                raise TooLarge(
                    f"The Parquet file has more than {MOST_PAGES} pages; write larger ones.",
                    limit_pages=MOST_PAGES,
                )
            total += declared
            refuse_swollen(total, size, limit)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        raise InvalidTable("The body is not a complete, well-formed Parquet file") from None


def _declared_sizes(file: IO[bytes] | Spool, size: int) -> Iterator[int]:
    """Sizes of all pages, as Arrow finds them: chunk by chunk, until a chunk has its number of values."""
    file.seek(max(0, size - TAIL_BYTES))
    tail = file.read(TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size:
        raise ValueError("no footer")
    if length > FOOTER_BYTES:
        raise TooLarge(
            f"The footer of the Parquet file takes more than {FOOTER_BYTES} bytes; write fewer row groups.",
            limit_bytes=FOOTER_BYTES,
        )
    file.seek(max(0, size - TAIL_BYTES - length))
    footer = CompactReader(file.read(length)).struct()
    walked = 0
    for group in footer[4]:
        for chunk in group[1]:
            column = chunk[3]
            start, missing = column[9], column[5]
            if 0 < column.get(11, 0) < start:  # the dictionary comes first
                start = column[11]
            end = start + column[7]
            walked += column[7]
            if not 0 <= start <= end or walked > size:
                raise ValueError("chunks that overlap")
            while missing > 0 and start < end:
                header, start = _page_header(file, start)
                yield header[2]
                if header[3] < 0:
                    raise ValueError("a page that ends before it begins")
                start += header[3]
                missing -= next((header[kind][1] for kind in (5, 8) if kind in header), 0)


def _page_header(file: IO[bytes] | Spool, start: int) -> tuple[Struct, int]:
    """The header of the page that begins at `start`, and where its content does."""
    length = HEADER_BYTES
    while True:
        file.seek(start)
        data = file.read(length)
        reader = CompactReader(data)
        try:
            return reader.struct(), start + reader.at
        except IndexError:
            if len(data) < length or length >= LONGEST_HEADER:
                raise
            length *= 8
