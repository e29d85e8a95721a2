"""Body of a request that a job carries out, and its answer, read from their sealed files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from app.errors import NotFound
from app.service.jobs.status import JobStatus
from app.service.progress import Progress
from app.service.resources import Resources
from app.store.blobs.sealed_bytes import SealedFile, SealedReader
from app.tables.bodies.streams import ReadOnly


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


class AnswerReader(ReadOnly, SealedReader):
    """Reader of an answer, as Arrow takes it."""


@contextmanager
def opened_answer(resources: Resources, job_status: JobStatus) -> Iterator[AnswerReader]:
    """Open the answer of a job that is done; NotFound where there is none any more."""
    name = (job_status.outcome.get("value") or {}).get("file", "")
    try:
        with resources.jobs.files.opened(name) as file:
            yield AnswerReader(file)
    except FileNotFoundError:
        raise NotFound("The result of this job is not there any more.") from None
