"""/v1/catalogue and /v1/agreement-rules: list offers, and set rules that agree automatically."""

from __future__ import annotations

from fastapi import APIRouter

from app.agreement import Rule
from app.api.sharing.agreements.schemas import CatalogueView, ListingView, RuleForm, RuleList
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import Route
from app.api.transport.paging import PageDep
from app.service.sharing import catalogue
from app.service.sharing.agreements import rules

router = APIRouter(prefix="/v1/catalogue", tags=["agreements"], route_class=Route)


@router.get("")
def list_catalogue(resources: ResourcesDep, context: ContextDep, page: PageDep) -> CatalogueView:
    """List the data sets that can be requested, with the levels on offer."""
    found, cursor = page.of(catalogue.list_catalogue, resources, context)
    return CatalogueView(datasets=[ListingView.of(one) for one in found], next_cursor=cursor)


@router.get("/{dataset_id}")
def show_listing(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> ListingView:
    """Show one data set of the catalogue."""
    return ListingView.of(catalogue.show_listing(resources, context, dataset_id))


rules_router = APIRouter(prefix="/v1/agreement-rules", tags=["agreements"], route_class=Route)


@rules_router.post("", status_code=201)
def add_rule(form: RuleForm, resources: ResourcesDep, context: ContextDep) -> Rule:
    """Add a rule: matching requests are agreed automatically, all others await a decision."""
    return rules.add_rule(
        resources,
        context,
        dataset=form.dataset,
        recipients=None if form.recipients is None else tuple(form.recipients),
        purposes=None if form.purposes is None else tuple(form.purposes),
        least_privacy=form.least_privacy,
        longest_days=form.longest_days,
    )


@rules_router.get("")
def list_rules(resources: ResourcesDep, context: ContextDep) -> RuleList:
    """List the owner's rules."""
    return RuleList(rules=rules.list_rules(resources, context))


@rules_router.delete("/{rule_id}", status_code=204)
def remove_rule(rule_id: str, resources: ResourcesDep, context: ContextDep) -> None:
    """Remove a rule; agreements made by it remain in force."""
    rules.remove_rule(resources, context, rule_id)
