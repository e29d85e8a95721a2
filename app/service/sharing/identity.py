"""OpenID Connect: sign-in by authorization code flow with PKCE, and access tokens (RFC 9068) in place of keys.

State, nonce and verifier are sealed and kept by the browser alone. The id of a principal follows from issuer and
subject, so that one account is one principal. Claims decide the role. Why not Authlib's Starlette client:
docs/decisions/0032-openid-connect.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

import httpx2
import orjson
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from app.errors import Conflict, Refusal, Unauthenticated, Unavailable
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

SIGN_IN_SECONDS = 600
CACHE_SECONDS = 600.0
REFETCH_SECONDS = 5.0
"""Anybody can send forged tokens: they must not make us fetch the keys without end."""

TIMEOUT_SECONDS = 10.0
LEEWAY_SECONDS = 5
"""Tolerated difference of the provider's clock."""

SEALED_FOR = "sign-in by a provider"
ROLE_ORDER = (Role.ADMIN, Role.OWNER, Role.AUDITOR, Role.RECIPIENT)
"""Of several roles that the claims give, the first here counts."""

UNUSABLE = "The identity provider's answer cannot be used"
UNFIT = "The token cannot be used"


@dataclass(frozen=True, repr=False)
class IdentityProvider:
    """OpenID Connect provider, and the roles that its claims give.

    where:
        role_claim  claim whose value, or values, are looked up in `roles`
        roles       value of the claim → role; `*` is everybody whom the provider authenticates
    """

    issuer: str
    client_id: str
    client_secret: str
    role_claim: str
    roles: Mapping[str, Role]
    scope: str = "openid profile email"
    _cache: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _refetching: Lock = field(default_factory=Lock)

    def metadata(self) -> dict[str, Any]:
        """Return the discovery document; Unavailable if it names another issuer."""
        url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        metadata = self._cached("metadata", url)
        if metadata.get("issuer") != self.issuer:
            self._cache.pop("metadata")
            raise Unavailable("The identity provider says that it is another one.")
        return metadata

    def keys(self) -> KeySet:
        """Return the keys that sign its tokens."""
        keys = self._cached("keys", self.metadata()["jwks_uri"])
        return KeySet.import_key_set(cast("KeySetSerialization", keys))

    def refetch_keys(self, older_than: float) -> None:
        """Fetch keys of more than so many seconds again: the provider may have rotated them.

        The old ones serve until the new ones are there, and one thread fetches at a time.
        """
        expires_at, _ = self._cache.get("keys", (0.0, {}))
        recent = time.monotonic() < expires_at - CACHE_SECONDS + older_than
        if recent or not self._refetching.acquire(blocking=False):
            return
        try:
            document = _fetch("GET", self.metadata()["jwks_uri"])
            self._cache["keys"] = (time.monotonic() + CACHE_SECONDS, document)
        finally:
            self._refetching.release()

    def _cached(self, name: str, url: str) -> dict[str, Any]:
        expires_at, document = self._cache.get(name, (0.0, {}))
        if time.monotonic() > expires_at:
            document = _fetch("GET", url)
            self._cache[name] = (time.monotonic() + CACHE_SECONDS, document)
        return document


@dataclass(frozen=True, repr=False)
class SignIn:
    """Sign-in that has begun: where the browser is sent, and the state that it keeps, sealed."""

    url: str
    sealed_state: str


def begin_sign_in(
    resources: Resources, provider: IdentityProvider, redirect_uri: str, next_page: str
) -> SignIn:
    """Return the authorization request; `redirect_uri` is our address, `next_page` the page that was wanted."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    url = prepare_grant_uri(
        provider.metadata()["authorization_endpoint"],
        client_id=provider.client_id,
        response_type="code",
        redirect_uri=redirect_uri,
        scope=provider.scope,
        state=state,
        nonce=nonce,
        code_challenge=create_s256_code_challenge(verifier),
        code_challenge_method="S256",
    )
    begun = {
        "state": state,
        "nonce": nonce,
        "verifier": verifier,
        "redirect_uri": redirect_uri,
        "next_page": next_page,
        "expires_at": time.time() + SIGN_IN_SECONDS,
    }
    sealed = resources.vault.seal(orjson.dumps(begun), SEALED_FOR)
    return SignIn(str(url), base64.urlsafe_b64encode(sealed).decode())


def complete_sign_in(
    resources: Resources,
    provider: IdentityProvider,
    sealed_state: str | None,
    *,
    state: str,
    code: str,
    browser: str,
    request_id: str,
) -> tuple[NewSession, str]:
    """Return a session of the authenticated principal, and the page that was wanted."""
    begun = _open_state(resources, sealed_state)
    if not hmac.compare_digest(state.encode(), begun["state"].encode()):
        raise Unauthenticated(
            "The answer does not belong to the sign-in that began in this browser."
        )
    claims = verified_claims(provider, _exchange_code(provider, code, begun), begun["nonce"])
    principal = _principal(resources, provider, claims, request_id)
    session = sign_in_known(resources, principal, browser=browser, request_id=request_id)
    return session, str(begun["next_page"])


def verified_claims(provider: IdentityProvider, token: str, nonce: str) -> dict[str, Any]:
    """Return the claims of an ID token; Unauthenticated if signature, issuer, audience, nonce or time do not fit."""
    decoded = _decoded(provider, token, refetch_seconds=0.0)
    expected = {"iss": provider.issuer, "aud": provider.client_id, "nonce": nonce}
    claims = CodeIDToken(
        decoded.claims,
        decoded.header,
        {name: {"essential": True, "value": value} for name, value in expected.items()},
        {"nonce": nonce, "client_id": provider.client_id},
    )
    try:
        claims.validate(leeway=LEEWAY_SECONDS)
    except JoseError as error:
        # The name of the claim, never its value.
        claim = getattr(error, "claim", None) or "time"
        raise Unauthenticated(f"{UNUSABLE}: its {claim} does not fit.") from None
    return dict(decoded.claims)


def issuer_of(
    issuers: Mapping[str, IdentityProvider], token: str | None
) -> IdentityProvider | None:
    """Return the configured issuer of a token; None for what is no JSON Web Token, and may be a key."""
    if not issuers or token is None or token.count(".") != 2:
        return None
    payload = token.split(".")[1]
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return None
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    if not isinstance(issuer, str) or issuer not in issuers:
        raise Unauthenticated(f"{UNFIT}: no identity provider of this service issued it.")
    return issuers[issuer]


def authenticate_token(
    resources: Resources, issuer: IdentityProvider, token: str, request_id: str
) -> Principal:
    """Return the principal of an access token (RFC 9068) of this issuer, created by the first one that names it.

    Unauthenticated if signature, issuer, audience or time do not fit; Refusal where its claims give no role.
    """
    claims = dict(_decoded(issuer, token, refetch_seconds=REFETCH_SECONDS).claims)
    registry = jwt.JWTClaimsRegistry(
        leeway=LEEWAY_SECONDS,
        aud={"essential": True, "value": issuer.client_id},
        exp={"essential": True},
        sub={"essential": True},
    )
    try:
        registry.validate(claims)
    except JoseError as error:
        claim = getattr(error, "claim", None) or "time"
        raise Unauthenticated(f"{UNFIT}: its {claim} does not fit.") from None
    try:
        return _principal(resources, issuer, claims, request_id)
    except Conflict:
        # Its first two requests came at the same time, and the other made it.
        return _principal(resources, issuer, claims, request_id)


def _decoded(provider: IdentityProvider, token: str, *, refetch_seconds: float) -> jwt.Token:
    """Return a token that the provider signed; Unauthenticated for any other."""
    for rotated in (False, True):
        try:
            return jwt.decode(token, provider.keys(), algorithms=list(ALGORITHMS))
        except (JoseError, ValueError, TypeError) as error:
            if rotated:
                raise Unauthenticated(f"{UNFIT}: its signature does not fit.") from error
            provider.refetch_keys(refetch_seconds)
    raise AssertionError("never reached")


def role_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> Role:
    """Return the role that the claims give; Refusal where they give none."""
    claim = claims.get(provider.role_claim, [])
    values = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    roles = {provider.roles[value] for value in [*values, "*"] if value in provider.roles}
    for role in ROLE_ORDER:
        if role in roles:
            return role
    raise Refusal("the identity provider vouches for you, and your account has no role here")


def _principal(
    resources: Resources, provider: IdentityProvider, claims: Mapping[str, Any], request_id: str
) -> Principal:
    """Return the principal of the claims, created or with its role changed where necessary."""
    role = role_of(provider, claims)
    digest = hashlib.sha256(f"{provider.issuer}\0{claims['sub']}".encode()).hexdigest()
    principal_id = f"rc_{digest[:20]}"
    with reading(resources.engine) as connection:
        record = principals.one(connection, principal_id)
    if record is not None and record.revoked_at is not None:
        raise Unauthenticated("Your access here was revoked.")
    if record is not None and record.principal.role is role:
        return record.principal
    name = _name(claims) if record is None else record.principal.name
    principal = Principal(principal_id, name, role)
    with unit_of_work(resources, RequestContext(principal, request_id)) as uow:
        if record is not None:
            principals.change_role(uow.connection, principal_id, role)
            uow.record("recipient.role", principal_id, role=role.value)
            return principal
        if principals.name_taken(uow.connection, name):
            principal = Principal(principal_id, f"{name} ({digest[:6]})", role)
        principals.add(uow.connection, principal, uow.now)
        uow.record("recipient.create", principal_id, role=role.value)
    return principal


def _name(claims: Mapping[str, Any]) -> str:
    for claim in ("name", "preferred_username", "email", "sub"):
        value = claims.get(claim)
        if isinstance(value, str):
            name = "".join(one for one in value if one.isprintable() and one not in "/\\").strip()
            if name:
                return name[:150]
    return "somebody"


def _open_state(resources: Resources, sealed_state: str | None) -> dict[str, Any]:
    try:
        sealed = base64.urlsafe_b64decode((sealed_state or "").encode())
        begun: dict[str, Any] = orjson.loads(resources.vault.open(sealed, SEALED_FOR))
    except (SealBroken, ValueError):
        raise Unauthenticated("No sign-in began in this browser, or it was long ago.") from None
    if time.time() > begun["expires_at"]:
        raise Unauthenticated("The sign-in took too long; begin again.")
    return begun


def _exchange_code(provider: IdentityProvider, code: str, begun: Mapping[str, Any]) -> str:
    """Return the ID token for an authorization code."""
    response = _fetch(
        "POST",
        provider.metadata()["token_endpoint"],
        data={
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": begun["redirect_uri"],
            "code_verifier": begun["verifier"],
            "client_id": provider.client_id,
        },
        auth=(provider.client_id, provider.client_secret),
    )
    token = response.get("id_token")
    if not isinstance(token, str):
        raise Unauthenticated(f"{UNUSABLE}: it has no ID token.")
    return token


def _fetch(method: str, url: str, **content: Any) -> dict[str, Any]:
    """Return the JSON object that the provider answers; Unauthenticated where it refuses, Unavailable without one."""
    try:
        response = httpx2.request(method, url, timeout=TIMEOUT_SECONDS, **content)
        body = response.json()
    except (httpx2.HTTPError, ValueError):
        raise Unavailable("The identity provider does not answer.") from None
    if response.status_code in (400, 401, 403):
        raise Unauthenticated("The identity provider refused the sign-in; begin again.")
    if response.status_code != 200 or not isinstance(body, dict):
        raise Unavailable("The identity provider does not answer as it should.")
    return body
