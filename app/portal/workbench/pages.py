"""Pages of the workbench: choose a tool, upload a file, watch the job, see and download the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import orjson
import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep
from app.api.transport.endpoints.downloads import EXTENSION
from app.api.transport.incoming.async_requests import keep_request
from app.api.transport.incoming.tables import FormDep, form_body
from app.api.transport.problems import problem_types, stored_problem
from app.errors import InvalidParameter, NotFound
from app.job import JobState
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.portal.workbench import swapping, synthesis
from app.portal.workbench.job import (
    PAGE,
    REPORT,
    Readings,
    answer_with,
    opened_result,
    read_options_of_form,
)
from app.portal.workbench.tools import TOOLS, Tool, tool_named
from app.service.context import RequestContext
from app.service.jobs.enqueue import payload_of
from app.service.jobs.retention import REQUEST
from app.service.jobs.status import JobStatus, cancel_job, list_jobs, show_job
from app.service.resources import Resources
from app.tables.media import MediaType
from app.tables.stream import AUTOMATIC
from app.tables.writer import write_batches

router = APIRouter(prefix="/portal/workbench", route_class=PortalRoute, include_in_schema=False)

FORMATS = {
    "csv": MediaType.CSV,
    "parquet": MediaType.PARQUET,
    "arrow": MediaType.ARROW,
    "xlsx": MediaType.XLSX,
}
RECENT = 50
PARTS = form_body(
    [],
    {},
    dict.fromkeys(("table", "original", "disguised"), "A table."),
)


@dataclass(frozen=True)
class ToolRequest:
    """A tool, what was chosen, and how each file is read."""

    tool: Tool
    options: Any
    readings: Readings


def read_tool_request(
    tool: str,
    options: Annotated[str, Query(description="What was chosen, as JSON.")] = "{}",
    readings: Annotated[
        str, Query(description="How each file is read, by part, in order, as JSON.")
    ] = "{}",
) -> ToolRequest:
    """Read the tool and its options from the address; InvalidParameter names an invalid one."""
    chosen = tool_named(tool)
    return ToolRequest(chosen, chosen.options(options), read_options_of_form(readings))


ToolRequestDep = Annotated[ToolRequest, Depends(read_tool_request)]
CHOICES = {"methods": synthesis.METHODS, "swaps": swapping.METHODS}


@router.get("")
def show_tools(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """The tools, and what one did lately."""
    found = list_jobs(resources, context, None, after="", limit=RECENT)
    mine = [one for one in found if _is_mine(resources, one, context)]
    return page(
        request,
        "workbench/tools.html",
        title="Workbench",
        tools=TOOLS.values(),
        works=mine[:10],
        keep_days=resources.jobs.keep_days,
    )


@router.get("/work/{job_id}")
def show_work(
    job_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Show the progress or the result of a run."""
    job_status = _mine(resources, context, job_id)
    job, problem, shown = job_status.job, None, None
    tool = _tool_of(resources, job_status)
    if job.state is JobState.DONE:
        with opened_result(resources, job_status) as (_, beside):
            shown = orjson.loads(beside[PAGE])
    if job.state is JobState.FAILED:
        problem = stored_problem(job_status.outcome, job.request_id)
    return page(
        request,
        "workbench/job.html",
        title=tool.title,
        job=job,
        tool=tool.name,
        download_says=tool.gives,
        shown=shown,
        problem=problem,
        remedy=problem_types()[job_status.outcome["slug"]][3] if problem else None,
        expires=(job.finished_at or job.created_at) + timedelta(days=resources.jobs.keep_days),
    )


@router.get("/work/{job_id}/state")
def show_state(job_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Return the progress of a run, for the page's script."""
    job_status = _mine(resources, context, job_id)
    job = job_status.job
    said = {
        "ended": job.state.ended,
        "step": job.step,
        "done": job.done,
        "total": job.total,
        "cancelling": job.cancel_requested,
        "remaining_seconds": job_status.remaining_seconds,
    }
    return _json(said)


@router.post("/work/{job_id}/cancel")
def cancel(job_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Have a work end."""
    _mine(resources, context, job_id)
    cancel_job(resources, context, job_id)
    return RedirectResponse(f"/portal/workbench/work/{job_id}", 303)


@router.get("/work/{job_id}/content")
def download(
    job_id: str,
    resources: ResourcesDep,
    context: ContextDep,
    name: Annotated[str, Query(alias="format")] = "csv",
) -> Response:
    """Download the result: its table in any format, or its report."""
    job_status = _mine(resources, context, job_id)
    tool = _tool_of(resources, job_status)
    kind = FORMATS.get(name)
    if kind is None and name != "report":
        raise InvalidParameter(f"format is one of {', '.join(FORMATS)}", parameter="format")
    with opened_result(resources, job_status) as (stream, beside):
        schema, batches = stream.schema.remove_metadata(), () if kind is None else list(stream)
    if kind is None:
        report = beside[REPORT]
        return _file(iter([report]), "application/json", f"{tool.name}.json", len(report))
    written = write_batches(lambda then: map(then, batches), schema, kind)
    size = sum(batch.nbytes for batch in batches)
    return _file(written, kind.value, f"{tool.name}.{EXTENSION[kind]}", size)


@router.post("/look", openapi_extra=PARTS)
def look(
    form: FormDep, resources: ResourcesDep, _ask: ContextDep, *, advise: bool = False
) -> Response:
    """What columns a table has, and which of them the others give away; nothing of it is kept."""
    table = form.table("table")
    columns = [
        {"name": one.name, "number": bool(pa.types.is_floating(one.type))} for one in table.schema
    ]
    given_away = swapping.rows_given_away(table, resources.limits) if advise else {}
    return _json({"rows": table.num_rows, "columns": columns, "given_away": given_away})


@router.get("/{tool}")
def show_tool(tool: str, request: Request, resources: ResourcesDep) -> Response:
    """The form of a tool."""
    chosen = tool_named(tool)
    return page(
        request,
        "workbench/tool.html",
        title=chosen.title,
        tool=chosen,
        keep_days=resources.jobs.keep_days,
        choices=CHOICES,
        automatic=AUTOMATIC,
    )


@router.post("/{tool}", openapi_extra=PARTS)
async def begin(
    tool: str, request: Request, context: ContextDep, tool_request: ToolRequestDep
) -> Response:
    """Have a job run the tool; where it can be watched."""
    path = f"/portal/workbench/{tool}/run"
    route = request.scope["route"]
    job_id = await keep_request(request, route, context, path, subject=tool_request.tool.title)
    return _json({"work": f"/portal/workbench/work/{job_id}"})


@router.post("/{tool}/run", openapi_extra=PARTS)
def run(
    tool_request: ToolRequestDep, form: FormDep, resources: ResourcesDep, progress: ProgressDep
) -> Response:
    """Run the tool: jobs come here."""
    tables = {}
    for part, several in tool_request.tool.tables.items():
        tables[part] = form.tables(part, tool_request.readings.get(part, ()))
        if len(tables[part]) > 1 and not several:
            raise InvalidParameter(f"Choose one file for “{part}”.", parameter=part)
    return answer_with(
        tool_request.tool.run(tables, tool_request.options, resources.limits, progress)
    )


def _mine(resources: Resources, context: RequestContext, job_id: str) -> JobStatus:
    """A work of the principal's own: what others brought is nobody else's, administrators included."""
    job_status = show_job(resources, context, job_id)
    if not _is_mine(resources, job_status, context):
        raise NotFound("There is no such work of yours.")
    return job_status


def _is_mine(resources: Resources, job_status: JobStatus, context: RequestContext) -> bool:
    job = job_status.job
    return (
        job.kind == REQUEST
        and job.principal == context.principal.id
        and payload_of(resources, job)["path"].startswith(f"{router.prefix}/")
    )


def _tool_of(resources: Resources, job_status: JobStatus) -> Tool:
    path = payload_of(resources, job_status.job)["path"]
    return tool_named(path.removeprefix(f"{router.prefix}/").removesuffix("/run"))


def _json(said: dict[str, Any]) -> Response:
    return Response(orjson.dumps(said), media_type="application/json")


def _file(
    chunks: Iterator[bytes] | Iterator[memoryview], kind: str, name: str, expected: int
) -> Response:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Expected-Bytes": str(expected),
    }
    return StreamingResponse(chunks, media_type=kind, headers=headers)
