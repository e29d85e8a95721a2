"""Service page: health, jobs and settings in force, without secrets."""

from __future__ import annotations

import platform
from concurrent.futures import TimeoutError as TooLate
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter
from app.job import JobState
from app.model import Role
from app.portal.lists import ListDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.context import require
from app.service.health import Condition, Probe, Probes
from app.service.jobs.status import cancel_job, search_jobs
from app.service.resources import Resources

router = APIRouter(prefix="/portal", route_class=PortalRoute, include_in_schema=False)

PROBE_TIMEOUT_SECONDS = 4.0
"""Timeout of the probes in seconds, as for /ready."""


@router.get("/health")
def show_health(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """Return whether what the service stands on works, and what this process holds."""
    require(context, Role.AUDITOR)
    probes: Probes = request.app.state.probes
    looks = {"Database": probes.database, "Blob store": probes.blobs, "Redis": probes.redis}
    waiting = {name: probe.asked() for name, probe in looks.items()}
    found = {name: _found(one) for name, one in zip(waiting, looks.values(), strict=True)}
    return page(
        request,
        "administration/health.html",
        title="Health",
        found=found,
        works=Condition.FAILING not in (found["Database"], found["Blob store"]),
        held=_held(resources),
        python=platform.python_version(),
    )


@router.get("/settings")
def show_settings(request: Request, context: ContextDep) -> Response:
    """Show the settings in force."""
    require(context, Role.AUDITOR)
    return page(
        request,
        "administration/settings.html",
        title="Settings",
        settings=request.app.state.settings,
    )


def _found(probe: Probe) -> Condition:
    try:
        return probe.asked().result(PROBE_TIMEOUT_SECONDS)
    except TooLate:
        return Condition.FAILING


def _held(resources: Resources) -> list[tuple[str, int]]:
    """Return the bytes held in caches."""
    return [
        ("Noise", resources.noise.bytes_held),
        ("Blocks of copies", resources.copies.bytes_held),
        ("Row groups", resources.row_groups.bytes_held),
        ("Histories", resources.histories.bytes_held),
        ("Summaries of copies", resources.summaries.bytes_held),
    ]


jobs_router = APIRouter(prefix="/portal/jobs", route_class=PortalRoute, include_in_schema=False)


@jobs_router.get("")
def show_jobs(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    params: ListDep,
    state: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """One's own jobs, the newest first; everybody's for administrators."""
    if state and state not in list(JobState):
        raise InvalidParameter(f"state is one of {', '.join(JobState)}", parameter="state")
    chosen = JobState(state) if state else None
    params = replace(params, others=(("state", state),))
    found = search_jobs(resources, context, params.query(), chosen)
    return page(
        request,
        "administration/jobs.html",
        title="Jobs",
        listed=params.page_of(found),
        states=list(JobState),
        state=state,
    )


@jobs_router.post("/{job_id}/cancel")
def cancel(job_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Cancel a job."""
    cancel_job(resources, context, job_id)
    return RedirectResponse("/portal/jobs?done=cancelled", 303)
