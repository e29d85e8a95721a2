"""An OpenID Connect issuer of Authlib's own parts: client credentials, and access tokens by RFC 9068."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from flask import Flask, Response, jsonify
from joserfc.jwk import KeySet, RSAKey
from werkzeug.serving import make_server

AUDIENCE = "https://data.example"
CLIENTS = {"pipeline": ["readers"], "stranger": ["nobody"]}
"""Clients and their roles; of each, the secret is its name."""


class Client(ClientMixin):  # type: ignore[misc]  # Authlib has no types
    """A machine with an identity at the issuer."""

    def __init__(self, name: str) -> None:
        self.client_id = name

    def get_client_id(self) -> str:
        return self.client_id

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == self.client_id

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "client_credentials"


class Generator(JWTBearerTokenGenerator):  # type: ignore[misc]  # Authlib has no types
    """Access tokens for the service, with the client's roles."""

    def __init__(self, issuer: str, keys: KeySet) -> None:
        super().__init__(issuer=issuer)
        self._keys = keys

    def get_jwks(self) -> KeySet:
        return self._keys

    def get_extra_claims(self, client: Client, *_: object) -> dict[str, Any]:
        return {"roles": CLIENTS[client.client_id]}

    def get_audiences(self, *_: object) -> str:
        return AUDIENCE


@contextmanager
def running_issuer(keys: KeySet) -> Iterator[str]:
    """The address of an issuer, while it runs."""
    app = Flask(__name__)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    issuer = f"http://127.0.0.1:{server.port}"
    authorization = AuthorizationServer(
        app,
        query_client=lambda name: Client(name) if name in CLIENTS else None,
        save_token=lambda *_: None,
    )
    authorization.register_grant(ClientCredentialsGrant)
    authorization.register_token_generator("default", Generator(issuer, keys))

    @app.get("/.well-known/openid-configuration")
    def metadata() -> Response:
        return jsonify(issuer=issuer, jwks_uri=f"{issuer}/keys", token_endpoint=f"{issuer}/token")

    @app.get("/keys")
    def jwks() -> Response:
        return jsonify(keys.as_dict(private=False))

    @app.post("/token")
    def token() -> Response:
        response: Response = authorization.create_token_response()
        return response

    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def new_keys() -> KeySet:
    """A key that an issuer signs by."""
    return KeySet([RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})])
