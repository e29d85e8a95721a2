"""/.well-known/cornerwave-keys.json: the public keys by which signed agreements are checked."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app.api.transport.dependencies import ResourcesHere
from app.service.sharing.agreements import signing

router = APIRouter(tags=["agreements"])


class PublicKeyView(BaseModel):
    """A public key of Ed25519; `kid` is its thumbprint (RFC 7638)."""

    kty: str
    crv: str
    x: str
    kid: str
    use: str
    alg: str


class KeySetView(BaseModel):
    """A JSON Web Key Set: every key that ever signed, the one that signs now last."""

    keys: list[PublicKeyView]


@router.get("/.well-known/cornerwave-keys.json")
def read_signing_keys(response: Response, resources: ResourcesHere) -> KeySetView:
    """Read the public keys of the service; no key is needed for that."""
    response.headers["Cache-Control"] = "public, max-age=300"
    return KeySetView.model_validate(signing.public_keys(resources))
