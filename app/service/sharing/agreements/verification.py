"""Offline verification of a signed record by the service's public keys.

It knows nothing of the service and imports nothing of it, so that anyone can check a record alike:

1. the file is the canonical JSON (RFC 8785) of an object with `agreement` and `signature`;
2. `signature` reads `head..signature`, both in base64url without padding, without a stray bit;
3. the head is JSON with `alg` "Ed25519" and `kid`, the thumbprint (RFC 7638) of a key of the key set;
4. Ed25519 verifies `head` + "." + base64url(canonical JSON of `agreement`);
5. `terms_sha256` is that of `terms`.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class NotVerified(Exception):
    """The record is not one that the holder of the keys signed; one sentence says why."""


def verified(file: bytes, key_set: bytes) -> dict[str, Any]:
    """The agreement that a record holds; NotVerified when a single byte is not as it was signed."""
    said = _canonical(file)
    if not isinstance(said, dict) or set(said) != {"agreement", "signature"}:
        raise NotVerified("The file is not the record of an agreement.")
    agreement = said["agreement"]
    head, signature = _parts(said["signature"])
    key = _key(head, key_set)
    signed = _encoded(head) + b"." + _encoded(rfc8785.dumps(agreement))
    try:
        key.verify(signature, signed)
    except InvalidSignature:
        raise NotVerified("The signature is not one of this agreement by this key.") from None
    terms = agreement.get("terms") if isinstance(agreement, dict) else None
    if not isinstance(terms, str) or agreement["terms_sha256"] != _sha256(terms):
        raise NotVerified("The terms are not those of their hash.")
    found: dict[str, Any] = agreement
    return found


def _canonical(file: bytes) -> Any:
    try:
        said = json.loads(file)
        same = rfc8785.dumps(said) == file
    except (ValueError, RecursionError, rfc8785.CanonicalizationError):
        raise NotVerified("The file is not JSON.") from None
    if not same:
        raise NotVerified("The file is not in canonical form: something of it was changed.")
    return said


def _parts(signature: Any) -> tuple[bytes, bytes]:
    parts = signature.split("..") if isinstance(signature, str) else []
    if len(parts) != 2:
        raise NotVerified("The signature is malformed.")
    return _decoded(parts[0]), _decoded(parts[1])


def _key(head: bytes, key_set: bytes) -> Ed25519PublicKey:
    try:
        said = json.loads(head)
        known = {key["kid"]: _decoded(key["x"]) for key in json.loads(key_set)["keys"]}
        algorithm, name = said["alg"], said["kid"]
    except (ValueError, TypeError, KeyError):
        raise NotVerified("The head of the signature or the key set is malformed.") from None
    if algorithm != "Ed25519" or name not in known:
        raise NotVerified("The record was not signed by a key of the key set.")
    public = known[name]
    thumb = {"crv": "Ed25519", "kty": "OKP", "x": _encoded(public).decode()}
    digest = hashlib.sha256(json.dumps(thumb, separators=(",", ":"), sort_keys=True).encode())
    if _encoded(digest.digest()).decode() != name:
        raise NotVerified("A key of the key set is not the one that its name says.")
    try:
        return Ed25519PublicKey.from_public_bytes(public)
    except ValueError:
        raise NotVerified("A key of the key set is malformed.") from None


def _decoded(text: str) -> bytes:
    """The bytes; base64url has several texts for the same bytes, and only one of them is right."""
    try:
        content = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise NotVerified("The signature is malformed.") from None
    if _encoded(content).decode() != text:
        raise NotVerified("The signature is malformed.")
    return content


def _encoded(content: bytes) -> bytes:
    return urlsafe_b64encode(content).rstrip(b"=")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
