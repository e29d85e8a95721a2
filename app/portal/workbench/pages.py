"""The pages of the workbench: choose a tool, drop a file, watch, look, download."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import orjson
import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.downloads import EXTENSION
from app.api.transport.incoming.tables import FormDep, form_body
from app.api.transport.problems import kept_problem, problem_types
from app.errors import InvalidParameter, NotFound
from app.job import JobState
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.portal.workbench import job as tool_job
from app.portal.workbench import swapping, synthesis
from app.portal.workbench.tools import TOOLS, Tool, tool_named
from app.service.context import RequestContext
from app.service.jobs.enqueue import payload_of
from app.service.jobs.retention import WORKBENCH
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
    {"options": "What was chosen.", "readings": "How each file is read, by part, in order."},
    dict.fromkeys(("table", "original", "disguised"), "A table."),
)
CHOICES = {"methods": synthesis.METHODS, "swaps": swapping.METHODS}


@router.get("")
def show_tools(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """The tools, and what one did lately."""
    found = list_jobs(resources, context, None, after="", limit=RECENT)
    mine = [one for one in found if _is_mine(one, context)]
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
    """How far a work is, or what came of it."""
    job_status = _mine(resources, context, job_id)
    job, problem, tool = job_status.job, None, _tool_of(resources, job_status)
    done = job.state is JobState.DONE
    if job.state is JobState.FAILED:
        problem = kept_problem(job_status.outcome, job.request_id)
    return page(
        request,
        "workbench/job.html",
        title=job.subject,
        job=job,
        tool=tool.name,
        download_says=tool.gives,
        shown=tool_job.shown_of(resources, job_status) if done else None,
        problem=problem,
        remedy=problem_types()[job_status.outcome["slug"]][3] if problem else None,
        expires=(job.finished_at or job.created_at) + timedelta(days=resources.jobs.keep_days),
    )


@router.get("/work/{job_id}/state")
def show_state(job_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """How far a work is, for the script that watches it."""
    job_status = _mine(resources, context, job_id)
    job = job_status.job
    said = {
        "ended": job.state.ended,
        "step": job.step,
        "done": job.done,
        "total": job.total,
        "cancelling": job.cancel_asked,
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
    """What came of a work: its table in any format, or its report."""
    job_status = _mine(resources, context, job_id)
    tool = _tool_of(resources, job_status)
    if name == "report":
        report = tool_job.part_of(resources, job_status, "report")
        return _file(iter([report]), "application/json", f"{tool.name}.json", len(report))
    kind = FORMATS.get(name)
    if kind is None:
        raise InvalidParameter(f"format is one of {', '.join(FORMATS)}", parameter="format")
    stored = tool_job.part_of(resources, job_status, "table")
    with pa.ipc.open_stream(stored) as stream:
        schema, batches = stream.schema, iter(list(stream))
    written = write_batches(lambda then: map(then, batches), schema, kind)
    return _file(written, kind.value, f"{tool.name}.{EXTENSION[kind]}", len(stored))


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
        found_out=AUTOMATIC,
    )


@router.post("/{tool}", openapi_extra=PARTS)
def begin(tool: str, form: FormDep, resources: ResourcesDep, context: ContextDep) -> Response:
    """Begin a work; where it can be job_status."""
    chosen = tool_named(tool)
    options = form.value("options", dict[str, Any], {})
    chosen.options(options or {})
    for part, several in chosen.tables.items():
        if not form.files.get(part):
            raise InvalidParameter(f"Choose a file for “{part}” first.", parameter=part)
        if len(form.files[part]) > 1 and not several:
            raise InvalidParameter(f"Choose one file for “{part}”.", parameter=part)
    readings = tool_job.told_readings(form)
    job_id = tool_job.begin(resources, context, chosen, form, options, readings)
    return _json({"work": f"/portal/workbench/work/{job_id}"})


def _mine(resources: Resources, context: RequestContext, job_id: str) -> JobStatus:
    """A work of the principal's own: what others brought is nobody else's, administrators included."""
    job_status = show_job(resources, context, job_id)
    if not _is_mine(job_status, context):
        raise NotFound("There is no such work of yours.")
    return job_status


def _is_mine(job_status: JobStatus, context: RequestContext) -> bool:
    return job_status.job.kind == WORKBENCH and job_status.job.principal == context.principal.id


def _tool_of(resources: Resources, job_status: JobStatus) -> Tool:
    return tool_named(payload_of(resources, job_status.job)["tool"])


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
