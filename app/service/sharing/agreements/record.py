"""Signed record of a finalized agreement, for both parties to keep.

    file      = canonical JSON (RFC 8785) of {"agreement": document, "signature": JWS}
    signature = detached JWS (RFC 7515, appendix F), Ed25519, over the canonical JSON of the document

`verification.py` checks one without the service. The document carries its terms in words, the head of
the agreement's log when it was finalized, and the same as an ODRL policy.

As an ODRL policy (JSON-LD) an agreement has one permission for each item. ODRL has no words for what a perturbed
copy promises, so four left operands are ours, under the prefix `cw`: `level` (its name), `noiseVariance` (in units
of the data's own), `column`, `firstRow`.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import rfc8785
from sqlalchemy import Connection

from app.agreement import Agreement, Item, Terms
from app.errors import NotFound
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import known_agreement
from app.service.sharing.agreements.signatures import sign
from app.store.database import installation
from app.store.database.datasets import datasets
from app.store.database.engine import reading
from app.store.database.sharing import agreements, principals

CONTEXT = ["http://www.w3.org/ns/odrl.jsonld", {"cw": "urn:cornerwave:terms#"}]


def odrl_agreement(agreement: Agreement) -> dict[str, Any]:
    """The policy that an agreement amounts to."""
    return {
        "@context": CONTEXT,
        "@type": "Agreement",
        "uid": f"urn:cornerwave:agreement:{agreement.id}",
        "assigner": f"urn:cornerwave:principal:{agreement.provider}",
        "assignee": f"urn:cornerwave:principal:{agreement.consumer}",
        "permission": [_permission(agreement.terms, item) for item in agreement.terms.items],
    }


def _permission(terms: Terms, item: Item) -> dict[str, Any]:
    constraints = [
        _constraint("purpose", "eq", terms.purpose),
        _constraint("dateTime", "gteq", _instant(terms.starts_at)),
        _constraint("cw:level", "eq", item.level),
        _constraint("cw:noiseVariance", "gteq", item.noise_variance),
    ]
    if terms.ends_at is not None and not terms.renews:
        constraints.append(_constraint("dateTime", "lt", _instant(terms.ends_at)))
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


def _instant(at: datetime) -> dict[str, str]:
    return {"@value": at.astimezone(UTC).isoformat(), "@type": "xsd:dateTime"}


FORMAT = "cornerwave-agreement-v1"


def read_record(resources: Resources, context: RequestContext, agreement_id: str) -> bytes:
    """The signed document, byte for byte as it was made; NotFound until it is finalized."""
    with reading(resources.engine) as connection:
        known_agreement(connection, context, agreement_id)
        kept = agreements.record_of(connection, agreement_id)
    if kept is None:
        raise NotFound("there is a record once the agreement is finalized")
    return kept.encode()


def read_policy(resources: Resources, context: RequestContext, agreement_id: str) -> dict[str, Any]:
    """The agreement, in whatever state, as an ODRL policy."""
    with reading(resources.engine) as connection:
        return odrl_agreement(known_agreement(connection, context, agreement_id))


def store_record(resources: Resources, connection: Connection, agreement: Agreement) -> None:
    """Sign a finalized agreement, in the transaction that finalizes it."""
    document = document_of(connection, agreement)
    signature = sign(resources, connection, rfc8785.dumps(document))
    file = rfc8785.dumps({"agreement": document, "signature": signature})
    agreements.keep_record(connection, agreement.id, file.decode())


def document_of(connection: Connection, agreement: Agreement) -> dict[str, Any]:
    """Return the document to be signed."""
    terms = agreement.terms
    known = installation.find(connection)
    return {
        "format": FORMAT,
        "service": None if known is None else known.id,
        "id": agreement.id,
        "version": agreement.version,
        "provider": _named(connection, agreement.provider),
        "recipient": _named(connection, agreement.consumer),
        "items": [_item(connection, item) for item in terms.items],
        "purpose": terms.purpose,
        "legal_basis": terms.legal_basis,
        "terms": terms.text,
        "terms_sha256": terms.text_sha256,
        "starts_at": _moment(terms.starts_at),
        "ends_at": _moment(terms.ends_at),
        "renews": terms.renews,
        "refresh": terms.refresh,
        "deliveries": [asdict(one) for one in terms.deliveries],
        "traceable": terms.traceable,
        "finalized_at": _moment(agreement.finalized_at),
        "log": {"sequence": agreement.log_sequence, "hash": agreement.log_hash},
        "policy": odrl_agreement(agreement),
    }


def _named(connection: Connection, principal_id: str) -> dict[str, str | None]:
    record = principals.one(connection, principal_id)
    return {"id": principal_id, "name": None if record is None else record.principal.name}


def _item(connection: Connection, item: Item) -> dict[str, Any]:
    dataset = datasets.one(connection, item.dataset)
    return {
        "dataset": item.dataset,
        "name": None if dataset is None else dataset.name,
        "level": item.level,
        "noise_variance": item.noise_variance,
        "privacy": item.privacy,
        "columns": None if item.columns is None else list(item.columns),
        "rows_since": item.rows_since,
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds")
