"""Messages of an Arrow stream, whose declared sizes are summed before Arrow allocates them.

A message is a prefix (0xFFFFFFFF and a length), flatbuffer metadata of that length, and a body whose length the
metadata declare. A compressed buffer begins with the length it unpacks to. Arrow's reader allocates what these lengths
say. Slots are those of Arrow's Message.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from app.errors import InvalidTable, TooLarge
from app.tables.bodies.streams import ByteStream, ReadOnly, read_fully

BATCH_BYTES = 256 * 2**20
"""The largest record batch: more rows are sent as more batches."""

METADATA_BYTES = 16 * 2**20
"""No schema is longer; a body of another format easily claims to be."""

CONTINUATION = b"\xff\xff\xff\xff"
DICTIONARY, RECORD_BATCH = 2, 3


@dataclass(frozen=True)
class FlatbufferTable:
    """A table of a flatbuffer, by its position."""

    data: bytes
    at: int

    def field(self, slot: int) -> int:
        """The position of the field in that slot, 0 where it is absent."""
        vtable = self.at - self.number("<i", self.at)
        if 4 + 2 * slot >= self.number("<H", vtable):
            return 0
        offset = self.number("<H", vtable + 4 + 2 * slot)
        return self.at + offset if offset else 0

    def table(self, slot: int) -> FlatbufferTable:
        """The table that the slot refers to."""
        field = self.field(slot)
        return FlatbufferTable(self.data, field + self.number("<I", field))

    def number(self, layout: str, at: int) -> int:
        if at < 0:
            raise struct.error("before the beginning")
        value: int = struct.unpack_from(layout, self.data, at)[0]
        return value


class ArrowMessages(ReadOnly):
    """A body read message by message, as a file of Arrow's."""

    def __init__(self, body: ByteStream) -> None:
        self._pieces = _pieces(body)
        self._piece = memoryview(b"")

    def read(self, size: int, /) -> memoryview:
        if not self._piece:
            self._piece = memoryview(next(self._pieces, b""))
        data, self._piece = self._piece[:size], self._piece[size:]
        return data


def _pieces(body: ByteStream) -> Iterator[bytes]:
    """Prefix, metadata and body of each message in turn, none longer than `BATCH_BYTES`."""
    while prefix := _exactly(body, 4, or_nothing=True):
        yield prefix
        if prefix == CONTINUATION:
            prefix = _exactly(body, 4)
            yield prefix
        if (length := int.from_bytes(prefix, "little")) == 0:
            return
        if length > METADATA_BYTES:
            raise malformed()
        metadata = _exactly(body, length)
        try:
            message = FlatbufferTable(metadata, struct.unpack_from("<I", metadata)[0])
            field = message.field(3)
            content = _exactly(body, message.number("<q", field) if field else 0)
            if _unpacked_bytes(message, content) > BATCH_BYTES:
                raise _too_large()
        except struct.error:
            raise malformed() from None
        yield metadata
        if content:
            yield content


def _exactly(body: ByteStream, size: int, *, or_nothing: bool = False) -> bytes:
    """The next `size` bytes; of a body that has ended either nothing or a malformed stream."""
    if not 0 <= size <= BATCH_BYTES:
        raise _too_large()
    data = read_fully(body, size)
    if len(data) < size and (data or not or_nothing):
        raise malformed()
    return data


def _unpacked_bytes(message: FlatbufferTable, content: bytes) -> int:
    """The declared sizes of the compressed buffers of a message, 0 where none are."""
    field = message.field(1)
    kind = message.number("<B", field) if field else 0
    if kind not in (DICTIONARY, RECORD_BATCH):
        return 0
    batch = message.table(2)
    if kind == DICTIONARY:
        batch = batch.table(1)
    if not batch.field(3) or not batch.field(2):
        return 0
    buffers = batch.field(2)
    buffers += batch.number("<I", buffers)
    count = batch.number("<I", buffers)
    total = 0
    for number in range(count):
        start, length = struct.unpack_from("<qq", batch.data, buffers + 4 + 16 * number)
        if length > 0:
            total += max(0, FlatbufferTable(content, 0).number("<q", start))
    return total


def malformed() -> InvalidTable:
    """The error for a body that is no Arrow stream."""
    return InvalidTable("The body is not a complete, well-formed Arrow stream")


def _too_large() -> TooLarge:
    return TooLarge(
        f"A record batch of the Arrow stream takes more than {BATCH_BYTES} bytes; send more, "
        "smaller batches",
        limit_bytes=BATCH_BYTES,
    )
