"""Every page of the portal."""

from __future__ import annotations

from fastapi import FastAPI

import app.portal.wording  # noqa: F401  # the words that the templates use
from app.portal import demonstration, home, rendering
from app.portal.administration import audits as overseen
from app.portal.administration import log, principals, service
from app.portal.analyst import asking, catalogue, dataset
from app.portal.owner import audits, levels, offering, overview, people, registering, rows
from app.portal.workbench import pages as workbench

ROUTERS = (
    home.router,
    home.signed_in,
    home.provider_router,
    home.account_router,
    catalogue.router,
    dataset.router,
    dataset.downloads_router,
    offering.router,
    asking.router,
    registering.router,
    overview.router,
    levels.router,
    people.router,
    rows.router,
    audits.router,
    people.traces_router,
    overview.history_router,
    demonstration.router,
    workbench.router,
    service.jobs_router,
    log.router,
    overseen.router,
    principals.router,
    service.router,
)


def install(app: FastAPI) -> None:
    """Add the pages to the app."""
    rendering.install(app)
    for router in ROUTERS:
        app.include_router(router)
