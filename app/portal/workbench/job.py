"""Job of a tool: a request answered by the job runner; its result is one Arrow stream.

The stream has the table; beside it, in the metadata of its schema, the report and what the page shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import orjson
import pyarrow as pa
from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter, ValidationError

from app.api.transport.incoming.tables import NAMED_DELIMITERS
from app.errors import InvalidParameter
from app.portal.workbench.results import ToolResult
from app.service.jobs.request_body import opened_answer
from app.service.jobs.status import JobStatus
from app.service.resources import Resources
from app.tables.media import MediaType
from app.tables.stream import ReadOptions
from app.tables.writer import write_batches

Readings = Mapping[str, Sequence[ReadOptions]]
"""How files are read, by their part of the form, in the order of the files."""

READINGS = TypeAdapter(dict[str, list[dict[str, Any]]])
READ_OPTIONS = TypeAdapter(ReadOptions)
REPORT, PAGE = b"report", b"page"


def read_options_of_form(said: str) -> Readings:
    """How each file of a form is read, as its page says in JSON."""
    try:
        return {
            part: [READ_OPTIONS.validate_python(_spelt_out(one)) for one in files]
            for part, files in READINGS.validate_json(said).items()
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


def answer_with(found: ToolResult) -> Response:
    """The answer of a tool."""
    batches = found.batches()
    beside = {REPORT: found.report, PAGE: orjson.dumps(asdict(found.shown))}
    schema = found.table.schema.with_metadata(beside)
    written = write_batches(lambda then: map(then, batches), schema, MediaType.ARROW)
    return StreamingResponse(written, media_type=MediaType.ARROW.value)


@contextmanager
def opened_result(
    resources: Resources, job_status: JobStatus
) -> Iterator[tuple[pa.RecordBatchReader, dict[bytes, bytes]]]:
    """The table that came of a job, and what is beside it; NotFound where there is nothing any more."""
    with (
        opened_answer(resources, job_status) as answer,
        pa.ipc.open_stream(pa.PythonFile(answer, mode="r")) as stream,
    ):
        yield stream, stream.schema.metadata
