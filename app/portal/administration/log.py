"""Audit log page: newest first, filters, verification of the hash chain."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter
from app.model import LogFilter
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service import logs
from app.service.sharing import principals

router = APIRouter(prefix="/portal/log", route_class=PortalRoute, include_in_schema=False)

AT_ONCE = 50
Text = Annotated[str, Query(max_length=500)]


@router.get("")
def show_log(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    principal: Text = "",
    action: Text = "",
    subject: Text = "",
    outcome: Text = "",
    since: Text = "",
    until: Text = "",
    before: Annotated[int | None, Query(ge=1, lt=2**62)] = None,
) -> Response:
    """Entries that fit the filters."""
    said = {
        "principal": principal.strip(),
        "action": action,
        "subject": subject.strip(),
        "outcome": outcome,
        "since": since,
        "until": until,
    }
    until_day = _day("until", until)
    wanted = LogFilter(
        principal=said["principal"] or None,
        action=action or None,
        subject=said["subject"] or None,
        outcome=outcome or None,
        since=_day("since", since),
        until=until_day + timedelta(days=1) if until_day else None,
    )
    found = logs.search_log(resources, context, wanted, before=before, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    mentioned = {entry.principal for entry in shown} | {entry.subject for entry in shown}
    chosen = {name: value for name, value in said.items() if value}
    older = {**chosen, "before": shown[-1].sequence} if len(found) > AT_ONCE else None
    return page(
        request,
        "administration/log.html",
        title="Log",
        entries=shown,
        said=said,
        filtered=bool(chosen) or before is not None,
        actions=logs.logged_actions(resources, context),
        names=principals.names_of(resources, context, mentioned),
        older=urlencode(older) if older else None,
    )


@router.post("/verification")
def verify_log(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """Follow the whole chain."""
    found = logs.check_log(resources, context)
    return page(request, "administration/verification.html", title="The log's chain", found=found)


def _day(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.combine(datetime.fromisoformat(text).date(), time(), UTC)
    except (ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be a day such as 2026-01-31", parameter=name) from None
