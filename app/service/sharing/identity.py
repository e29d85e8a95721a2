"""Signing in by OpenID Connect: a provider vouches for somebody, and claims say which role that is.

The authorization code flow with PKCE. What the answer must fit (state, nonce, verifier) is sealed and
kept by the browser alone. A principal who comes this way has an id that follows from issuer and subject,
so that the same person is the same principal without anything more being kept.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import orjson
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from app.errors import Refusal, Unauthenticated, Unavailable
from app.model import Principal, Role
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.sessions import NewSession, sign_in_known
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import reading
from app.store.database.sharing import principals
from app.store.vault import SealBroken

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures by a key that only the provider has; never `none`, never a shared secret."""

ON_THE_WAY_SECONDS = 600
FRESH_SECONDS = 600.0
PATIENCE_SECONDS = 10.0
LEEWAY_SECONDS = 5
"""By so much the provider's clock may differ."""

SEALED_FOR = "sign-in by a provider"
RANK = (Role.ADMIN, Role.OWNER, Role.AUDITOR, Role.RECIPIENT)
"""Of several roles that the claims give, the first here counts."""

REFUSED = "The identity provider's answer cannot be used"


@dataclass(frozen=True, repr=False)
class Provider:
    """An identity provider, and what its claims mean here.

    where:
        role_claim  the claim whose value, or values, are looked up in `roles`
        roles       value of the claim → role; `*` is everybody whom the provider vouches for
    """

    issuer: str
    client_id: str
    client_secret: str
    role_claim: str
    roles: Mapping[str, Role]
    scope: str = "openid profile email"
    _known: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def metadata(self) -> dict[str, Any]:
        """What the provider says of itself, asked for anew after some minutes."""
        return self._fresh(
            "metadata", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        )

    def keys(self) -> KeySet:
        """The keys that it signs with."""
        found = self._fresh("keys", self.metadata()["jwks_uri"])
        return KeySet.import_key_set(cast("KeySetSerialization", found))

    def forget_keys(self) -> None:
        """Have the keys asked for anew: the provider may have changed them."""
        with self._lock:
            self._known.pop("keys", None)

    def _fresh(self, name: str, address: str) -> dict[str, Any]:
        with self._lock:
            known = self._known.get(name)
        if known is None or time.monotonic() > known[0]:
            found = _asked("GET", address)
            if name == "metadata" and found.get("issuer") != self.issuer:
                raise Unavailable("The identity provider says that it is another one.")
            known = (time.monotonic() + FRESH_SECONDS, found)
            with self._lock:
                self._known[name] = known
        value: dict[str, Any] = known[1]
        return value


@dataclass(frozen=True, repr=False)
class Departure:
    """Where the browser is sent, and what it keeps until it comes back."""

    address: str
    kept: str


def depart(resources: Resources, provider: Provider, back: str, after: str) -> Departure:
    """Begin to sign in: `back` is our address to return to, `after` the page that was wanted."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    address = prepare_grant_uri(
        provider.metadata()["authorization_endpoint"],
        client_id=provider.client_id,
        response_type="code",
        redirect_uri=back,
        scope=provider.scope,
        state=state,
        nonce=nonce,
        code_challenge=create_s256_code_challenge(verifier),
        code_challenge_method="S256",
    )
    kept = {
        "state": state,
        "nonce": nonce,
        "verifier": verifier,
        "back": back,
        "after": after,
        "until": time.time() + ON_THE_WAY_SECONDS,
    }
    sealed = resources.vault.seal(orjson.dumps(kept), SEALED_FOR)
    return Departure(str(address), base64.urlsafe_b64encode(sealed).decode())


def come_back(
    resources: Resources,
    provider: Provider,
    kept: str | None,
    *,
    state: str,
    code: str,
    browser: str,
    request_id: str,
) -> tuple[NewSession, str]:
    """The session of whom the provider vouched for, and the page that was wanted."""
    journey = _journey(resources, kept)
    if not hmac.compare_digest(state.encode(), journey["state"].encode()):
        raise Unauthenticated(
            "The answer does not belong to the sign-in that began in this browser."
        )
    token = _exchanged(provider, code, journey)
    claims = checked_claims(provider, token, journey["nonce"])
    principal = _principal(resources, provider, claims, request_id)
    session = sign_in_known(resources, principal, browser=browser, request_id=request_id)
    return session, str(journey["after"])


def checked_claims(provider: Provider, token: str, nonce: str) -> dict[str, Any]:
    """The claims of an ID token that this provider signed, for us, for this sign-in, just now."""
    for again in (True, False):
        try:
            decoded = jwt.decode(token, provider.keys(), algorithms=list(ALGORITHMS))
            break
        except (JoseError, ValueError) as wrong:
            if not again:
                raise Unauthenticated(f"{REFUSED}: its signature does not fit.") from wrong
            provider.forget_keys()
    claims = CodeIDToken(
        decoded.claims,
        decoded.header,
        {
            "iss": {"essential": True, "value": provider.issuer},
            "aud": {"essential": True, "value": provider.client_id},
            "nonce": {"essential": True, "value": nonce},
        },
        {"nonce": nonce, "client_id": provider.client_id},
    )
    try:
        claims.validate(leeway=LEEWAY_SECONDS)
    except JoseError as wrong:
        # The name of the claim, never its value.
        said = getattr(wrong, "claim", None) or "time"
        raise Unauthenticated(f"{REFUSED}: its {said} does not fit.") from None
    return dict(decoded.claims)


def role_of(provider: Provider, claims: Mapping[str, Any]) -> Role:
    """The role that the claims give; Refusal where they give none."""
    said = claims.get(provider.role_claim, [])
    values = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    found = {provider.roles[value] for value in [*values, "*"] if value in provider.roles}
    for role in RANK:
        if role in found:
            return role
    raise Refusal("the identity provider vouches for you, and your account has no role here")


def _principal(
    resources: Resources, provider: Provider, claims: Mapping[str, Any], request_id: str
) -> Principal:
    """The principal of these claims, made or changed where need be."""
    role = role_of(provider, claims)
    digest = hashlib.sha256(f"{provider.issuer}\0{claims['sub']}".encode()).hexdigest()
    principal_id = f"rc_{digest[:20]}"
    with reading(resources.engine) as connection:
        record = principals.one(connection, principal_id)
    if record is not None and record.revoked_at is not None:
        raise Unauthenticated("Your access here was revoked.")
    if record is not None and record.principal.role is role:
        return record.principal
    if record is not None:
        principal = Principal(principal_id, record.principal.name, role)
        with unit_of_work(resources, RequestContext(principal, request_id)) as uow:
            principals.change_role(uow.connection, principal_id, role)
            uow.record("recipient.role", principal_id, role=role.value)
        return principal
    name = _name(claims)
    with unit_of_work(
        resources, RequestContext(Principal(principal_id, name, role), request_id)
    ) as uow:
        if principals.name_taken(uow.connection, name):
            name = f"{name} ({digest[:6]})"
        principal = Principal(principal_id, name, role)
        principals.add(uow.connection, principal, uow.now)
        uow.record("recipient.create", principal_id, role=role.value)
    return principal


def _name(claims: Mapping[str, Any]) -> str:
    for claim in ("name", "preferred_username", "email", "sub"):
        said = claims.get(claim)
        if isinstance(said, str) and said.strip():
            plain = "".join(one for one in said if one.isprintable() and one not in "/\\")
            if plain.strip():
                return plain.strip()[:150]
    return "somebody"


def _journey(resources: Resources, kept: str | None) -> dict[str, Any]:
    try:
        sealed = base64.urlsafe_b64decode((kept or "").encode())
        journey: dict[str, Any] = orjson.loads(resources.vault.open(sealed, SEALED_FOR))
    except (SealBroken, ValueError):
        raise Unauthenticated("No sign-in began in this browser, or it was long ago.") from None
    if time.time() > journey["until"]:
        raise Unauthenticated("The sign-in took too long; begin again.")
    return journey


def _exchanged(provider: Provider, code: str, journey: Mapping[str, Any]) -> str:
    """The ID token for a code."""
    answer = _asked(
        "POST",
        provider.metadata()["token_endpoint"],
        data={
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": journey["back"],
            "code_verifier": journey["verifier"],
            "client_id": provider.client_id,
        },
        auth=(provider.client_id, provider.client_secret),
    )
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise Unauthenticated(f"{REFUSED}: it has no ID token.")
    return token


def _asked(method: str, address: str, **content: Any) -> dict[str, Any]:
    """The JSON that the provider answers; Unauthenticated where it refuses, Unavailable without one."""
    try:
        answer = httpx2.request(method, address, timeout=PATIENCE_SECONDS, **content)
        found = answer.json()
    except (httpx2.HTTPError, ValueError):
        raise Unavailable("The identity provider does not answer.") from None
    if answer.status_code in (400, 401, 403):
        raise Unauthenticated("The identity provider refused the sign-in; begin again.")
    if answer.status_code != 200 or not isinstance(found, dict):
        raise Unavailable("The identity provider does not answer as it should.")
    return found
