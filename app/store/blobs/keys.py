"""Keys of encrypted blobs: each blob has its own, wrapped by the master key, inside the file.

Parquet modular encryption, uniform: one random AES-256 key for the footer and every column, AES-GCM
throughout. The key stands in the file, sealed by the vault for the blob's name, so that a file put
in the place of another does not open.

A blob store carries a mark: whose it is, and the key of its blobs as the master key wraps it. With the mark, the
blobs and the master key, rows can be read though the database is lost.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from app.store.vault import Vault


@dataclass(frozen=True, repr=False)
class Mark:
    """The id of the installation that the blobs belong to, and its wrapped key."""

    installation: str
    wrapped_key: bytes

    def written(self) -> bytes:
        """The mark as it is kept."""
        content = {"installation": self.installation, "wrapped_key": self.wrapped_key.hex()}
        return json.dumps(content, indent=1).encode()

    @classmethod
    def read(cls, content: bytes) -> Mark:
        """The mark behind `written`; ValueError when it is none."""
        try:
            said = json.loads(content)
            return cls(str(said["installation"]), bytes.fromhex(said["wrapped_key"]))
        except (KeyError, TypeError):
            raise ValueError("not the mark of a blob store") from None


DATA_KEY_BITS = 256
MASTER_KEY = "master"
"""What the file calls the key that wraps; there is one."""


class BlobKeys:
    """Wraps and unwraps the key of one blob, and remembers the one that it unwrapped."""

    def __init__(self, vault: Vault, name: str) -> None:
        self._vault = vault
        self._context = f"blob:{name}"
        self.key = b""

    def wrap(self, key: bytes) -> bytes:
        return b64encode(self._vault.seal(key, self._context))

    def unwrap(self, wrapped: bytes) -> bytes:
        self.key = self._vault.open(b64decode(wrapped), self._context)
        return self.key


class GivenKey:
    """Opens one blob by its own key, where the key that wraps it is not at hand."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def wrap(self, key: bytes) -> bytes:
        raise ValueError("a blob's own key wraps nothing")

    def unwrap(self, wrapped: bytes) -> bytes:
        return self.key


class Client(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
    """Asks for one blob after the other.

    Arrow never lets go of a client: it and its half in C++ hold each other. One for every blob that is
    opened would stay for ever, and so they are lent, and used again.
    """

    def __init__(self) -> None:
        pe.KmsClient.__init__(self)
        self.keys: BlobKeys | GivenKey | None = None

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return self._lent_to().wrap(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return self._lent_to().unwrap(wrapped_key)

    def _lent_to(self) -> BlobKeys | GivenKey:
        if self.keys is None:
            raise ValueError("a blob is opened and written only while its client is lent")
        return self.keys


_idle: list[Client] = []
"""Clients that nobody has at present; as many as were ever lent at once."""


@contextmanager
def _factory(keys: BlobKeys | GivenKey) -> Iterator[pe.CryptoFactory]:
    """A factory with a client that is lent to this blob. Each has its own: it remembers its client."""
    try:
        client = _idle.pop()
    except IndexError:
        client = Client()
    client.keys = keys
    try:
        yield pe.CryptoFactory(lambda _config: client)
    finally:
        client.keys = None
        _idle.append(client)


def encryption(vault: Vault, name: str) -> Any:
    """Arrow's properties for writing the blob of that name under a fresh key, which is wrapped now."""
    with _factory(BlobKeys(vault, name)) as factory:
        return factory.file_encryption_properties(
            pe.KmsConnectionConfig(),
            pe.EncryptionConfiguration(
                footer_key=MASTER_KEY,
                uniform_encryption=True,
                double_wrapping=False,
                data_key_length_bits=DATA_KEY_BITS,
            ),
        )


@contextmanager
def decryption(vault: Vault, name: str) -> Iterator[Any]:
    """Arrow's properties for reading the blob of that name, while the block lasts."""
    with _factory(BlobKeys(vault, name)) as factory:
        yield factory.file_decryption_properties(pe.KmsConnectionConfig())


@contextmanager
def decryption_by(key: bytes) -> Iterator[Any]:
    """Arrow's properties for reading the blob that has this key."""
    with _factory(GivenKey(key)) as factory:
        yield factory.file_decryption_properties(pe.KmsConnectionConfig())


def key_of(vault: Vault, name: str, source: pa.NativeFile) -> bytes:
    """The key of the blob of that name, which lies in `source`: for whoever is to read it alone."""
    keys = BlobKeys(vault, name)
    with (
        _factory(keys) as factory,
        pq.ParquetFile(
            source,
            decryption_properties=factory.file_decryption_properties(pe.KmsConnectionConfig()),
        ),
    ):
        return keys.key
