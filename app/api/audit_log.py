"""/v1/audit-log: every write, release and refusal, for auditors."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import AfterHere, AskHere, LimitHere, ResourcesHere, encoded_cursor
from app.api.once import Route
from app.api.schemas import AuditLogView, LogEntryView
from app.errors import InvalidParameter
from app.service import logs

router = APIRouter(prefix="/v1/audit-log", tags=["audit log"], route_class=Route)


@router.get("")
def read_log(
    resources: ResourcesHere, ask: AskHere, after: AfterHere, limit: LimitHere = 100
) -> AuditLogView:
    """Read the log in order; each entry's hash covers the one before it."""
    if after and not (after.isdecimal() and len(after) < 19):
        raise InvalidParameter("cursor is not one that this list gave", parameter="cursor")
    entries = logs.read_log(resources, ask, after=int(after or 0), limit=limit)
    more = encoded_cursor(str(entries[-1].sequence)) if len(entries) == limit else None
    return AuditLogView(entries=[LogEntryView.of(entry) for entry in entries], next_cursor=more)
