"""The things the service speaks of, as frozen values.

Words as in the design: a data set has columns, levels, a history and copies; a recipient has a key
and grants. None of these values ever carries a data value, a key or a covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

BLOCK_ROWS = 65_536
"""Rows of a Parquet row group, and of a noise block: both are addressed by the same number."""


class Kind(StrEnum):
    """What a release does with a column."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    IDENTIFIER = "identifier"
    PASSTHROUGH = "passthrough"


class Storage(StrEnum):
    """How a column's values are kept: every number is a double, everything else is text."""

    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True)
class Column:
    """One column of a data set.

    where:
        because  why the column got its kind, for the owner to read
        missing  how many cells are missing
        integer  whether every value so far is an integer
        round_to_integer, lower, upper  what a release enforces, only where the owner asked
    """

    name: str
    kind: Kind
    storage: Storage
    because: str
    missing: int = 0
    integer: bool = False
    round_to_integer: bool = False
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class ColumnWish:
    """What a caller says about a column instead of letting it be inferred."""

    kind: Kind | None = None
    round_to_integer: bool | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a data set in one blob: the first registration, or one append."""

    number: int
    first_row: int
    rows: int
    blob: str


@dataclass(frozen=True)
class Dataset:
    """A registered table. `rows` counts ordinals ever given out, `retired` those withdrawn."""

    id: str
    name: str
    owner: str
    rows: int
    retired: int
    columns: tuple[Column, ...]
    key_column: str | None
    created_at: datetime
    frozen: bool = False

    def column(self, name: str) -> Column | None:
        """The column of that name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class Level:
    """A name for a noise variance v; privacy is e = v/(1+v) [li2012, eq. 9]."""

    name: str
    noise_variance: float
    issued: bool = False

    @property
    def privacy(self) -> float:
        return self.noise_variance / (1.0 + self.noise_variance)


@dataclass(frozen=True)
class HistoryEntry:
    """One draw of noise: the variance, its neighbours then, and the hash that keys the draw.

    where:
        copy          the id of the copy that this draw made possible
        lower, upper  the next smaller and the next larger variance drawn before, if any
        recipe        how noise follows from secret and hash, for ever
    """

    dataset: str
    sequence: int
    copy: str
    noise_variance: float
    lower: float | None
    upper: float | None
    recipe: str
    previous_hash: str
    hash: str
    at: datetime
    caller: str


@dataclass(frozen=True)
class Copy:
    """A data set at one noise variance, as one caller may have it.

    where:
        rows     how many rows a download has now
        columns  those that leave, in the data set's order
        grid     numeric column → e: its released numbers are multiples of 2^e
        levels   the owner's names for this variance that this caller may know
    """

    id: str
    dataset: str
    noise_variance: float
    sequence: int
    hash: str
    issued_at: datetime
    rows: int
    columns: tuple[Column, ...]
    grid: dict[str, int]
    levels: tuple[str, ...]

    @property
    def privacy(self) -> float:
        return self.noise_variance / (1.0 + self.noise_variance)


class Role(StrEnum):
    """What a caller is. An admin may do all; an auditor reads the log and histories."""

    ADMIN = "admin"
    OWNER = "owner"
    RECIPIENT = "recipient"
    AUDITOR = "auditor"


@dataclass(frozen=True)
class Caller:
    """Who is asking: the holder of a key."""

    id: str
    name: str
    role: Role


@dataclass(frozen=True)
class Grant:
    """A recipient's right to one level of one data set, perhaps to some columns, for some time."""

    dataset: str
    recipient: str
    level: str
    expires_at: datetime | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for."""

    upload_bytes: int = 4 * 2**30
    columns: int = 2_000
    stateless_rows: int = 2_000_000
    requests_per_minute: int = 600
    categories: int = 10_000
    noise_cache_bytes: int = 64 * 2**20
    copy_cache_bytes: int = 96 * 2**20


@dataclass(frozen=True)
class LogEntry:
    """One line of the audit log, chained to the one before it by hash."""

    sequence: int
    at: datetime
    caller: str
    action: str
    subject: str
    outcome: str
    request_id: str
    previous_hash: str
    hash: str
    facts: dict[str, str | int | float | bool | None] = field(default_factory=dict)
