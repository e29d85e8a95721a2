"""Audits of all data sets, for auditors and administrators: verdicts and pictures.

Who oversees reads. To have copies attacked takes the rows, and so the owner or an administrator.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.model import Role
from app.portal.lists import ListDep
from app.portal.owner.audits import MOST, audit_page
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.attacks.audit import newest_audits, read_audit
from app.service.context import require
from app.service.copies import levels
from app.service.datasets import registry
from app.service.sharing import principals


def require_overseer(context: ContextDep) -> None:
    """Refuse those who oversee nothing."""
    require(context, Role.AUDITOR)


router = APIRouter(
    prefix="/portal/audits",
    route_class=PortalRoute,
    include_in_schema=False,
    dependencies=[Depends(require_overseer)],
)


@router.get("")
def show_all(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    params: ListDep,
) -> Response:
    """Every data set, and what its last audit found."""
    found = registry.search_datasets(resources, context, params.query())
    ids = [one.id for one in found.items]
    newest = {one: newest_audits(resources, context, one, limit=1) for one in ids}
    owners = {one.owner for one in found.items}
    return page(
        request,
        "administration/audits.html",
        title="Audits",
        listed=params.page_of(found),
        levels={one: levels.list_levels(resources, context, one) for one in ids},
        newest={one: audits[0] for one, audits in newest.items() if audits},
        names=principals.names_of(resources, context, owners),
    )


@router.get("/{dataset_id}")
def show_audits(
    dataset_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """The audits of a data set."""
    dataset = registry.show_dataset(resources, context, dataset_id)
    return page(
        request,
        "administration/audits_of.html",
        title=f"Audits of {dataset.name}",
        dataset=dataset,
        levels=levels.list_levels(resources, context, dataset_id),
        audits=newest_audits(resources, context, dataset_id, limit=MOST),
        base=f"/portal/audits/{dataset_id}",
        names=principals.names_of(resources, context, {dataset.owner}),
    )


@router.get("/{dataset_id}/{audit_id}")
def show_audit(
    dataset_id: str, audit_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """An audit: its verdict, its pictures, and every attack."""
    dataset = registry.show_dataset(resources, context, dataset_id)
    audit = read_audit(resources, context, dataset_id, audit_id)
    return audit_page(request, dataset, audit, for_auditor=True)
