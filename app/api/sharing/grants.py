"""/v1/datasets/{id}/grants: who may have which level."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.sharing.schemas import GrantForm, GrantList
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.model import Grant
from app.service.sharing import grants

router = APIRouter(prefix="/v1/datasets/{dataset_id}/grants", tags=["grants"], route_class=Route)


@router.put("/{recipient}")
def put_grant(
    dataset_id: str, recipient: str, form: GrantForm, resources: ResourcesHere, ask: AskHere
) -> Grant:
    """Give a recipient a level, in place of the one it had."""
    columns = tuple(form.columns) if form.columns is not None else None
    grant = Grant(dataset_id, recipient, form.level, form.expires_at, columns)
    return grants.put_grant(resources, ask, grant)


@router.get("")
def list_grants(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> GrantList:
    """List the grants on a data set."""
    found = grants.list_grants(resources, ask, dataset_id)
    return GrantList(grants=found)


@router.delete("/{recipient}", status_code=204)
def withdraw_grant(dataset_id: str, recipient: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Take a grant back."""
    grants.withdraw_grant(resources, ask, dataset_id, recipient)
