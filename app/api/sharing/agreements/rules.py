"""/v1/agreement-rules: requests that an owner agrees to without a person."""

from __future__ import annotations

from fastapi import APIRouter

from app.agreement import Rule
from app.api.sharing.agreements.schemas import RuleForm, RuleList
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.service.sharing.agreements import rules

router = APIRouter(prefix="/v1/agreement-rules", tags=["agreements"], route_class=Route)


@router.post("", status_code=201)
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


@router.get("")
def list_rules(resources: ResourcesHere, ask: AskHere) -> RuleList:
    """List one's own rules."""
    return RuleList(rules=rules.list_rules(resources, ask))


@router.delete("/{rule_id}", status_code=204)
def remove_rule(rule_id: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Take a rule back; what was agreed by it stays agreed."""
    rules.remove_rule(resources, ask, rule_id)
