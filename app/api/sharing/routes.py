"""/v1/principals, /v1/datasets/{id}/grants, /v1/audit-log and /v1/reports."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.api.sharing.schemas import (
    AuditLogView,
    GrantForm,
    GrantList,
    NewKeyView,
    ParticipantForm,
    PrincipalForm,
    PrincipalList,
    PrincipalView,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import Route
from app.api.transport.paging import PageDep
from app.model import Grant
from app.service import logs
from app.service.sharing import grants, principals

router = APIRouter(prefix="/v1/principals", tags=["principals"], route_class=Route)


@router.post("", status_code=201)
def create_principal(
    form: PrincipalForm, response: Response, resources: ResourcesDep, context: ContextDep
) -> NewKeyView:
    """Make a principal and its first key, which is shown this once."""
    response.headers["Cache-Control"] = "no-store"
    return NewKeyView.of(principals.create_principal(resources, context, form.name, form.role))


@router.get("")
def list_principals(resources: ResourcesDep, context: ContextDep, page: PageDep) -> PrincipalList:
    """List principals: to an owner those it made, and those with a right or an agreement of its own."""
    found, cursor = page.of(principals.list_principals, resources, context, place="principal.id")
    return PrincipalList(principals=[PrincipalView.of(one) for one in found], next_cursor=cursor)


@router.get("/{principal_id}")
def show_principal(
    principal_id: str, resources: ResourcesDep, context: ContextDep
) -> PrincipalView:
    """Show a principal."""
    return PrincipalView.of(principals.show_principal(resources, context, principal_id))


@router.delete("/{principal_id}", status_code=204)
def revoke_principal(principal_id: str, resources: ResourcesDep, context: ContextDep) -> None:
    """Revoke a principal and all its keys for good."""
    principals.revoke_principal(resources, context, principal_id)


@router.put("/{principal_id}/participant")
def name_participant(
    principal_id: str, form: ParticipantForm, resources: ResourcesDep, context: ContextDep
) -> PrincipalView:
    """Propose, as the owner that created a recipient, or confirm, as an administrator, its participant id in a data space. Nothing is reachable under a proposed one."""
    record = principals.name_participant(resources, context, principal_id, form.participant_id)
    return PrincipalView.of(record)


@router.post("/{principal_id}/keys", status_code=201)
def rotate_key(
    principal_id: str, response: Response, resources: ResourcesDep, context: ContextDep
) -> NewKeyView:
    """Make a new key in place of all the principal had, which is shown this once."""
    response.headers["Cache-Control"] = "no-store"
    return NewKeyView.of(principals.rotate_key(resources, context, principal_id))


@router.delete("/{principal_id}/keys/{key_id}", status_code=204)
def revoke_key(
    principal_id: str, key_id: str, resources: ResourcesDep, context: ContextDep
) -> None:
    """Revoke one key by its public id."""
    principals.revoke_key(resources, context, principal_id, key_id)


grants_router = APIRouter(
    prefix="/v1/datasets/{dataset_id}/grants", tags=["grants"], route_class=Route
)


@grants_router.put("/{recipient}")
def put_grant(
    dataset_id: str, recipient: str, form: GrantForm, resources: ResourcesDep, context: ContextDep
) -> Grant:
    """Give a recipient a level, in place of the one it had."""
    columns = tuple(form.columns) if form.columns is not None else None
    grant = Grant(dataset_id, recipient, form.level, form.expires_at, columns)
    return grants.put_grant(resources, context, grant)


@grants_router.get("")
def list_grants(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> GrantList:
    """List the grants on a data set."""
    found = grants.list_grants(resources, context, dataset_id)
    return GrantList(grants=found)


@grants_router.delete("/{recipient}", status_code=204)
def withdraw_grant(
    dataset_id: str, recipient: str, resources: ResourcesDep, context: ContextDep
) -> None:
    """Take a grant back."""
    grants.withdraw_grant(resources, context, dataset_id, recipient)


log_router = APIRouter(prefix="/v1/audit-log", tags=["audit log"], route_class=Route)


@log_router.get("", name="read_audit_log")
def read_log(resources: ResourcesDep, context: ContextDep, page: PageDep) -> AuditLogView:
    """Read the log in order; each entry's hash covers the one before it."""
    entries, cursor = page.of(logs.read_log, resources, context, place="sequence")
    return AuditLogView(entries=entries, next_cursor=cursor)
