"""Signing keys of the service (Ed25519): created on demand, sealed, rotated, published.

A key's id is the thumbprint of its public half (RFC 7638), so that who has written down the id knows
the key again wherever it got it from. A key that was rotated out signs nothing more and stays
published: what it signed can be checked for ever.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

from joserfc import jws
from joserfc.jwk import OKPKey
from sqlalchemy import Connection

from app.service.logs import record_upkeep
from app.service.resources import Resources
from app.store.database.engine import reading, writing
from app.store.database.sharing import signing_keys
from app.store.database.sharing.signing_keys import SigningKey

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
        known = signing_keys.all_keys(connection)
    return {"keys": [_published(key) for key in known]}


def rotate_signing_key(resources: Resources) -> str:
    """A new key, which signs from now on; its id."""
    with writing(resources.engine) as connection:
        made = _made(resources, connection)
        signing_keys.retire_others(connection, made.id, datetime.now(UTC))
        record_upkeep(connection, "signing-key.rotate", made.id)
    return made.id


def _newest(connection: Connection) -> SigningKey | None:
    living = [key for key in signing_keys.all_keys(connection) if key.retired_at is None]
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
    signing_keys.add(connection, kept)
    return kept


def _published(key: SigningKey) -> dict[str, Any]:
    public = urlsafe_b64encode(key.public).rstrip(b"=").decode()
    named = {"kid": key.id, "use": "sig", "alg": ALGORITHM}
    return {"kty": "OKP", "crv": "Ed25519", "x": public, **named}


def _context(key_id: str) -> str:
    return f"signing-key:{key_id}"
