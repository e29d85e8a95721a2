"""Agreement rules of an owner: matching requests are agreed automatically."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from app.agreement import Agreement, Rule, length
from app.errors import Hidden, InvalidParameter, NotFound
from app.model import Role
from app.service.context import RequestContext, new_id, owned, require
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import reading
from app.store.database.sharing import agreements, principals

MOST_RULES = 1_000


def add_rule(
    resources: Resources,
    context: RequestContext,
    *,
    dataset: str | None,
    recipients: tuple[str, ...] | None,
    purposes: tuple[str, ...] | None,
    least_privacy: float,
    longest_days: int,
) -> Rule:
    """Agree from now on to requests that fit, for one data set or for all of the owner's."""
    require(context, Role.OWNER)
    for name, listed in (("recipients", recipients), ("purposes", purposes)):
        if listed is not None and not listed:
            raise InvalidParameter(f"{name} must name one or more, or be left out", parameter=name)
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        owner = context.principal.id
        if dataset is not None:
            owner = owned(connection, context, dataset).owner
        for recipient in recipients or ():
            record = principals.one(connection, recipient)
            if record is None or record.principal.role is not Role.RECIPIENT:
                raise InvalidParameter(
                    f"there is no recipient {recipient!r}", parameter="recipients"
                )
        if len(agreements.rules_of(connection, owner)) >= MOST_RULES:
            raise InvalidParameter(f"an owner has up to {MOST_RULES} rules", parameter="rules")
        rule = Rule(
            id=new_id("ar"),
            owner=owner,
            dataset=dataset,
            recipients=recipients,
            purposes=purposes,
            least_privacy=least_privacy,
            longest_days=longest_days,
            created_at=uow.now,
        )
        agreements.add_rule(connection, rule)
        uow.record(
            "agreement-rule.add",
            rule.id,
            least_privacy=least_privacy,
            longest_days=longest_days,
        )
    return rule


def list_rules(resources: Resources, context: RequestContext) -> list[Rule]:
    """The principal's own rules."""
    require(context, Role.OWNER)
    with reading(resources.engine) as connection:
        return agreements.rules_of(connection, context.principal.id)


def remove_rule(resources: Resources, context: RequestContext, rule_id: str) -> None:
    """Remove a rule; agreements made by it remain in force."""
    require(context, Role.OWNER)
    with unit_of_work(resources, context) as uow:
        rule = agreements.rule(uow.connection, rule_id)
        absent = f"there is no rule {rule_id!r} for this principal"
        if context.principal.role is not Role.ADMIN and (
            rule is None or rule.owner != context.principal.id
        ):
            raise Hidden(absent)
        if rule is None:
            raise NotFound(absent)
        agreements.remove_rule(uow.connection, rule_id)
        uow.record("agreement-rule.remove", rule_id)


def rule_for(known: Sequence[Rule], agreement: Agreement) -> Rule | None:
    """One of the provider's rules that the request fits: every item of it, with its least private one."""
    for rule in known:
        if fits(rule, agreement):
            return rule
    return None


def fits(rule: Rule, agreement: Agreement) -> bool:
    """Return whether a rule agrees to everything that an agreement's terms say."""
    terms = agreement.terms
    lasts = length(terms)
    return (
        rule.owner == agreement.provider
        and (rule.recipients is None or agreement.consumer in rule.recipients)
        and (rule.purposes is None or terms.purpose in rule.purposes)
        and lasts is not None
        and lasts <= timedelta(days=rule.longest_days)
        and all(rule.dataset in (None, item.dataset) for item in terms.items)
        and all(item.privacy >= rule.least_privacy for item in terms.items)
    )
