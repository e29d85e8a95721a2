"""All routers of the portal."""

from __future__ import annotations

from fastapi import FastAPI

from app.portal import account, agreements, demonstration, guides, pages
from app.portal.administration import audits as all_audits
from app.portal.administration import log, principals, service
from app.portal.analyst import analysis, catalogue, dataset
from app.portal.owner import audits, history, levels, overview, people, registration, rows
from app.portal.workbench import pages as workbench

ROUTERS = (
    account.router,
    account.signed_in,
    account.provider_router,
    account.account_router,
    catalogue.router,
    dataset.router,
    dataset.downloads_router,
    analysis.router,
    agreements.offers_router,
    agreements.router,
    registration.router,
    overview.router,
    levels.router,
    people.router,
    rows.router,
    audits.router,
    people.traces_router,
    history.router,
    demonstration.router,
    workbench.router,
    service.jobs_router,
    log.router,
    all_audits.router,
    principals.router,
    service.router,
    guides.router,
    account.unknown_router,
)


def install(app: FastAPI) -> None:
    """Add the pages to the app."""
    pages.install(app)
    for router in ROUTERS:
        app.include_router(router)
