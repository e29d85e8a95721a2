"""/v1/catalogue and /v1/agreement-rules: what can be found and asked for, and what its owner agrees to without a person."""

from __future__ import annotations

from fastapi import APIRouter

from app.agreement import Rule
from app.api.sharing.agreements.schemas import CatalogueView, ListingView, RuleForm, RuleList
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.api.transport.paging import PageHere
from app.service.sharing import catalogue
from app.service.sharing.agreements import rules

router = APIRouter(prefix="/v1/catalogue", tags=["agreements"], route_class=Route)


@router.get("")
def list_catalogue(resources: ResourcesHere, ask: AskHere, page: PageHere) -> CatalogueView:
    """List the data sets that can be asked for, with the levels on offer."""
    found = catalogue.list_catalogue(resources, ask, after=page.after, limit=page.limit)
    more = page.next_cursor(found, lambda one: one.id)
    return CatalogueView(datasets=[ListingView.of(one) for one in found], next_cursor=more)


@router.get("/{dataset_id}")
def show_listing(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> ListingView:
    """Show one data set of the catalogue."""
    return ListingView.of(catalogue.show_listing(resources, ask, dataset_id))


rules_router = APIRouter(prefix="/v1/agreement-rules", tags=["agreements"], route_class=Route)


@rules_router.post("", status_code=201)
def add_rule(form: RuleForm, resources: ResourcesHere, ask: AskHere) -> Rule:
    """Agree from now on to requests that fit the rule; all others wait for a person."""
    return rules.add_rule(
        resources,
        ask,
        dataset=form.dataset,
        recipients=None if form.recipients is None else tuple(form.recipients),
        purposes=None if form.purposes is None else tuple(form.purposes),
        least_privacy=form.least_privacy,
        longest_days=form.longest_days,
    )


@rules_router.get("")
def list_rules(resources: ResourcesHere, ask: AskHere) -> RuleList:
    """List one's own rules."""
    return RuleList(rules=rules.list_rules(resources, ask))


@rules_router.delete("/{rule_id}", status_code=204)
def remove_rule(rule_id: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Take a rule back; what was agreed by it stays agreed."""
    rules.remove_rule(resources, ask, rule_id)
