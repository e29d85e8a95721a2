"""Vault: envelope encryption of secrets and data keys under the master key.

AES-256-GCM under a key derived from the master key by HKDF-SHA256, a fresh 96-bit nonce each time;
the context (what the secret is for) is authenticated, so a secret moved to another place in the
database does not open.

Each blob has a key of its own, by Parquet's modular encryption, uniform: one random AES-256 key for the footer and
every column, AES-GCM throughout. The key stands in the file, sealed for the blob's name, so that a file put in the
place of another does not open.

A blob store carries a mark: whose it is, and the key of its blobs as the master key wraps it. With the mark, the
blobs and the master key, rows can be read though the database is lost.

Arrays are packed before they are sealed. `numpy.load` has Python parse a header, which several threads must not do at
once on Python 3.11; nothing is parsed here. All integers are little-endian. The layout of version 1, in order:

| bytes | what |
|---|---|
| 8, 2, 2 | `CWARRAYS`, the version, the number of arrays |
| 2, 1, 1 | for each array: bytes of its name, code of its type, dimensions |
| 8 each | its lengths, one per dimension |
| as said | its name in UTF-8, then its values in row-major order |
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import ArrayLike, NDArray

NONCE_BYTES = 12
MASTER_KEY_BYTES = 32
DATA_KEY_BITS = 256
MASTER_KEY = "master"
"""What the file calls the key that wraps; there is one."""


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


class SingleBlobKey:
    """Opens one blob by its own key, where the key that wraps it is not at hand."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def wrap(self, key: bytes) -> bytes:
        raise ValueError("a blob's own key wraps nothing")

    def unwrap(self, wrapped: bytes) -> bytes:
        return self.key


class KeyClient(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
    """Asks for one blob after the other.

    Arrow never frees a client: it and its half in C++ reference each other. One for every blob that is
    opened would stay for ever, and so they are lent, and used again.
    """

    def __init__(self) -> None:
        pe.KmsClient.__init__(self)
        self.keys: BlobKeys | SingleBlobKey | None = None

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return self._lent_to().wrap(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return self._lent_to().unwrap(wrapped_key)

    def _lent_to(self) -> BlobKeys | SingleBlobKey:
        if self.keys is None:
            raise ValueError("a blob is opened and written only while its client is lent")
        return self.keys


_idle: list[KeyClient] = []
"""Clients that nobody has at present; as many as were ever lent at once."""


@contextmanager
def _factory(keys: BlobKeys | SingleBlobKey) -> Iterator[pe.CryptoFactory]:
    """A factory with a client that is lent to this blob. Each has its own: it remembers its client."""
    try:
        client = _idle.pop()
    except IndexError:
        client = KeyClient()
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
    with _factory(SingleBlobKey(key)) as factory:
        yield factory.file_decryption_properties(pe.KmsConnectionConfig())


def key_of(vault: Vault, name: str, source: pa.NativeFile) -> bytes:
    """Return the key of one blob, for a task that reads it elsewhere."""
    keys = BlobKeys(vault, name)
    with (
        _factory(keys) as factory,
        pq.ParquetFile(
            source,
            decryption_properties=factory.file_decryption_properties(pe.KmsConnectionConfig()),
        ),
    ):
        return keys.key


@dataclass(frozen=True, repr=False)
class StoreMark:
    """The id of the installation that the blobs belong to, and its wrapped key."""

    installation: str
    wrapped_key: bytes

    def written(self) -> bytes:
        """The mark as it is kept."""
        content = {"installation": self.installation, "wrapped_key": self.wrapped_key.hex()}
        return json.dumps(content, indent=1).encode()

    @classmethod
    def read(cls, content: bytes) -> StoreMark:
        """The mark behind `written`; ValueError when it is none."""
        try:
            said = json.loads(content)
            return cls(str(said["installation"]), bytes.fromhex(said["wrapped_key"]))
        except (KeyError, TypeError):
            raise ValueError("not the mark of a blob store") from None


MAGIC, VERSION = b"CWARRAYS", 1
_START = struct.Struct("<8sHH")
_ARRAY = struct.Struct("<HBB")

TYPES = {
    number: np.dtype(name)
    for number, name in enumerate(
        ("|b1", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8"), start=1
    )
}
_CODES = {dtype: number for number, dtype in TYPES.items()}


def pack_arrays(arrays: Mapping[str, ArrayLike]) -> bytes:
    """Return the arrays as bytes, equal bytes for equal arrays in equal order; ValueError for types not in `TYPES`."""
    pieces = [_START.pack(MAGIC, VERSION, len(arrays))]
    for name, values in arrays.items():
        array = np.asarray(values)
        code = _CODES.get(array.dtype.newbyteorder("<"))
        if code is None:
            raise ValueError(f"array {name!r} has a type that is not kept: {array.dtype}")
        label = name.encode()
        pieces += [
            _ARRAY.pack(len(label), code, array.ndim),
            struct.pack(f"<{array.ndim}Q", *array.shape),
            label,
            array.astype(TYPES[code], copy=False).tobytes(),
        ]
    return b"".join(pieces)


def unpack_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack_arrays` made the bytes of, each a copy of its own; ValueError for anything else."""
    try:
        magic, version, count = _START.unpack_from(content)
        at = _START.size
        arrays: dict[str, NDArray[Any]] = {}
        for _ in range(count):
            length, code, dimensions = _ARRAY.unpack_from(content, at)
            shape = struct.unpack_from(f"<{dimensions}Q", content, at + _ARRAY.size)
            at += _ARRAY.size + 8 * dimensions
            label = content[at : at + length].decode()
            at += length
            dtype, size = TYPES[code], math.prod(shape)
            arrays[label] = np.frombuffer(content, dtype, size, at).reshape(shape).copy()
            at += size * dtype.itemsize
        if (magic, version, len(arrays), at) != (MAGIC, VERSION, count, len(content)):
            raise ValueError
    except (struct.error, KeyError, OverflowError, ValueError):
        raise ValueError(f"these bytes are not sealed arrays of version {VERSION}") from None
    return arrays
