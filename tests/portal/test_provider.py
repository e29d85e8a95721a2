"""Signing in by OpenID Connect, against a provider that is a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from fastapi.testclient import TestClient
from joserfc import jwt
from joserfc.jwk import RSAKey

from app.errors import Refusal, Unauthenticated, Unavailable
from app.model import Role
from app.service.sharing import identity
from app.service.sharing.identity import IdentityProvider
from tests.api.conftest import Service
from tests.binaries import free_port

CLIENT, SECRET = "cornerwave", "a secret of the tests"
ROLES = {"staff": Role.RECIPIENT, "data": Role.OWNER, "watch": Role.AUDITOR}
USERS = {
    "ana": {"sub": "ana", "name": "Ana of the provider", "groups": ["staff", "others"]},
    "olga": {"sub": "olga", "name": "Olga", "groups": ["staff", "data"]},
    "guest": {"sub": "guest", "name": "Guest", "groups": ["strangers"]},
}
HTML = {"Accept": "text/html"}


@contextmanager
def provider_process(*options: str) -> Iterator[str]:
    """The issuer of a provider, while it runs."""
    port = free_port()
    users = [part for user in USERS.values() for part in ("--user-claims", json.dumps(user))]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *users, *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    issuer = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                httpx2.get(
                    f"{issuer}/.well-known/openid-configuration", timeout=60
                ).raise_for_status()
                break
            except httpx2.TransportError:
                assert process.poll() is None, "the provider ended"
                time.sleep(0.05)
        yield issuer
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider_process() as address:
        yield address


Start = Callable[..., Service]


def started(start: Start, database: str, issuer: str) -> Service:
    return start(
        database,
        OIDC_ISSUER=issuer,
        OIDC_CLIENT_ID=CLIENT,
        OIDC_CLIENT_SECRET=SECRET,
        OIDC_ROLES="staff=recipient,data=owner,watch=auditor",
    )


@pytest.fixture
def with_provider(sqlite_database: str, start_service: Start, issuer: str) -> Service:
    return started(start_service, sqlite_database, issuer)


def departed(client: TestClient, path: str = "") -> str:
    """The provider's address to which a browser is sent."""
    address = f"/portal/sign-in/provider?{urlencode({'next': path})}"
    sent = client.get(address, headers=HTML, follow_redirects=False)
    assert sent.status_code == 303, sent.text
    return sent.headers["location"]


def agreed(address: str, subject: str) -> str:
    """What the provider sends a browser back with, once somebody has signed in there."""
    answer = httpx2.post(address, data={"sub": subject}, timeout=60)
    assert answer.status_code in (302, 303), answer.text
    back = urlsplit(answer.headers["location"])
    return f"{back.path}?{back.query}"


def changed(address: str, **parameters: str) -> str:
    parts = urlsplit(address)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | parameters
    return parts._replace(query=urlencode(query)).geturl()


def lets_in(client: TestClient) -> bool:
    return client.get("/portal", headers=HTML, follow_redirects=False).status_code == 200


def test_the_provider_vouches_and_claims_give_the_role(with_provider: Service) -> None:
    for subject, role in (("ana", "analyst"), ("olga", "owner")):
        client = with_provider.client(None)
        assert "Sign in with your organisation" in client.get("/portal/sign-in", headers=HTML).text
        back = agreed(departed(client, "/portal/account"), subject)
        answer = client.get(back, headers=HTML, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"] == "/portal/account"
        page = client.get("/portal/account", headers=HTML).text
        assert str(USERS[subject]["name"]) in page
        assert role in page


def test_who_comes_again_is_the_same_principal(with_provider: Service) -> None:
    for _ in range(2):
        client = with_provider.client(None)
        client.get(agreed(departed(client), "ana"), headers=HTML)
        assert lets_in(client)
    principals = with_provider.client().get("/v1/principals").json()["principals"]
    assert [one["name"] for one in principals].count("Ana of the provider") == 1


def test_another_role_at_the_provider_is_another_role_here(
    with_provider: Service, issuer: str
) -> None:
    httpx2.put(
        f"{issuer}/users/mia", json={"name": "Mia", "groups": ["data"]}, timeout=60
    ).raise_for_status()
    for groups, role in ((["data"], "owner"), (["staff"], "recipient")):
        httpx2.put(f"{issuer}/users/mia", json={"name": "Mia", "groups": groups}, timeout=60)
        client = with_provider.client(None)
        client.get(agreed(departed(client), "mia"), headers=HTML)
        principals = with_provider.client().get("/v1/principals").json()["principals"]
        assert next(one["role"] for one in principals if one["name"] == "Mia") == role


def test_who_was_revoked_here_stays_out(with_provider: Service) -> None:
    client, admin = with_provider.client(None), with_provider.client()
    client.get(agreed(departed(client), "ana"), headers=HTML)
    principals = admin.get("/v1/principals").json()["principals"]
    admin.delete(
        f"/v1/principals/{next(c['id'] for c in principals if c['name'].startswith('Ana'))}"
    )
    assert not lets_in(client)
    answer = client.get(agreed(departed(client), "ana"), headers=HTML)
    assert answer.status_code == 401
    assert "was revoked" in answer.text


def test_an_account_without_a_role_is_refused(with_provider: Service) -> None:
    client = with_provider.client(None)
    answer = client.get(agreed(departed(client), "guest"), headers=HTML)
    assert answer.status_code == 403
    assert "no role here" in answer.text
    assert not lets_in(client)


@pytest.mark.parametrize("wrong", ["state", "no state", "another browser", "nonce", "used code"])
def test_an_answer_that_does_not_fit_is_refused(wrong: str, with_provider: Service) -> None:
    client = with_provider.client(None)
    address = departed(client)
    match wrong:
        case "state":
            back = changed(agreed(address, "ana"), state="another")
        case "no state":
            back = agreed(address, "ana").partition("&state")[0]
        case "another browser":
            back = agreed(address, "ana")
            client = with_provider.client(None)
        case "nonce":
            back = agreed(changed(address, nonce="another"), "ana")
        case "used code":
            back = agreed(address, "ana")
            again = with_provider.client(None)
            again.cookies.update(client.cookies)
            assert again.get(back, headers=HTML, follow_redirects=False).status_code == 303
    answer = client.get(back, headers=HTML)
    assert answer.status_code == 401
    assert not lets_in(client)


def test_a_code_for_another_client_is_refused(with_provider: Service) -> None:
    client = with_provider.client(None)
    back = agreed(changed(departed(client), client_id="another"), "ana")
    assert client.get(back, headers=HTML).status_code == 401
    assert not lets_in(client)


def id_token(issuer: str, client_id: str, nonce: str) -> str:
    """An ID token that the provider really signed, for a client."""
    back = "http://localhost/back"
    query = {
        "client_id": client_id,
        "response_type": "code",
        "scope": "openid profile",
        "redirect_uri": back,
        "nonce": nonce,
    }
    came = agreed(f"{issuer}/oauth2/authorize?{urlencode(query)}", "ana")
    code = parse_qs(urlsplit(came).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back}
    answer = httpx2.post(f"{issuer}/oauth2/token", data=form, auth=(client_id, "any"), timeout=60)
    return str(answer.json()["id_token"])


def test_a_token_counts_for_whom_and_for_what_it_was_signed(issuer: str) -> None:
    provider = IdentityProvider(issuer, CLIENT, SECRET, "groups", ROLES)
    token = id_token(issuer, CLIENT, "n1")
    assert identity.verified_claims(provider, token, "n1")["sub"] == "ana"
    with pytest.raises(Unauthenticated, match="nonce"):
        identity.verified_claims(provider, token, "n2")
    with pytest.raises(Unauthenticated, match="aud"):
        identity.verified_claims(provider, id_token(issuer, "another", "n1"), "n1")
    own = RSAKey.generate_key(2048)
    claims = {"iss": issuer, "aud": CLIENT, "sub": "ana", "nonce": "n1", "exp": time.time() + 60}
    claims["iat"] = time.time()
    forged = jwt.encode({"alg": "RS256"}, claims, own)
    with pytest.raises(Unauthenticated, match="signature"):
        identity.verified_claims(provider, forged, "n1")
    with pytest.raises(Unauthenticated, match="signature"):
        identity.verified_claims(provider, "eyJhbGciOiJub25lIn0.e30.", "n1")


def test_keys_that_the_provider_rotated_are_fetched_again(issuer: str) -> None:
    provider = IdentityProvider(issuer, CLIENT, SECRET, "groups", ROLES)
    former = RSAKey.generate_key(2048).as_dict(private=False)
    just_fetched = time.monotonic() + identity.CACHE_SECONDS
    provider._cache["keys"] = (just_fetched, {"keys": [former]})
    assert identity.verified_claims(provider, id_token(issuer, CLIENT, "n1"), "n1")["sub"] == "ana"


def test_an_expired_token_is_refused(
    sqlite_database: str, start_service: Start, tmp_path: Path
) -> None:
    with provider_process("--token-max-age", "-60") as issuer:
        provider = IdentityProvider(issuer, CLIENT, SECRET, "groups", ROLES)
        with pytest.raises(Unauthenticated, match="exp"):
            identity.verified_claims(provider, id_token(issuer, CLIENT, "n1"), "n1")
        client = started(start_service, sqlite_database, issuer).client(None)
        answer = client.get(agreed(departed(client), "ana"), headers=HTML)
    assert answer.status_code == 401
    assert not lets_in(client)


def test_a_provider_that_says_it_is_another_is_not_asked(issuer: str) -> None:
    other = issuer.replace("127.0.0.1", "localhost")
    pretending = IdentityProvider(f"{other}/", CLIENT, SECRET, "groups", ROLES)
    with pytest.raises(Unavailable):
        pretending.metadata()
    with pytest.raises(Unavailable):
        IdentityProvider("http://127.0.0.1:9", CLIENT, SECRET, "groups", ROLES).metadata()


def test_of_several_roles_the_first_in_rank_counts() -> None:
    provider = IdentityProvider(
        "https://i", CLIENT, SECRET, "groups", ROLES | {"*": Role.RECIPIENT}
    )
    assert identity.role_of(provider, {"groups": ["watch", "data"]}) is Role.OWNER
    assert identity.role_of(provider, {"groups": "watch"}) is Role.AUDITOR
    assert identity.role_of(provider, {}) is Role.RECIPIENT
    strict = IdentityProvider("https://i", CLIENT, SECRET, "groups", ROLES)
    nothing: list[dict[str, Any]] = [{}, {"groups": 3}, {"groups": []}]
    for claims in nothing:
        with pytest.raises(Refusal):
            identity.role_of(strict, claims)


def test_without_a_provider_there_is_no_such_page(service: Service) -> None:
    client = service.client(None)
    assert "organisation" not in client.get("/portal/sign-in", headers=HTML).text
    assert client.get("/portal/sign-in/provider", headers=HTML).status_code == 404
