"""Machines with an identity: access tokens of an OpenID Connect issuer in place of a key."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from tests.api.conftest import Service
from tests.api.copies.copy_tables import issue, mixed_table, register
from tests.api.delta.shares import PREFIX
from tests.api.sharing.token_issuer import AUDIENCE, new_keys, running_issuer


@pytest.fixture(scope="module")
def keys() -> KeySet:
    return new_keys()


@pytest.fixture(scope="module")
def issuer(keys: KeySet) -> Iterator[str]:
    with running_issuer(keys) as address:
        yield address


@pytest.fixture
def service(sqlite_database: str, start_service: Callable[..., Service], issuer: str) -> Service:
    return start_service(
        sqlite_database,
        TOKEN_ISSUERS=issuer,
        TOKEN_AUDIENCE=AUDIENCE,
        TOKEN_ROLES="readers=recipient,writers=owner",
    )


def granted(issuer: str, client: str) -> str:
    """An access token by the client's credentials."""
    answer = httpx2.post(
        f"{issuer}/token", data={"grant_type": "client_credentials"}, auth=(client, client)
    )
    return str(answer.raise_for_status().json()["access_token"])


def test_client_credentials_lead_to_a_downloaded_copy(service: Service, issuer: str) -> None:
    pipeline, admin = service.client(granted(issuer, "pipeline")), service.client()
    assert pipeline.get("/v1/datasets").json()["datasets"] == []
    [whose] = [
        one["id"]
        for one in admin.get("/v1/principals").json()["principals"]
        if one["name"] == "pipeline"
    ]
    dataset = register(admin, mixed_table(60))
    copy = issue(admin, dataset, level="b")["id"]
    assert pipeline.get(f"/v1/copies/{copy}/content").status_code == 404
    admin.put(f"/v1/datasets/{dataset}/grants/{whose}", json={"level": "b"})
    answer = pipeline.get(f"/v1/copies/{copy}/content", headers={"Accept": "text/csv"})
    assert answer.status_code == 200
    assert len(answer.text.splitlines()) == 61
    # The next token is of the same principal, and so are the addresses and jobs that one leaves behind.
    later = service.client(granted(issuer, "pipeline"))
    [file] = later.post(f"/v1/copies/{copy}/files", json={}).json()["files"]
    assert service.client(None).get(file["url"]).status_code == 200
    job = later.post(
        f"/v1/copies/{copy}/files", json={}, headers={"Prefer": "respond-async"}
    ).json()
    assert pipeline.get(f"/v1/jobs/{job['id']}").json()["principal"] == whose
    assert later.get(f"{PREFIX}").status_code == 200
    admin.delete(f"/v1/principals/{whose}")
    assert later.get("/v1/datasets").status_code == 401
    assert service.client(None).get(file["url"]).status_code == 401


def test_claims_that_give_no_role_open_nothing(service: Service, issuer: str) -> None:
    stranger = service.client(granted(issuer, "stranger"))
    assert stranger.get("/v1/datasets").status_code == 403
    names = [one["name"] for one in service.client().get("/v1/principals").json()["principals"]]
    assert "stranger" not in names


def claims(issuer: str, **changed: Any) -> dict[str, Any]:
    now = int(time.time())
    said = {"iss": issuer, "aud": AUDIENCE, "sub": "a", "roles": ["readers"], "exp": now + 60}
    return {name: value for name, value in (said | changed).items() if value is not None}


def signed(keys: KeySet, said: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "one"}, said, keys)


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def encoded(part: dict[str, Any]) -> str:
    return base64url(json.dumps(part).encode())


def asked(service: Service, token: str) -> int:
    """The status at /v1 and at /delta-sharing, which are the same."""
    client: TestClient = service.client(token)
    [status] = {client.get(path).status_code for path in ("/v1/datasets", PREFIX)}
    return status


def test_a_token_signed_by_the_issuer_is_taken(service: Service, issuer: str, keys: KeySet) -> None:
    assert asked(service, signed(keys, claims(issuer))) == 200
    assert asked(service, signed(keys, claims(issuer, aud=["other", AUDIENCE]))) == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "https://other.example"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"nbf": 2**33},
        {"sub": None},
    ],
)
def test_wrong_claims_open_nothing(
    service: Service, issuer: str, keys: KeySet, changed: dict[str, Any]
) -> None:
    assert asked(service, signed(keys, claims(issuer, **changed))) == 401


def test_a_token_that_the_issuer_did_not_sign_opens_nothing(
    service: Service, issuer: str, keys: KeySet
) -> None:
    said = claims(issuer)
    unsigned = ".".join([encoded({"alg": "none"}), encoded(said), ""])
    # The public key, taken for a secret that both share.
    public = RSAKey.import_key(keys.keys[0].as_dict(private=False)).as_pem()
    content = f"{encoded({'alg': 'HS256', 'kid': 'one'})}.{encoded(said)}"
    shared_secret = f"{content}.{base64url(hmac.digest(public, content.encode(), 'sha256'))}"
    others = signed(new_keys(), said)
    header = {"alg": "RS256", "kid": "one", "crit": 1}
    critical = ".".join([encoded(header), encoded(said), "AAAA"])
    for token in (unsigned, shared_secret, others, critical, signed(keys, said)[:-4] + "AAAA"):
        assert asked(service, token) == 401
    assert asked(service, signed(keys, said)) == 200


def test_without_configured_issuers_no_token_is_taken(
    sqlite_database: str, start_service: Callable[..., Service], issuer: str
) -> None:
    plain = start_service(sqlite_database)
    assert asked(plain, granted(issuer, "pipeline")) == 401
