"""An agreement as an ODRL policy (JSON-LD): one permission for each item.

ODRL has no words for what a perturbed copy promises, so four left operands are ours, under the
prefix `cw`: `level` (its name), `noiseVariance` (in units of the data's own), `column`, `firstRow`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from app.agreement import Agreement, Item, Terms

CONTEXT = ["http://www.w3.org/ns/odrl.jsonld", {"cw": "urn:cornerwave:terms#"}]


def odrl_agreement(agreement: Agreement) -> dict[str, Any]:
    """The policy that an agreement amounts to."""
    return {
        "@context": CONTEXT,
        "@type": "Agreement",
        "uid": f"urn:cornerwave:agreement:{agreement.id}",
        "assigner": f"urn:cornerwave:caller:{agreement.provider}",
        "assignee": f"urn:cornerwave:caller:{agreement.consumer}",
        "permission": [_permission(agreement.terms, item) for item in agreement.terms.items],
    }


def _permission(terms: Terms, item: Item) -> dict[str, Any]:
    constraints = [
        _constraint("purpose", "eq", terms.purpose),
        _constraint("dateTime", "gteq", _moment(terms.starts_at)),
        _constraint("cw:level", "eq", item.level),
        _constraint("cw:noiseVariance", "gteq", item.noise_variance),
    ]
    if terms.ends_at is not None and not terms.renews:
        constraints.append(_constraint("dateTime", "lt", _moment(terms.ends_at)))
    if item.columns is not None:
        constraints.append(_constraint("cw:column", "isAnyOf", list(item.columns)))
    if item.rows_since:
        constraints.append(_constraint("cw:firstRow", "gteq", item.rows_since))
    return {
        "target": f"urn:cornerwave:dataset:{item.dataset}",
        "action": "use",
        "constraint": constraints,
    }


def _constraint(left: str, operator: str, right: Any) -> dict[str, Any]:
    return {"leftOperand": left, "operator": operator, "rightOperand": right}


def _moment(at: datetime) -> dict[str, str]:
    return {"@value": at.astimezone(UTC).isoformat(), "@type": "xsd:dateTime"}
