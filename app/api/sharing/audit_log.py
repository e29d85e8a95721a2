"""/v1/audit-log: every write, release and refusal, for auditors."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.sharing.schemas import AuditLogView
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.api.transport.paging import PageHere
from app.service import logs

router = APIRouter(prefix="/v1/audit-log", tags=["audit log"], route_class=Route)


@router.get("", name="read_audit_log")
def read_log(resources: ResourcesHere, ask: AskHere, page: PageHere) -> AuditLogView:
    """Read the log in order; each entry's hash covers the one before it."""
    entries = logs.read_log(resources, ask, after=page.after_number, limit=page.limit)
    more = page.next_cursor(entries, lambda entry: entry.sequence)
    return AuditLogView(entries=entries, next_cursor=more)
