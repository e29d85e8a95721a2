"""Offers of an owner at a level: on request, or agreed automatically by its rules.

A rule is a standing offer: it is shown to those whom it fits, one offer for each of its purposes,
and to nobody else. Beside them stands the offer to ask: the level, and a person decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from app.agreement import Agreement, Item, Rule, Terms
from app.service.sharing.dataspace.vocabulary import OFFER, TERMS, dataset_urn

Constraint = dict[str, Any]


@dataclass(frozen=True)
class Offer:
    """One policy under which a data set at a level can be had; purpose and days None where open."""

    id: str
    dataset: str
    level: str
    noise_variance: float
    purpose: str | None = None
    days: int | None = None

    @property
    def target(self) -> str:
        return dataset_urn(self.dataset, self.level)


def offers_at(
    dataset: str, owner: str, level: str, variance: float, principal: str, rules: Sequence[Rule]
) -> list[Offer]:
    """The offers that a principal finds for a level: what is agreed at once first."""
    privacy = variance / (1.0 + variance)
    name = f"{OFFER}{dataset}:{quote(level, safe='')}"
    found = [
        Offer(f"{name}:{rule.id}:{number}", dataset, level, variance, purpose, rule.longest_days)
        for rule in rules
        if rule.owner == owner
        and rule.dataset in (None, dataset)
        and (rule.recipients is None or principal in rule.recipients)
        and privacy >= rule.least_privacy
        for number, purpose in enumerate(rule.purposes or (None,))
    ]
    return [*found, Offer(name, dataset, level, variance)]


def offer_policy(offer: Offer) -> dict[str, Any]:
    """An offer as the catalogue shows it, which names no target of its own."""
    constraints = _level(offer.level, offer.noise_variance)
    if offer.purpose is not None:
        constraints.append(constraint("purpose", "eq", offer.purpose))
    if offer.days is not None:
        constraints.append(constraint("elapsedTime", "lteq", f"P{offer.days}D"))
    return {"@id": offer.id, "@type": "Offer", "permission": [_use(constraints)]}


def offered_policy(agreement: Agreement) -> dict[str, Any]:
    """The terms that a provider answers with, as an offer to be accepted."""
    [item] = agreement.terms.items
    return {
        "@id": current_offer(agreement),
        "@type": "Offer",
        "target": dataset_urn(item.dataset, item.level),
        "permission": [_use(_terms(agreement.terms, item))],
    }


def agreed_policy(agreement: Agreement, uid: str, assigner: str, assignee: str) -> dict[str, Any]:
    """The terms as they were agreed."""
    [item] = agreement.terms.items
    return {
        "@id": uid,
        "@type": "Agreement",
        "target": dataset_urn(item.dataset, item.level),
        "timestamp": agreement.changed_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "assigner": assigner,
        "assignee": assignee,
        "permission": [_use(_terms(agreement.terms, item))],
    }


def current_offer(agreement: Agreement) -> str:
    """The name of the terms that stand in a negotiation now."""
    return f"{OFFER}{agreement.id}:{agreement.version}"


def constraint(left: str, operator: str, right: Any) -> Constraint:
    return {"leftOperand": left, "operator": operator, "rightOperand": right}


def _use(constraints: list[Constraint]) -> dict[str, Any]:
    return {"action": "use", "constraint": constraints}


def _level(level: str, variance: float) -> list[Constraint]:
    # The schema has no numbers on the right: they are written as texts.
    return [
        constraint(f"{TERMS}level", "eq", level),
        constraint(f"{TERMS}noiseVariance", "gteq", repr(variance)),
    ]


def _terms(terms: Terms, item: Item) -> list[Constraint]:
    constraints = _level(item.level, item.noise_variance)
    constraints.append(constraint("purpose", "eq", terms.purpose))
    constraints.append(constraint("dateTime", "gteq", terms.starts_at.isoformat()))
    if terms.ends_at is not None and not terms.renews:
        constraints.append(constraint("dateTime", "lt", terms.ends_at.isoformat()))
    if item.columns is not None:
        constraints.append(constraint(f"{TERMS}column", "isAnyOf", list(item.columns)))
    if item.rows_since:
        constraints.append(constraint(f"{TERMS}firstRow", "gteq", str(item.rows_since)))
    return constraints
