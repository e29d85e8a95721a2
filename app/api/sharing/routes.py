"""/v1/recipients, /v1/datasets/{id}/grants and /v1/audit-log: callers and their keys, what they may have, and what was done."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.api.sharing.schemas import (
    AuditLogView,
    GrantForm,
    GrantList,
    NewKeyView,
    ParticipantForm,
    RecipientForm,
    RecipientList,
    RecipientView,
)
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.api.transport.paging import PageHere
from app.model import Grant
from app.service import logs
from app.service.sharing import grants, recipients

router = APIRouter(prefix="/v1/recipients", tags=["recipients"], route_class=Route)


@router.post("", status_code=201)
def create_recipient(
    form: RecipientForm, response: Response, resources: ResourcesHere, ask: AskHere
) -> NewKeyView:
    """Make a caller and its first key, which is shown this once."""
    response.headers["Cache-Control"] = "no-store"
    return NewKeyView.of(recipients.create_recipient(resources, ask, form.name, form.role))


@router.get("")
def list_recipients(resources: ResourcesHere, ask: AskHere, page: PageHere) -> RecipientList:
    """List callers: to an owner those it made, and those with a right or an agreement of its own."""
    found = recipients.list_recipients(resources, ask, after=page.after, limit=page.limit)
    more = page.next_cursor(found, lambda one: one.caller.id)
    return RecipientList(recipients=[RecipientView.of(one) for one in found], next_cursor=more)


@router.get("/{recipient}")
def show_recipient(recipient: str, resources: ResourcesHere, ask: AskHere) -> RecipientView:
    """Show a caller."""
    return RecipientView.of(recipients.show_recipient(resources, ask, recipient))


@router.delete("/{recipient}", status_code=204)
def revoke_recipient(recipient: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Revoke a caller and all its keys for good."""
    recipients.revoke_recipient(resources, ask, recipient)


@router.put("/{recipient}/participant")
def name_participant(
    recipient: str, form: ParticipantForm, resources: ResourcesHere, ask: AskHere
) -> RecipientView:
    """Say who a recipient is in a data space, as an administrator; its connector's token is its key."""
    record = recipients.name_participant(resources, ask, recipient, form.participant_id)
    return RecipientView.of(record)


@router.post("/{recipient}/keys", status_code=201)
def rotate_key(
    recipient: str, response: Response, resources: ResourcesHere, ask: AskHere
) -> NewKeyView:
    """Make a new key in place of all the caller had, which is shown this once."""
    response.headers["Cache-Control"] = "no-store"
    return NewKeyView.of(recipients.rotate_key(resources, ask, recipient))


@router.delete("/{recipient}/keys/{key_id}", status_code=204)
def revoke_key(recipient: str, key_id: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Revoke one key by its public id."""
    recipients.revoke_key(resources, ask, recipient, key_id)


grants_router = APIRouter(
    prefix="/v1/datasets/{dataset_id}/grants", tags=["grants"], route_class=Route
)


@grants_router.put("/{recipient}")
def put_grant(
    dataset_id: str, recipient: str, form: GrantForm, resources: ResourcesHere, ask: AskHere
) -> Grant:
    """Give a recipient a level, in place of the one it had."""
    columns = tuple(form.columns) if form.columns is not None else None
    grant = Grant(dataset_id, recipient, form.level, form.expires_at, columns)
    return grants.put_grant(resources, ask, grant)


@grants_router.get("")
def list_grants(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> GrantList:
    """List the grants on a data set."""
    found = grants.list_grants(resources, ask, dataset_id)
    return GrantList(grants=found)


@grants_router.delete("/{recipient}", status_code=204)
def withdraw_grant(dataset_id: str, recipient: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Take a grant back."""
    grants.withdraw_grant(resources, ask, dataset_id, recipient)


log_router = APIRouter(prefix="/v1/audit-log", tags=["audit log"], route_class=Route)


@log_router.get("", name="read_audit_log")
def read_log(resources: ResourcesHere, ask: AskHere, page: PageHere) -> AuditLogView:
    """Read the log in order; each entry's hash covers the one before it."""
    entries = logs.read_log(resources, ask, after=page.after_number, limit=page.limit)
    more = page.next_cursor(entries, lambda entry: entry.sequence)
    return AuditLogView(entries=entries, next_cursor=more)
