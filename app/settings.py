"""Settings from the environment; the defaults run embedded, on one machine, with no other server.

Every name starts with CORNERWAVE_. A value that cannot be used stops the start with one line that
names the variable, what is wrong with it and what would be right; the value of a secret is never
part of that line.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.model import Limits
from app.store.vault import MASTER_KEY_BYTES

PREFIX = "CORNERWAVE_"
ADMIN_KEY_CHARACTERS = 32

T = TypeVar("T")


class WrongSetting(Exception):
    """One readable line: which variable, what is wrong, what to do."""


@dataclass(frozen=True, repr=False)
class Settings:
    """What the service is started with."""

    host: str
    port: int
    home: Path
    database_url: str
    blob_url: str
    redis_url: str | None
    master_key: bytes | None
    admin_key: str | None
    allow_generated_master_key: bool
    limits: Limits

    @property
    def master_key_file(self) -> Path:
        return self.home / "master.key"

    @property
    def embedded(self) -> bool:
        """Whether the database is the file under `home`, for this machine alone."""
        return self.database_url.startswith("sqlite")


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings that the environment asks for, or WrongSetting."""
    unknown = sorted(
        name
        for name in environment
        if name.startswith(PREFIX)
        and not name.startswith(f"{PREFIX}TEST_")
        and name.removeprefix(PREFIX) not in KNOWN
    )
    if unknown:
        raise WrongSetting(f"{unknown[0]} is not a setting; there are {', '.join(KNOWN)}")

    def read(name: str, parse: Callable[[str], T], default: T) -> T:
        text = environment.get(PREFIX + name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as wrong:
            raise WrongSetting(f"{PREFIX}{name} {wrong}") from None

    defaults = Limits()
    home = read("HOME", Path, Path("var")).absolute()
    return Settings(
        host=read("HOST", str, "127.0.0.1"),
        port=read("PORT", _port, 8000),
        home=home,
        database_url=read("DATABASE_URL", _database_url, f"sqlite:///{home / 'cornerwave.sqlite'}"),
        blob_url=read("BLOB_URL", _blob_url, str(home / "blobs")),
        redis_url=read("REDIS_URL", _redis_url, None),
        master_key=read("MASTER_KEY", _master_key, None),
        admin_key=read("ADMIN_KEY", _admin_key, None),
        allow_generated_master_key=read("ALLOW_GENERATED_MASTER_KEY", _yes_or_no, False),
        limits=Limits(
            upload_bytes=read("MAX_UPLOAD_BYTES", _positive, defaults.upload_bytes),
            columns=read("MAX_COLUMNS", _positive, defaults.columns),
            stateless_rows=read("MAX_STATELESS_ROWS", _positive, defaults.stateless_rows),
            requests_per_minute=read(
                "MAX_REQUESTS_PER_MINUTE", _positive, defaults.requests_per_minute
            ),
            noise_cache_bytes=read("NOISE_CACHE_BYTES", _positive, defaults.noise_cache_bytes),
            copy_cache_bytes=read("COPY_CACHE_BYTES", _positive, defaults.copy_cache_bytes),
        ),
    )


KNOWN = (
    "HOST",
    "PORT",
    "HOME",
    "DATABASE_URL",
    "BLOB_URL",
    "REDIS_URL",
    "MASTER_KEY",
    "ADMIN_KEY",
    "ALLOW_GENERATED_MASTER_KEY",
    "MAX_UPLOAD_BYTES",
    "MAX_COLUMNS",
    "MAX_STATELESS_ROWS",
    "MAX_REQUESTS_PER_MINUTE",
    "NOISE_CACHE_BYTES",
    "COPY_CACHE_BYTES",
)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65_536:
        raise ValueError("must be a port number from 1 to 65535")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ValueError("must be a whole number above 0")
    return int(text)


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("yes", "no"):
        raise ValueError("must be yes or no")
    return text.lower() == "yes"


def _database_url(text: str) -> str:
    wanted = "must look like sqlite:////path/file or postgresql://user:password@host/name"
    try:
        url = make_url(text)
    except ArgumentError:
        raise ValueError(wanted) from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    if url.drivername == "sqlite" and url.database:
        return text
    raise ValueError(wanted)


def _redis_url(text: str) -> str:
    if urlsplit(text).scheme not in ("redis", "rediss", "unix"):
        raise ValueError("must look like redis://host:6379/0")
    return text


def _blob_url(text: str) -> str:
    scheme = urlsplit(text).scheme
    if scheme not in ("", "file", "s3"):
        raise ValueError("must be a folder, file:///folder or s3://bucket/prefix")
    return text


def _master_key(text: str) -> bytes:
    """32 bytes as 64 hexadecimal digits or as base64."""
    for decode in (bytes.fromhex, base64.urlsafe_b64decode, base64.b64decode):
        try:
            key = decode(text)
        except (ValueError, binascii.Error):
            continue
        if len(key) == MASTER_KEY_BYTES:
            return key
    raise ValueError("must be 32 random bytes as 64 hexadecimal digits (openssl rand -hex 32)")


def _admin_key(text: str) -> str:
    if len(text) < ADMIN_KEY_CHARACTERS or not text.isascii() or not text.isprintable():
        raise ValueError(
            f"must have {ADMIN_KEY_CHARACTERS} or more printable ASCII characters"
            " (openssl rand -hex 32)"
        )
    if any(character.isspace() for character in text):
        raise ValueError("must not contain spaces")
    return text
