"""Keys of encrypted blobs: each blob has its own, wrapped by the master key, inside the file.

Parquet modular encryption, uniform: one random AES-256 key for the footer and every column, AES-GCM
throughout. The key stands in the file, sealed by the vault for the blob's name, so that a file put
in the place of another does not open.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pyarrow.parquet.encryption as pe

from app.store.vault import Vault

DATA_KEY_BITS = 256
MASTER_KEY = "master"
"""What the file calls the key that wraps; there is one."""


class BlobKeys(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
    """Wraps and unwraps the key of one blob."""

    def __init__(self, vault: Vault, name: str) -> None:
        pe.KmsClient.__init__(self)
        self._vault = vault
        self._context = f"blob:{name}"

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return b64encode(self._vault.seal(key_bytes, self._context))

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return self._vault.open(b64decode(wrapped_key), self._context)


def encryption(vault: Vault, name: str) -> Any:
    """Arrow's properties for writing the blob of that name under a fresh key."""
    return _factory(vault, name).file_encryption_properties(
        pe.KmsConnectionConfig(),
        pe.EncryptionConfiguration(
            footer_key=MASTER_KEY,
            uniform_encryption=True,
            double_wrapping=False,
            data_key_length_bits=DATA_KEY_BITS,
        ),
    )


def decryption(vault: Vault, name: str) -> Any:
    """Arrow's properties for reading the blob of that name."""
    return _factory(vault, name).file_decryption_properties(pe.KmsConnectionConfig())


def _factory(vault: Vault, name: str) -> pe.CryptoFactory:
    # One for each file: a factory remembers its clients, and a client is for one name.
    return pe.CryptoFactory(lambda _config: BlobKeys(vault, name))
