"""Body of a request that a job carries out, read from its sealed file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from app.service.progress import Progress
from app.store.blobs.sealed_bytes import SealedFile, SealedReader


class AnswerSink(Protocol):
    """Takes the bytes of an answer."""

    def write(self, data: bytes, /) -> int: ...


class RequestBody(SealedReader):
    """Reader of the body; `progress` answers the part of the job's progress that reading is."""

    def __init__(self, file: SealedFile, progress: Callable[[], Progress]) -> None:
        super().__init__(file)
        self._size = file.size
        self._progress = progress

    def read(self, size: int, /) -> bytes:
        found = super().read(size)
        self._progress().report("reading the table", self.position, self._size)
        return found
