"""How the service does, and the settings in force; nothing there lets anybody in."""

from __future__ import annotations

import platform
from concurrent.futures import TimeoutError as TooLate

from fastapi import APIRouter, Request, Response

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.model import Role
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.access import require
from app.service.health.probes import Condition, Probe, Probes
from app.service.resources import Resources

router = APIRouter(prefix="/portal", route_class=Page, include_in_schema=False)

PATIENCE_SECONDS = 4.0
"""As for /ready: whoever asks does not wait longer."""


@router.get("/health")
def show_health(request: Request, resources: ResourcesHere, ask: AskHere) -> Response:
    """Whether what the service stands on works, and what this process holds."""
    require(ask, Role.AUDITOR)
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
def show_settings(request: Request, ask: AskHere) -> Response:
    """What the service was started with."""
    require(ask, Role.AUDITOR)
    return page(
        request,
        "administration/settings.html",
        title="Settings",
        settings=request.app.state.settings,
    )


def _found(probe: Probe) -> Condition:
    try:
        return probe.asked().result(PATIENCE_SECONDS)
    except TooLate:
        return Condition.FAILING


def _held(resources: Resources) -> list[tuple[str, int]]:
    """What is kept in memory, in bytes."""
    return [
        ("Noise", resources.noise.bytes_held),
        ("Blocks of copies", resources.copies.bytes_held),
        ("Row groups", resources.row_groups.bytes_held),
        ("Histories", resources.histories.bytes_held),
        ("Summaries of copies", resources.summaries.bytes_held),
    ]
