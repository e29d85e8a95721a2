"""Job of a tool: input and result sealed in files for as long as the job is kept.

Both are one file of several parts, whose places are kept with the job.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, repeat
from typing import Any

import orjson
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile

from app.api.transport.incoming.tables import NAMED_DELIMITERS, TableForm, content_type_of
from app.errors import InvalidParameter, NotFound, Unauthenticated
from app.job import Job, JobState
from app.portal.workbench.results import ToolResult
from app.portal.workbench.tools import Tool, tool_named
from app.service.context import RequestContext, new_id
from app.service.jobs.enqueue import enqueue, payload_of
from app.service.jobs.job_types import JobType, Outcome
from app.service.jobs.retention import WORKBENCH, answer_file, files_of, request_file
from app.service.jobs.status import JobStatus
from app.service.progress import SCALE, Progress
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.blobs.sealed_bytes import SealingWriter
from app.store.database.engine import reading
from app.store.database.sharing import principals
from app.tables.media import MediaType
from app.tables.pipeline import TableSource, read_table
from app.tables.stream import AUTOMATIC, ReadOptions
from app.tables.writer import write_batches

CHUNK_BYTES = 2**20

Readings = Mapping[str, Sequence[ReadOptions]]
"""How files are read, by their part of the form, in the order of the files."""

READ_OPTIONS = TypeAdapter(ReadOptions)
READING = 150
"""Of SCALE of the work, what reading takes."""


def read_options_of_form(form: TableForm) -> Readings:
    """Return the read options of each file of a form."""
    told = form.value("readings", dict[str, list[dict[str, Any]]]) or {}
    try:
        return {
            part: [READ_OPTIONS.validate_python(_spelt_out(one)) for one in files]
            for part, files in told.items()
        }
    except ValidationError:
        raise InvalidParameter(
            "What is said of how the files are read cannot be read.", parameter="readings"
        ) from None


def _spelt_out(said: dict[str, Any]) -> dict[str, Any]:
    """The same with the sign of a delimiter in place of its name."""
    name = said.get("delimiter")
    sign = NAMED_DELIMITERS.get(name, name) if isinstance(name, str) else name
    return said | {"delimiter": sign}


def begin(
    resources: Resources,
    context: RequestContext,
    tool: Tool,
    form: TableForm,
    options: Any,
    readings: Readings,
) -> str:
    """Seal what was sent and keep the job; its id. Without the row, the file goes."""
    job_id = new_id("job")
    name = request_file(job_id)
    try:
        parts: list[dict[str, Any]] = []
        end = 0
        with resources.jobs.files.writer(name) as sink:
            for part, files in form.files.items():
                told = chain(readings.get(part, ()), repeat(AUTOMATIC))
                for file, reading_of in zip(files, told, strict=False):
                    start, end = _written(sink, _read(file), end)
                    kind = content_type_of(file)
                    place = {"part": part, "type": kind, "start": start, "end": end}
                    parts.append(place | {"reading": asdict(reading_of)})
        said = {"tool": tool.name, "options": options, "parts": parts}
        with unit_of_work(resources, context) as uow:
            enqueue(
                uow.connection,
                resources,
                kind=WORKBENCH,
                subject=tool.title,
                payload=said,
                principal=context.principal,
                request_id=context.request_id,
                job_id=job_id,
                stored_bytes=end,
            )
            uow.record("workbench.begin", job_id, tool=tool.name)
    except BaseException:
        resources.jobs.files.remove(name)
        raise
    return job_id


def _read(file: UploadFile) -> Iterator[bytes]:
    file.file.seek(0)
    while chunk := file.file.read(CHUNK_BYTES):
        yield chunk


def _work(resources: Resources, job: Job, progress: Progress) -> Outcome:
    given = payload_of(resources, job)
    _require_principal(resources, job)
    tool = tool_named(given["tool"])
    options = tool.options(given["options"])
    tables: dict[str, list[pa.Table]] = {}
    files = resources.jobs.files
    try:
        with files.opened(request_file(job.id)) as body:
            for number, part in enumerate(given["parts"]):
                progress.report("reading", READING * number // len(given["parts"]), SCALE)
                sent = io.BytesIO(body.read(part["start"], part["end"] - part["start"]))
                limits, spool = resources.limits, resources.spool_dir
                params = READ_OPTIONS.validate_python(part.get("reading", {}))
                table = read_table(TableSource(sent, part["type"]), params, limits, spool)
                tables.setdefault(part["part"], []).append(table)
    except FileNotFoundError:
        raise NotFound("What was sent is not there any more.") from None
    found = tool.run(tables, options, resources.limits, progress.subrange(READING, 950))
    progress.report("keeping the result", 950, SCALE)
    name = answer_file(job.id, job.attempts)
    return Outcome({"workbench_file": name, "parts": _kept(resources, name, found)})


def _require_principal(resources: Resources, job: Job) -> None:
    with reading(resources.engine) as connection:
        record = principals.one(connection, job.principal or "")
    if record is None or record.revoked_at is not None:
        raise Unauthenticated("Who asked for this was revoked before it was done.")


def _kept(resources: Resources, name: str, found: ToolResult) -> dict[str, tuple[int, int]]:
    """Write the table as an Arrow stream, then the report, then what the page shows; where each lies."""
    batches = found.batches()
    stream = write_batches(lambda then: map(then, batches), found.table.schema, MediaType.ARROW)
    with resources.jobs.files.writer(name) as sink:
        table = _written(sink, stream, 0)
        report = _written(sink, [found.report], table[1])
        shown = _written(sink, [orjson.dumps(asdict(found.shown))], report[1])
    return {"table": table, "report": report, "shown": shown}


def _written(
    sink: SealingWriter, chunks: Iterable[bytes | memoryview], start: int
) -> tuple[int, int]:
    """Write chunks; where they begin and end."""
    end = start
    for chunk in chunks:
        sink.write(chunk)
        end += len(chunk)
    return start, end


def shown_of(resources: Resources, job_status: JobStatus) -> dict[str, Any]:
    """Return the page data of a finished job."""
    shown: dict[str, Any] = orjson.loads(part_of(resources, job_status, "shown"))
    return shown


def part_of(resources: Resources, job_status: JobStatus, part: str) -> bytes:
    """A part of what came of a job; NotFound where there is nothing any more."""
    kept = job_status.outcome.get("value") or {}
    if job_status.job.state is not JobState.DONE or "parts" not in kept:
        raise NotFound("This has no result to read.")
    start, end = kept["parts"][part]
    try:
        with resources.jobs.files.opened(kept["workbench_file"]) as file:
            return file.read(start, end - start)
    except FileNotFoundError:
        raise NotFound("The result is not there any more.") from None


def _clean_up(resources: Resources, job: Job) -> None:
    """Remove the input at the end of the job, and files of lost attempts."""
    for name in files_of(job):
        if name != answer_file(job.id, job.attempts):
            resources.jobs.files.remove(name)


WORKBENCH_JOB = JobType(_work, cleanup=_clean_up)
