"""Address and key of the service: arguments, environment, or the file that `cornerwave login` writes.

The file is for its user's eyes only (0600), and is replaced as a whole.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from cornerwave.problems import InvalidAddress, NoKey

LOGIN = "say url= and key=, set CORNERWAVE_URL and CORNERWAVE_KEY, or run `cornerwave login`"


@dataclass(frozen=True)
class Credentials:
    """An address and the key for it; the key is in no `repr`."""

    url: str
    key: str = field(repr=False)

    def __post_init__(self) -> None:
        visible = self.key.isascii() and self.key.isprintable() and " " not in self.key
        if not self.key or not visible:
            raise NoKey(
                f"The key for {self.url} has characters that no key has: a key is one word of letters,"
                " digits and signs, all of them ASCII."
            )


def address_of(said: str) -> str:
    """The address as it is used and kept: with its scheme, which is not guessed, as it decides who can read the key."""
    begin, separator, end = said.strip().rpartition("://")
    bare = end.rstrip("/")
    address = f"{begin}{separator}{bare}"
    if begin.lower() not in ("http", "https"):
        raise InvalidAddress(
            f"The address {address} does not begin with https:// or http://:"
            f" say https://{bare}, or http://{bare} where there is no TLS."
        )
    try:
        whole = bool(httpx.URL(address).host)
    except httpx.InvalidURL:
        whole = False
    if not whole:
        raise InvalidAddress(f"{address} is not an address such as https://cornerwave.example.")
    return address


def place() -> Path:
    """The file that `cornerwave login` writes."""
    if said := os.environ.get("CORNERWAVE_CONFIG"):
        return Path(said)
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA", Path.home()))
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "cornerwave" / "credentials.json"


def find(url: str | None = None, key: str | None = None) -> Credentials:
    """The address and the key: said, else of the environment, else kept."""
    kept = _read()
    address = url or os.environ.get("CORNERWAVE_URL") or kept.get("default")
    if not address:
        raise NoKey(f"No address of a service is known: {LOGIN}.")
    address = address_of(address)
    found = key or os.environ.get("CORNERWAVE_KEY") or kept.get("keys", {}).get(address)
    if not found or not found.strip():
        raise NoKey(f"No key for {address} is known: {LOGIN}.")
    return Credentials(address, found.strip())


def keep(credentials: Credentials) -> Path:
    """Keep a key for the next time, and its address as the default."""
    kept = _read()
    keys = {**kept.get("keys", {}), credentials.url: credentials.key}
    return _write({"default": credentials.url, "keys": keys})


def forget(url: str) -> bool:
    """Delete the stored key of an address; False if there was none."""
    kept = _read()
    keys = dict(kept.get("keys", {}))
    if keys.pop(url.rstrip("/"), None) is None:
        return False
    default = kept.get("default")
    _write({"default": default if default in keys else next(iter(keys), None), "keys": keys})
    return True


def _read() -> dict[str, Any]:
    try:
        kept = json.loads(place().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise NoKey(f"{place()} is not what `cornerwave login` wrote; remove it.") from None
    return kept if isinstance(kept, dict) else {}


def _write(kept: dict[str, Any]) -> Path:
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    growing = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(growing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)
        growing.replace(path)
    except BaseException:
        growing.unlink(missing_ok=True)
        raise
    return path
