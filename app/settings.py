"""Settings from environment variables; defaults run embedded on one machine.

Every name starts with CORNERWAVE_. A secret may come from a file instead, whose path the variable
of the same name with _FILE at its end has. A value that cannot be used stops the start with one
line that names the variable, what is wrong with it and what would be right; the value is never part
of that line.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.model import Limits, Role, ShownSetting
from app.store.database.engine import CONNECTIONS, TIMEOUT_SECONDS
from app.store.vault import MASTER_KEY_BYTES

PREFIX = "CORNERWAVE_"
ADMIN_KEY_CHARACTERS = 32
ADMIN_KEY_STEPS = 11
"""Different steps from a character to the next; 32 random hexadecimal digits have 21 ± 2, repeated words their length."""

SECRETS = (
    "MASTER_KEY",
    "OLD_MASTER_KEY",
    "ADMIN_KEY",
    "OIDC_CLIENT_SECRET",
    "DATABASE_URL",
    "REDIS_URL",
    "SMTP_URL",
)
"""Secrets: settings that may be read from a mounted file."""

HIDDEN = ("master_key", "old_master_key", "admin_key", "oidc_client_secret")
"""What is shown to nobody, in no form."""

NOT_OURS = re.compile(
    rf"{PREFIX}TEST_.+"
    rf"|{PREFIX}(URL|KEY|CONFIG)"
    rf"|{PREFIX}(.+_)?SERVICE_(HOST|PORT(_.+)?)"
    rf"|{PREFIX}(.+_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?"
)
"""Of the test suite and of the client, and what Kubernetes sets for Services named cornerwave or cornerwave-…."""

SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
"""What Kubernetes sets in CORNERWAVE_PORT and CORNERWAVE_…_PORT: an address, never our port."""


TARGET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a place that copies are pushed to can be called."""


class WrongSetting(Exception):
    """One readable line: which variable, what is wrong, what to do."""


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
    if urlsplit(text).scheme not in ("", "file", "s3"):
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
    if len({ord(after) - ord(before) for before, after in pairwise(text)}) < ADMIN_KEY_STEPS:
        raise ValueError("can be guessed: it repeats itself; make one by: openssl rand -hex 32")
    return text


def _networks(text: str) -> tuple[str, ...]:
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for one in named:
        try:
            ip_network(one)
        except ValueError:
            raise ValueError("must list addresses or networks, as 10.0.0.7,10.1.0.0/16") from None
    return named


def _targets(text: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for one in (part.strip() for part in text.split(",") if part.strip()):
        name, equals, place = one.partition("=")
        if not equals or not TARGET.fullmatch(name) or not place.startswith(("/", "s3://")):
            raise ValueError("must list name=/folder or name=s3://bucket/prefix, between commas")
        named[name] = place
    return named


def _web_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username:
        raise ValueError("must look like https://host/path")
    return text


def _issuers(text: str) -> tuple[str, ...]:
    return tuple(_web_url(part.strip()) for part in text.split(",") if part.strip())


def _origins(text: str) -> tuple[str, ...]:
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for one in named:
        parts = urlsplit(one)
        if parts.scheme not in ("http", "https") or one != f"{parts.scheme}://{parts.netloc}":
            raise ValueError("must list origins, as https://a.example,http://localhost:5173")
    return named


def _smtp_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("must look like smtp://host:587 or smtps://user:password@host")
    return text


def _roles(text: str) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        value, equals, role = pair.rpartition("=")
        if not equals or not value.strip() or role.strip() not in list(Role):
            raise ValueError(
                "must list claim values and roles, as data-team=owner,*=recipient; the roles are "
                + ", ".join(Role)
            )
        roles[value.strip()] = Role(role.strip())
    return roles


def _scheduler(text: str) -> str:
    if urlsplit(text).scheme not in ("tcp", "tls"):
        raise ValueError("must look like tcp://host:8786 or tls://host:8786")
    return text


def _roots(text: str) -> tuple[str, ...]:
    """Folders by absolute path, and prefixes of buckets, between commas."""
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for one in named:
        parts = urlsplit(one)
        folder = parts.path if parts.scheme == "file" else one
        if parts.scheme not in ("", "file", "s3") or (
            parts.scheme != "s3" and not Path(folder).is_absolute()
        ):
            raise ValueError("must list folders and prefixes, as /data/in,s3://bucket/prefix")
    return named


def _require_together(said: Mapping[str, object]) -> None:
    missing = [PREFIX + name for name, value in said.items() if not value]
    if 0 < len(missing) < len(said):
        raise ValueError(f"is needed too, or none of the others: {', '.join(missing)}")


class Settings(BaseSettings):
    """Settings of the service."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    host: str = "127.0.0.1"
    """Listening address."""
    port: int = Field(8000, ge=1, le=65_535)
    """Listening port."""
    home: Annotated[Path, AfterValidator(Path.absolute)] = Field(Path("var"), validate_default=True)
    """Folder of the SQLite file, blobs and generated master key; readable by its owner only."""
    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        default_factory=lambda data: f"sqlite:///{data['home'] / 'cornerwave.sqlite'}"
    )
    """`postgresql://user:password@host/name`; by default SQLite in the home."""
    blob_url: Annotated[str, AfterValidator(_blob_url)] = Field(
        default_factory=lambda data: str(data["home"] / "blobs")
    )
    """A folder, or `s3://bucket/prefix`; by default `blobs` in the home."""
    redis_url: Annotated[str, AfterValidator(_redis_url)] | None = None
    """`redis://host:6379/0`: rate limits and cache shared between processes."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Server processes on the one port, on PostgreSQL."""
    job_threads: Annotated[int, Field(ge=0, le=64)] = 2
    """Concurrent jobs of a process; 0 leaves them to `cornerwave-server worker`."""
    job_lease_seconds: PositiveInt = 30
    """Lease of a job; when it expires, another worker takes the job over."""
    job_days: PositiveInt = 7
    """Retention of finished jobs and their results."""
    max_wait_seconds: PositiveInt = 30
    """Longest `Prefer: wait` in seconds; after it the answer is a job."""
    master_key: Annotated[bytes, BeforeValidator(_master_key)] | None = None
    """32 bytes as hexadecimal digits (`openssl rand -hex 32`); by default a file in the home."""
    old_master_key: Annotated[bytes, BeforeValidator(_master_key)] | None = None
    """The previous master key, during a key rotation."""
    admin_key: Annotated[str, AfterValidator(_admin_key)] | None = None
    """At least 32 random characters (`openssl rand -hex 32`); by default generated on the first start and shown once."""
    allow_generated_master_key: bool = False
    """Let a service on PostgreSQL use a key file of this machine."""
    body_seconds: PositiveInt = 30
    """Read timeout for every 16 KiB of a request body; then 408."""
    drain_seconds: PositiveInt = 30
    """Graceful shutdown, from SIGTERM to the end."""
    max_connections: PositiveInt = 1_000
    """Connections of a process; never more than half of its open files."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_networks)] = Field(
        (), validate_default=False
    )
    """Addresses and networks whose `X-Forwarded-For` is trusted, as `10.0.0.7,10.1.0.0/16`."""
    cors_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = Field(
        (), validate_default=False
    )
    """Origins whose pages may call the API from a browser, as `https://a.example`; they send a key, never a cookie."""
    webhook_networks: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_networks)] = Field(
        (), validate_default=False
    )
    """Private networks that webhooks and data space callbacks may reach, as `10.20.0.0/16`."""
    delivery_targets: Annotated[dict[str, str], NoDecode, BeforeValidator(_targets)] = Field(
        {}, validate_default=False
    )
    """Places that agreed copies may be pushed to, as `partner=/srv/out,lake=s3://bucket/prefix`."""
    max_upload_bytes: PositiveInt = Limits.upload_bytes
    """Limit of a request body, as sent and as unpacked."""
    spool_bytes: PositiveInt = 4 * Limits.upload_bytes
    """Bodies being received or read, encrypted in the home's `spool`; one key may hold as much as is still free, beyond that 429."""
    max_columns: PositiveInt = Limits.columns
    """Columns of a table."""
    max_stateless_rows: PositiveInt = Limits.stateless_rows
    """Rows of a table sent to a stateless method."""
    max_requests_per_minute: PositiveInt = Limits.requests_per_minute
    """Rate limit per key; per address without a valid key."""
    max_unfinished_jobs: PositiveInt = Limits.unfinished_jobs
    """Unfinished jobs per principal; beyond that 429."""
    max_unfinished_job_bytes: PositiveInt = Limits.unfinished_job_bytes
    """Request bodies of one principal's unfinished jobs."""
    noise_cache_bytes: PositiveInt = Limits.noise_cache_bytes
    """Noise blocks cached in a process."""
    copy_cache_bytes: PositiveInt = Limits.copy_cache_bytes
    """Blocks of copies cached in a process, of copies that fit whole."""
    database_connections: PositiveInt = CONNECTIONS
    """Connection pool of a process."""
    database_timeout_seconds: PositiveInt = round(TIMEOUT_SECONDS)
    """Statement timeout; other timeouts follow from it."""
    download_bytes: PositiveInt = Limits.download_bytes
    """Buffers of all downloads of a process: produced, not yet read by the client."""
    session_idle_hours: int = Field(Limits.session_idle_hours, ge=1, le=168)
    """Idle timeout of a portal session (1 to 168); a session ends after a week in any case."""
    release_cache_bytes: PositiveInt = Limits.release_cache_bytes
    """Released files in the blob store; least recently used go first and are remade on demand."""
    signed_url_seconds: int = Field(Limits.signed_url_seconds, ge=10, le=86_400)
    """Longest validity of the URL of a released file."""
    dask_scheduler: Annotated[str, AfterValidator(_scheduler)] | None = None
    """`tcp://host:8786` or `tls://…`: a Dask cluster (extra `dask`)."""
    import_roots: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_roots)] = Field(
        (), validate_default=False
    )
    """Folders and `s3://bucket/prefix`, separated by commas, from which owners may import files."""
    signed_urls: Literal["service", "store"] | None = None
    """Who serves released files: `store` (the bucket, by presigned URLs, extra `s3`) or `service`; by default `store` on S3."""

    smtp_url: Annotated[str, AfterValidator(_smtp_url)] | None = None
    """Mail server for notifications, `smtp://host:587` or `smtps://user:password@host`."""
    mail_from: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)] | None = None
    """Sender of notifications; needed with the mail server."""
    public_url: Annotated[str, AfterValidator(_web_url)] | None = None
    """Address of the service for browsers, connectors and identity provider; by default the request's own."""
    participant_id: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Participant id in a data space; by default generated."""
    oidc_issuer: Annotated[str, AfterValidator(_web_url)] | None = None
    """OpenID Connect provider of the portal; set with the client id, the client secret and the roles, or none of them."""
    oidc_client_id: str | None = None
    """Client id at the OpenID Connect provider."""
    oidc_client_secret: str | None = None
    """Client secret at the OpenID Connect provider."""
    oidc_role_claim: str = "groups"
    """The claim that gives the role."""
    oidc_roles: Annotated[dict[str, Role], NoDecode, BeforeValidator(_roles)] = Field(
        default_factory=dict, validate_default=False
    )
    """Claim values and their roles, as `data-team=owner,*=recipient`; `*` is everybody the provider authenticates."""

    token_issuers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_issuers)] = Field(
        (), validate_default=False
    )
    """OpenID Connect issuers whose access tokens (JWT) the API accepts; set with their audience and roles, or none of them."""
    token_audience: str | None = None
    """The audience that an access token must be for."""
    token_role_claim: str = "roles"  # noqa: S105  # the name of a claim
    """The claim of an access token that gives the role."""
    token_roles: Annotated[dict[str, Role], NoDecode, BeforeValidator(_roles)] = Field(
        default_factory=dict, validate_default=False
    )
    """Claim values and their roles, as `pipeline=recipient,*=recipient`; `*` is every token of the issuers."""

    @model_validator(mode="after")
    def _whole_issuers(self) -> Settings:
        said = {
            "TOKEN_ISSUERS": self.token_issuers,
            "TOKEN_AUDIENCE": self.token_audience,
            "TOKEN_ROLES": self.token_roles,
        }
        _require_together(said)
        # A person has one principal with one role, whichever way it comes.
        if self.oidc_issuer in self.token_issuers and (
            (self.oidc_role_claim, self.oidc_roles) != (self.token_role_claim, self.token_roles)
        ):
            raise ValueError(
                f"names the provider of the portal: set {PREFIX}TOKEN_ROLE_CLAIM and {PREFIX}TOKEN_ROLES"
                f" as {PREFIX}OIDC_ROLE_CLAIM and {PREFIX}OIDC_ROLES"
            )
        if self.token_audience is not None and self.token_audience == self.oidc_client_id:
            raise ValueError(
                f"must not be the portal's client id: {PREFIX}TOKEN_AUDIENCE would take its ID tokens"
            )
        return self

    @model_validator(mode="after")
    def _whole_provider(self) -> Settings:
        said = {
            "OIDC_ISSUER": self.oidc_issuer,
            "OIDC_CLIENT_ID": self.oidc_client_id,
            "OIDC_CLIENT_SECRET": self.oidc_client_secret,
            "OIDC_ROLES": self.oidc_roles,
        }
        _require_together(said)
        return self

    @model_validator(mode="after")
    def _whole_mail(self) -> Settings:
        if (self.smtp_url is None) != (self.mail_from is None):
            raise ValueError(f"is incomplete: set {PREFIX}SMTP_URL and {PREFIX}MAIL_FROM together")
        return self

    @property
    def limits(self) -> Limits:
        return Limits(
            upload_bytes=self.max_upload_bytes,
            columns=self.max_columns,
            stateless_rows=self.max_stateless_rows,
            requests_per_minute=self.max_requests_per_minute,
            unfinished_jobs=self.max_unfinished_jobs,
            unfinished_job_bytes=self.max_unfinished_job_bytes,
            noise_cache_bytes=self.noise_cache_bytes,
            copy_cache_bytes=self.copy_cache_bytes,
            download_bytes=self.download_bytes,
            session_idle_hours=self.session_idle_hours,
            release_cache_bytes=self.release_cache_bytes,
            signed_url_seconds=self.signed_url_seconds,
        )

    def shown(self) -> list[ShownSetting]:
        """Every setting in force; of a secret, that it is set, and of an address, where it leads."""
        return [
            ShownSetting(PREFIX + name.upper(), _shown(name, value), name in self.model_fields_set)
            for name, value in self
        ]

    @property
    def presigned(self) -> bool:
        """Whether the bucket hands out released files by URLs of its own."""
        in_bucket = urlsplit(self.blob_url).scheme == "s3"
        if self.signed_urls == "store" and not in_bucket:
            raise WrongSetting(
                "CORNERWAVE_SIGNED_URLS can be store only where CORNERWAVE_BLOB_URL is s3://…"
            )
        return in_bucket and self.signed_urls != "service"

    def make_home(self) -> None:
        """The folder of everything that is kept here: there, and its owner's alone."""
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.home.chmod(0o700)

    @property
    def master_key_file(self) -> Path:
        return self.home / "master.key"

    @property
    def embedded(self) -> bool:
        """Whether the database is the file under `home`, for this machine alone."""
        return self.database_url.startswith("sqlite")

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Nothing: several of the values are secrets, or hold one."""
        return []

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # the library's signature
        init_settings: PydanticBaseSettingsSource,
        *_others: PydanticBaseSettingsSource,
        **_named: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read only what `settings_from` was given."""
        return (init_settings,)


def _shown(name: str, value: object) -> str:
    if name in HIDDEN:
        return "set" if value else "not set"
    match value:
        case None:
            said = "not set"
        case bool():
            said = "yes" if value else "no"
        case dict():
            said = ", ".join(f"{key}={role}" for key, role in value.items()) or "none"
        case tuple():
            said = ", ".join(map(str, value)) or "none"
        case _:
            said = _without_secrets(str(value)) if name.endswith("_url") else str(value)
    return said


def _without_secrets(address: str) -> str:
    """Return an address without user, password and query."""
    parts = urlsplit(address)
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else parts.path


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings that the environment asks for, or WrongSetting."""
    variables = _with_secrets_of_files(_ours(environment))
    names = [PREFIX + field.upper() for field in Settings.model_fields]
    for name in sorted(variables):
        if name not in names:
            raise WrongSetting(f"{name} is not a setting; {_meant(name, names)}.")
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): text.strip() or None for name, text in variables.items()}
    try:
        settings = Settings(**source())
    except ValidationError as wrong:
        first = wrong.errors(include_input=False, include_context=False)[0]
        reason = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        # What is wrong with several together is said of the provider's settings as a whole.
        groups = (group for group in ("SMTP_URL", "TOKEN_") if group in reason)
        together = {"SMTP_URL": "SMTP_URL", "TOKEN_": "TOKEN_…"}.get(next(groups, ""), "OIDC_…")
        name = str(first["loc"][0]).upper() if first["loc"] else together
        raise WrongSetting(f"{PREFIX}{name} {reason}.") from None
    if settings.workers > 1 and settings.embedded:
        raise WrongSetting(
            "CORNERWAVE_WORKERS above 1 needs PostgreSQL (CORNERWAVE_DATABASE_URL): a SQLite file is"
            " for one process."
        )
    return settings


def _ours(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are meant for this service."""
    return {
        name: text
        for name, text in environment.items()
        if name.startswith(PREFIX)
        and not NOT_OURS.fullmatch(name)
        and not (name.endswith("_PORT") and SERVICE_ADDRESS.match(text))
    }


def _with_secrets_of_files(variables: dict[str, str]) -> dict[str, str]:
    """The same, with what the files of the _FILE variables hold in place of those variables."""
    read = dict(variables)
    for name in (PREFIX + secret for secret in SECRETS):
        path = read.pop(f"{name}_FILE", "").strip()
        if not path:
            continue
        if read.get(name, "").strip():
            raise WrongSetting(f"{name}_FILE and {name} are both set; one of them must go.")
        try:
            read[name] = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise WrongSetting(f"{name}_FILE names a file that cannot be read.") from None
        if not read[name].strip():
            raise WrongSetting(f"{name}_FILE names a file that is empty.")
    return read


def _meant(name: str, names: list[str]) -> str:
    known = [known.removeprefix(PREFIX) for known in names] + [f"{one}_FILE" for one in SECRETS]
    if close := get_close_matches(name.removeprefix(PREFIX), known, n=1):
        return f"{PREFIX}{close[0]} is"
    return f"there are {', '.join(names)}"
