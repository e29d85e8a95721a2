"""Offline verification of the signed record of an agreement, with the public keys of the service."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from cornerwave.problems import CornerwaveError
from cornerwave.transport.tables import needed


class NotVerified(CornerwaveError):
    """The record is not as the holder of the keys signed it; one sentence says why."""


def verify_record(record: bytes, key_set: bytes) -> dict[str, Any]:
    """The agreement of a record; NotVerified when one byte is not as it was signed.

    The record is canonical JSON (RFC 8785) with a detached JWS (RFC 7515, appendix F) by an Ed25519 key whose name
    is its thumbprint (RFC 7638), and `terms_sha256` is the hash of `terms`.
    """
    canonical = needed("rfc8785", "signatures").dumps
    try:
        said = json.loads(record)
        agreement, signature = said["agreement"], said["signature"]
        whole = canonical(said) == record and set(said) == {"agreement", "signature"}
        head, separator, signed = signature.partition("..")
        named = json.loads(_bytes(head))
        content = _bytes(signed)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise NotVerified("The file is not the record of an agreement.") from None
    if not whole or not separator:
        raise NotVerified("The file is not in canonical form: something of it was changed.")
    if not isinstance(named, dict) or named.get("alg") != "Ed25519":
        raise NotVerified("The record is not signed by Ed25519.")
    message = f"{head}.{_text(canonical(agreement))}".encode()
    _verify(_public_key(key_set, named.get("kid")), content, message)
    terms = hashlib.sha256(str(agreement.get("terms")).encode()).hexdigest()
    if agreement.get("terms_sha256") != terms:
        raise NotVerified("The terms are not those of their hash.")
    found: dict[str, Any] = agreement
    return found


def _public_key(key_set: bytes, name: object) -> bytes:
    try:
        keys = json.loads(key_set)["keys"]
        (public,) = [_bytes(key["x"]) for key in keys if key["kid"] == name]
    except (ValueError, TypeError, KeyError):
        raise NotVerified("The record was not signed by a key of the key set.") from None
    thumb = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": _text(public)}, separators=(",", ":"))
    if _text(hashlib.sha256(thumb.encode()).digest()) != name:
        raise NotVerified("A key of the key set is not the one that its name says.")
    return public


def _verify(public: bytes, signature: bytes, message: bytes) -> None:
    ed25519 = needed("cryptography.hazmat.primitives.asymmetric.ed25519", "signatures")
    wrong = needed("cryptography.exceptions", "signatures").InvalidSignature
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (wrong, ValueError):
        raise NotVerified("The signature is not one of this agreement by this key.") from None


def _bytes(text: str) -> bytes:
    """Decode canonical base64url: of several texts for the same bytes only one is accepted."""
    content = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(content) != text:
        raise ValueError("not base64url without padding")
    return content


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()
