"""Downloads into files: resumed after a cut, renamed only when complete."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from cornerwave.problems import ConnectionFailed

CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/\d+")


class FileSink:
    """A file that takes an answer's bytes.

    The rest is asked for by Range, under the ETag of what is there (If-Range): when the bytes have changed since,
    or the format has no ranges, all of them come again, and the file begins anew.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._taken = 0
        self.etag: str | None = None
        self.resumed = 0
        """How often the rest was asked for and came."""

    def headers(self) -> dict[str, str]:
        """Return the headers of the request: for all bytes, or for the rest."""
        if self._taken and self.etag:
            return {"Range": f"bytes={self._taken}-", "If-Range": self.etag}
        return {}

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """An answer begins; from the start again, if it is not the rest."""
        if status == 206:
            found = CONTENT_RANGE.match(headers.get("content-range", ""))
            if found is None or int(found[1]) != self._taken:
                raise ConnectionFailed(
                    "the service sent other bytes than those that were asked for"
                )
            self.resumed += 1
            return
        self._file.seek(0)
        self._file.truncate()
        self._taken = 0
        ranged = headers.get("accept-ranges") == "bytes"
        self.etag = headers.get("etag") if ranged else None

    def take(self, chunk: bytes) -> None:
        """The next bytes."""
        self._file.write(chunk)
        self._taken += len(chunk)

    def is_whole(self, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether the cut came after the last byte: there is no rest to ask for (416)."""
        return status == 416 and headers.get("content-range") == f"bytes */{self._taken}"

    @property
    def taken(self) -> int:
        """How many bytes there are."""
        return self._taken


class Unchanged:
    """Takes no bytes: it only sees whether those with this ETag are still the right ones."""

    taken = 0

    class Changed(Exception):
        """They are not."""

    def __init__(self, etag: str) -> None:
        self._etag = etag

    def headers(self) -> dict[str, str]:
        """Ask for others only."""
        return {"If-None-Match": self._etag}

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Others begin: enough is known, and the connection can be closed."""
        if status != 304:
            raise self.Changed

    def take(self, chunk: bytes) -> None:
        """There are none."""

    def is_whole(self, status: int, headers: Mapping[str, str]) -> bool:
        """Never: there is nothing to complete."""
        return False


def check_place(path: str | os.PathLike[str]) -> Path:
    """The place, if a file can be made there."""
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; a file was expected")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {place.parent}")
    return place


@contextmanager
def arriving(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file that is at `path` when the block ends well, and nowhere when it does not.

    It grows beside its place under another name; what was at `path` stays until all is there.
    """
    place = check_place(path)
    growing = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        with open(growing, "xb", opener=partial(os.open, mode=mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        growing.replace(place)
    except BaseException:
        growing.unlink(missing_ok=True)
        raise
