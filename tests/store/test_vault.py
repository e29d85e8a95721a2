"""The vault: what is sealed opens only with the same key, in the same place, unaltered."""

from __future__ import annotations

import os

import pytest

from app.store.vault import SealBroken, Vault


def test_a_sealed_secret_opens_in_its_context() -> None:
    vault = Vault(os.urandom(32))
    assert vault.open(vault.seal(b"secret", "a:1"), "a:1") == b"secret"


def test_sealing_twice_gives_different_bytes() -> None:
    vault = Vault(os.urandom(32))
    assert vault.seal(b"secret", "a:1") != vault.seal(b"secret", "a:1")


def test_another_key_another_context_and_altered_bytes_do_not_open() -> None:
    vault = Vault(os.urandom(32))
    sealed = vault.seal(b"secret", "a:1")
    altered = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for other, body, context in (
        (Vault(os.urandom(32)), sealed, "a:1"),
        (vault, sealed, "a:2"),
        (vault, altered, "a:1"),
        (vault, sealed[:5], "a:1"),
    ):
        with pytest.raises(SealBroken):
            other.open(body, context)


def test_a_master_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Vault(b"short")
