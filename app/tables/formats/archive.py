"""Zip archive: a workbook, or one file that is a table itself; zip bombs are refused.

What an archive declares of its sizes is believed by most readers. Here every member is unpacked once and counted
before anything else reads it.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from app.errors import InvalidTable, TooLarge, UnsupportedMediaType
from app.tables.bodies.streams import ByteStream, read_fully, refuse_swollen
from app.tables.media import FileFormat

ARCHIVE_BYTES = 128 * 2**20
"""The largest archive: it is held in memory, since its index stands at its end."""

UNPACKED_BYTES = 2**30
LOCAL_HEADER = struct.Struct("<26xHH")
CHUNK_BYTES = 2**20
UNREAD_FLAGS = 0x01 | 0x20 | 0x40
"""Encrypted, patched, strongly encrypted."""

PROTECTED = "EncryptedPackage".encode("utf-16-le")
"""The name of what a workbook with a password is packed into, in an archive of the form that xls has."""

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
WORKBOOKS = {
    "xl/workbook.xml": FileFormat.XLSX,
    "xl/workbook.bin": FileFormat.XLSB,
}

DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    LookupError,
    ValueError,
)
"""What zipfile raises for bytes that were changed: also for a name without letters, or none in UTF-8."""


def whole_archive(body: ByteStream) -> bytes:
    """The bytes of an archive or a workbook, or TooLarge."""
    content = read_fully(body, ARCHIVE_BYTES + 1)
    if len(content) > ARCHIVE_BYTES:
        raise TooLarge(
            f"A workbook or archive may have {ARCHIVE_BYTES} bytes; send a larger table as CSV, "
            "Parquet or an Arrow stream.",
            limit_bytes=ARCHIVE_BYTES,
        )
    return content


def refuse_protected(content: bytes) -> None:
    """InvalidTable for a workbook that a password protects."""
    if PROTECTED in content:
        raise InvalidTable(
            "The workbook is protected by a password. Save it without one, or send the sheet as CSV."
        )


def open_archive(content: bytes) -> tuple[FileFormat, bytes]:
    """Open a zip archive: a workbook as it is, or the one file in it.

    InvalidTable for more than one file, TooLarge for what unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # Also what is called a folder: it can hold bytes, and readers ask by name.
            _refuse_swollen(content, archive.infolist())
            # Some programs for Windows write back slashes between folders.
            written = {one.filename.replace("\\", "/"): one.filename for one in archive.infolist()}
            names = [name for name in written if not name.endswith("/")]
            for name, file_format in WORKBOOKS.items():
                if name in names and written[name] != name:
                    raise InvalidTable(
                        "The files inside the workbook are named with back slashes, which no spreadsheet "
                        "program writes: open the workbook in one and save it anew."
                    )
                if name in names:
                    return file_format, content
            if "mimetype" in names and b"opendocument.spreadsheet" in archive.read("mimetype"):
                return FileFormat.ODS, content
            # macOS puts files of its own beside the others.
            tables = [
                one
                for one in names
                if not one.startswith("__MACOSX/") and not one.endswith(".DS_Store")
            ]
            if len(tables) != 1:
                raise InvalidTable(
                    f"The zip archive holds {len(tables)} files; send one table at a time.",
                    files=len(tables),
                )
            return FileFormat.ZIP, archive.read(written[tables[0]])
    except DAMAGED:
        raise InvalidTable(
            "The body is not a complete, well-formed zip archive, which a workbook (xlsx, xlsb, ods) is too: "
            f"of the {len(content)} bytes that arrived the end is missing, or some were changed on the way. "
            "Compare their number with the size of the file and send it again; a file that no spreadsheet "
            "program opens either must be saved anew.",
        ) from None
    except (NotImplementedError, RuntimeError):
        raise UnsupportedMediaType(
            "The zip archive is encrypted or packed in a way that is not read here.",
            supported=["deflate"],
        ) from None


def _refuse_swollen(content: bytes, members: list[zipfile.ZipInfo]) -> None:
    total = 0
    for one in members:
        if one.flag_bits & UNREAD_FLAGS or one.compress_type not in METHODS:
            raise NotImplementedError
        name, extra = LOCAL_HEADER.unpack_from(content, one.header_offset)
        start = one.header_offset + LOCAL_HEADER.size + name + extra
        packed = memoryview(content)[start : start + one.compress_size]
        total += len(packed) if one.compress_type == zipfile.ZIP_STORED else _unpacked(packed)
        refuse_swollen(total, len(content), UNPACKED_BYTES)


def _unpacked(packed: memoryview) -> int:
    """Return how many bytes a deflated member has, counted no further than allowed."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    size = len(inflate.decompress(packed, CHUNK_BYTES))
    while inflate.unconsumed_tail and size <= UNPACKED_BYTES:
        size += len(inflate.decompress(inflate.unconsumed_tail, CHUNK_BYTES))
    return size
