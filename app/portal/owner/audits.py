"""Audit pages of an owner: start a job, watch it, show its verdict."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import orjson
from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter
from app.job import JobState
from app.model import Dataset
from app.portal.owner.dependencies import ONE, PREFIX, OwnDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.attacks.audit import AuditParams, ask_for_audit, newest_audits, read_audit
from app.service.attacks.findings import Audit
from app.service.copies.levels import list_levels
from app.service.jobs.status import show_job

router = APIRouter(prefix=f"{ONE}/audits", route_class=PortalRoute, include_in_schema=False)

MOST = 200


@router.get("")
def show_audits(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    job: Annotated[str, Query(max_length=60)] = "",
) -> Response:
    """Past audits, one that runs, and the form that begins another."""
    return page(
        request,
        "owner/audits.html",
        title=f"Audits of {dataset.name}",
        dataset=dataset,
        levels=list_levels(resources, context, dataset.id),
        audits=newest_audits(resources, context, dataset.id, limit=MOST),
        running=show_job(resources, context, job).job if job else None,
    )


@router.post("")
def begin_audit(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    level: Annotated[list[str] | None, Form(max_length=200)] = None,
) -> Response:
    """Start an audit of some levels."""
    if not level:
        raise InvalidParameter("Choose at least one level.", parameter="level")
    job_id = ask_for_audit(resources, context, dataset.id, AuditParams(levels=tuple(level)))
    return RedirectResponse(f"{PREFIX}/{dataset.id}/audits?job={job_id}", 303)


@router.get("/jobs/{job_id}")
def watch_audit(
    job_id: str, dataset: OwnDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Return the progress of an audit, for the page's script."""
    watched = show_job(resources, context, job_id)
    job, came_of_it = watched.job, watched.outcome
    audits = f"{PREFIX}/{dataset.id}/audits"
    subject = came_of_it.get("subject")
    said = {
        "state": job.state.value,
        "ended": job.state.ended,
        "step": job.step,
        "done": job.done,
        "total": job.total,
        "problem": came_of_it.get("detail"),
        "address": None,
    }
    if job.state is JobState.DONE:
        said["address"] = f"{audits}/{subject}" if subject else audits
    return Response(orjson.dumps(said), media_type="application/json")


@router.get("/{audit_id}")
def show_audit(
    audit_id: str, request: Request, dataset: OwnDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """An audit: its verdict, its pictures, and every attack."""
    audit = read_audit(resources, context, dataset.id, audit_id)
    return audit_page(request, dataset, audit, for_auditor=False)


def audit_page(request: Request, dataset: Dataset, audit: Audit, *, for_auditor: bool) -> Response:
    """The page of an audit: among the owner's tabs, or where all that is for_auditor is."""
    return page(
        request,
        "owner/audit.html",
        title=f"An audit of {dataset.name}",
        dataset=dataset,
        audit=audit,
        for_auditor=for_auditor,
        points=orjson.dumps([asdict(point) for point in audit.by_copies]).decode(),
    )
