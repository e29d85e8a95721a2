"""Signed record of a finalized agreement, for both parties to keep.

    file      = canonical JSON (RFC 8785) of {"agreement": document, "signature": JWS}
    signature = detached JWS (RFC 7515, appendix F), Ed25519, over the canonical JSON of the document

`verification.py` checks one without the service. The document carries its terms in words, the head of
the agreement's log when it was finalized, and the same as an ODRL policy.

As an ODRL policy (JSON-LD) an agreement has one permission for each item. ODRL has no words for what a perturbed
copy promises, so four left operands are ours, under the prefix `cw`: `level` (its name), `noiseVariance` (in units
of the data's own), `column`, `firstRow`.

The signing keys are the service's: made when first needed, sealed, rotated, published. A key's id is the thumbprint of its
public half (RFC 7638), so that who has written down the id knows the key again wherever it got it from. A key that was
rotated out signs nothing more and stays published: what it signed can be checked for ever.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import rfc8785
from joserfc import jws
from joserfc.jwk import OKPKey
from sqlalchemy import Connection

from app.agreement import Agreement, Item, Terms
from app.errors import NotFound
from app.service.context import RequestContext
from app.service.logs import record_upkeep
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import known_agreement
from app.store.database import installation
from app.store.database.datasets import datasets
from app.store.database.engine import reading, writing
from app.store.database.installation import SigningKey
from app.store.database.sharing import agreements, principals

ALGORITHM = "Ed25519"
"""By RFC 9864, which names the curve in place of the older `EdDSA`."""


def sign(resources: Resources, connection: Connection, content: bytes) -> str:
    """A detached JWS over the content (RFC 7515, appendix F), by the newest key."""
    kept = _newest(connection) or _made(resources, connection)
    private = resources.vault.open(kept.sealed, _context(kept.id))
    key = OKPKey.import_key(private)
    compact = jws.serialize_compact(
        {"alg": ALGORITHM, "kid": kept.id, "typ": "cornerwave-agreement"},
        content,
        key,
        algorithms=[ALGORITHM],
    )
    head, _, signature = compact.split(".")
    return f"{head}..{signature}"


def public_keys(resources: Resources) -> dict[str, Any]:
    """All public keys as a JSON Web Key Set (RFC 7517); the one that signs now stands last."""
    with reading(resources.engine) as connection:
        known = installation.signing_keys(connection)
    return {"keys": [_published(key) for key in known]}


def rotate_signing_key(resources: Resources) -> str:
    """A new key, which signs from now on; its id."""
    with writing(resources.engine) as connection:
        made = _made(resources, connection)
        installation.retire_other_keys(connection, made.id, datetime.now(UTC))
        record_upkeep(connection, "signing-key.rotate", made.id)
    return made.id


def _newest(connection: Connection) -> SigningKey | None:
    living = [key for key in installation.signing_keys(connection) if key.retired_at is None]
    return living[-1] if living else None


def _made(resources: Resources, connection: Connection) -> SigningKey:
    fresh = OKPKey.generate_key("Ed25519")
    name = fresh.thumbprint()
    kept = SigningKey(
        id=name,
        public=fresh.public_key.public_bytes_raw(),
        sealed=resources.vault.seal(fresh.as_pem(private=True), _context(name)),
        created_at=datetime.now(UTC),
        retired_at=None,
    )
    installation.add_signing_key(connection, kept)
    return kept


def _published(key: SigningKey) -> dict[str, Any]:
    public = urlsafe_b64encode(key.public).rstrip(b"=").decode()
    named = {"kid": key.id, "use": "sig", "alg": ALGORITHM}
    return {"kty": "OKP", "crv": "Ed25519", "x": public, **named}


def _context(key_id: str) -> str:
    return f"signing-key:{key_id}"


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
