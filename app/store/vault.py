"""The master key at work: it seals small secrets, and wraps the keys that encrypt blobs.

AES-256-GCM under a key derived from the master key by HKDF-SHA256, a fresh 96-bit nonce each time;
the context (what the secret is for) is authenticated, so a secret moved to another place in the
database does not open.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

NONCE_BYTES = 12
MASTER_KEY_BYTES = 32


class SealBroken(Exception):
    """A sealed secret does not open: another master key, another context, or altered bytes."""


class Vault:
    """Seals and opens with one master key of 32 bytes."""

    def __init__(self, master_key: bytes) -> None:
        if len(master_key) != MASTER_KEY_BYTES:
            raise ValueError(f"a master key has {MASTER_KEY_BYTES} bytes")
        derive = HKDF(SHA256(), MASTER_KEY_BYTES, salt=None, info=b"cornerwave vault v1")
        self._cipher = AESGCM(derive.derive(master_key))
        others = HKDF(SHA256(), MASTER_KEY_BYTES, salt=None, info=b"cornerwave derived keys v1")
        self._root = others.derive(master_key)

    def seal(self, secret: bytes, context: str) -> bytes:
        """The secret, encrypted and bound to its context."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """The secret behind `sealed`, or SealBroken."""
        nonce, body = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, body, context.encode())
        except (InvalidTag, ValueError):
            raise SealBroken(f"the secret for {context.partition(':')[0]} does not open") from None

    def derived(self, purpose: str) -> bytes:
        """A key of 32 bytes for one purpose; from it neither the master key nor others follow."""
        return hmac.new(self._root, purpose.encode(), hashlib.sha256).digest()

    def __repr__(self) -> str:
        return "Vault()"
