"""Domain model as frozen values: Dataset, Column, Level, Copy, Principal, Grant …

Words as in the design: a data set has columns, levels, a history and copies; a recipient has a key
and grants. None of these values ever carries a data value, a key or a covariance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Generic, TypeVar

Item = TypeVar("Item")

BLOCK_ROWS = 65_536
"""Rows of a Parquet row group, and of a noise block: both are addressed by the same number."""


class Kind(StrEnum):
    """Kind of a column, which decides how it is released."""

    NUMERIC = "numeric"
    DATE = "date"
    DATETIME = "datetime"
    CATEGORICAL = "categorical"
    IDENTIFIER = "identifier"
    PASSTHROUGH = "passthrough"

    @property
    def noised(self) -> bool:
        """Whether noise is added to its numbers; a date is a number of days, a moment one of seconds."""
        return self in (Kind.NUMERIC, Kind.DATE, Kind.DATETIME)

    @property
    def dated(self) -> bool:
        """Whether its numbers count from 1970, and have no zero that means anything."""
        return self in (Kind.DATE, Kind.DATETIME)


class Scale(StrEnum):
    """Scale on which a column is measured, perturbed and attacked (app/numerics/copies/scales.py)."""

    LINEAR = "linear"
    LOG = "log"


class Storage(StrEnum):
    """Storage of a column: every number is a double, everything else is text."""

    NUMBER = "number"
    TEXT = "text"


class Protection(StrEnum):
    """Protection of a data set: noise follows from its rows, or from the owner's declaration alone (docs/formal.md)."""

    MEASURED = "measured"
    FORMAL = "formal"


@dataclass(frozen=True)
class Column:
    """One column of a data set.

    where:
        reason   why the column got its kind, for the owner to read
        missing  how many cells are missing
        integer  whether every value so far is an integer; to a recipient both are None, since they tell
                 of rows that no copy has
        round_to_integer, lower, upper  what a release enforces, only where the owner asked; under formal
                 protection the bounds are declared, and rows are held to them before noise is added
        date_format  how its dates or moments are written, in the signs of strftime
        unit     the sign that its numbers came with (%, €), empty for plain ones; None for text, and
                 where nobody knows
        categories  the declared values of a categorical column, or the one of a public constant
        other    that of them which values outside the list become
        missing_as  that of them which missing cells become; None for `other`
        weight   w, of the noise variance w·(upper - lower)²·v under formal protection
        scale_unit  of its log scale, which is linear below it; None on the linear scale
    """

    name: str
    kind: Kind
    storage: Storage
    reason: str
    missing: int | None = 0
    integer: bool | None = False
    round_to_integer: bool = False
    lower: float | None = None
    upper: float | None = None
    unit: str | None = None
    date_format: str | None = None
    categories: tuple[str, ...] | None = None
    other: str | None = None
    missing_as: str | None = None
    weight: float = 1.0
    scale_unit: float | None = None

    @property
    def scale(self) -> Scale:
        return Scale.LINEAR if self.scale_unit is None else Scale.LOG


@dataclass(frozen=True)
class ColumnOverrides:
    """Kind and options of a column set by a principal; None leaves one inferred.

    where:
        lower, upper  minus and plus infinity forget a bound that was set; days of a calendar are for dates and moments
        scale_unit    of the log scale, 1 where it is not said
    """

    kind: Kind | None = None
    round_to_integer: bool | None = None
    lower: float | date | None = None
    upper: float | date | None = None
    storage: Storage | None = None
    categories: tuple[str, ...] | None = None
    other: str | None = None
    missing_as: str | None = None
    weight: float | None = None
    scale: Scale | None = None
    scale_unit: float | None = None


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a data set in one blob: the first registration, or one append.

    where:
        digest      what the rows are, keyed by the data set's secret: their noise is bound to it
        protection  hash of what their noise follows from; None before the first copy
    """

    number: int
    first_row: int
    rows: int
    blob: str
    digest: str
    protection: str | None = None

    @property
    def end_row(self) -> int:
        """The ordinal after the part's last."""
        return self.first_row + self.rows


@dataclass(frozen=True)
class Versions:
    """Rows of the most repeated key, and the privacy that its versions leave at each level.

    where:
        most          rows of the most repeated key, retired ones among them
        privacy_left  level → privacy of v/most
    """

    most: int
    privacy_left: Mapping[str, float]


@dataclass(frozen=True)
class Notice:
    """Notice to an owner beside an answer: a sentence with its figures."""

    type: str
    detail: str
    share: float | None = None
    dataset: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A registered table.

    where:
        rows     ordinals ever given out
        retired  those withdrawn
        listed   whether others may find it and ask for a copy
        missing_tokens  texts that stand for a missing cell, as its owner said
        pending_rows    appended rows that have not yet formed a part
        publish_noise   whether who may have a copy may have its noise law
        part_rows       rows that the owner wants a part to have at least, 0 for no minimum
        protection      what its noise follows from
        least_variance  no copy has less noise; None without such a cap (formal protection)
        person_rows     rows that one key has at most (formal protection)
    """

    id: str
    name: str
    owner: str
    rows: int
    retired: int
    columns: tuple[Column, ...]
    key_column: str | None
    created_at: datetime
    frozen: bool = False
    versions: Versions | None = None
    description: str = ""
    listed: bool = False
    missing_tokens: tuple[str, ...] = ()
    pending_rows: int = 0
    part_rows: int = 0
    publish_noise: bool = True
    protection: Protection = Protection.MEASURED
    least_variance: float | None = None
    person_rows: int = 1

    @property
    def formal(self) -> bool:
        """Whether its noise follows from the owner's declaration alone."""
        return self.protection is Protection.FORMAL

    @property
    def most_versions(self) -> int | None:
        """How many rows one key may have at most; None for any number."""
        return self.person_rows if self.formal else None

    @property
    def released_rows(self) -> int:
        """How many rows a copy has now."""
        return self.rows - self.retired

    def column(self, name: str) -> Column | None:
        """The column of that name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class CellGuarantee:
    """Differential privacy of one column of a row.

    where:
        standard_deviation  of a number's noise, in the column's own unit; on the log scale in doublings
        kept_share          the chance that a category is shown as it is, without having been drawn
    """

    column: str
    mu: float
    rho: float
    epsilon: float
    delta: float
    standard_deviation: float | None
    kept_share: float | None


@dataclass(frozen=True)
class FormalGuarantee:
    """Differential privacy of a level under formal protection: of whole rows, and cell by cell.

    where:
        mu         μ-GDP of a row
        rho        ρ-zCDP of a row
        epsilon    ε at `delta` of a row; None where it is too large to be counted
        certainty  how often the best guess which of two rows it was is right at most
        sentence   the same in words
    """

    mu: float
    rho: float
    epsilon: float | None
    delta: float
    certainty: float
    cells: tuple[CellGuarantee, ...]
    sentence: str
    unit: str = "a row"
    neighbours: str = "one row is replaced by any other that the declaration allows"


@dataclass(frozen=True)
class Level:
    """A name for a noise variance v; privacy is e = v/(1+v) [li2012, eq. 9].

    `offered` says whether those who find the data set may ask for it. `delta` is that of its (ε, δ) under
    formal protection, and `guarantee` what follows for those who ask.
    """

    name: str
    noise_variance: float
    issued: bool = False
    offered: bool = False
    delta: float | None = None
    guarantee: FormalGuarantee | None = None

    @property
    def privacy(self) -> float:
        return self.noise_variance / (1.0 + self.noise_variance)


@dataclass(frozen=True)
class HistoryEntry:
    """One draw of noise: the variance, its neighbours then, and the hash that keys the draw.

    where:
        copy              the id of the copy that this draw made possible
        noise_variance    v, what the level promises
        lower, upper      the next smaller and next larger v drawn before, if any
        recipe            how noise follows from secret and hash, for ever
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
    principal: str


@dataclass(frozen=True)
class Copy:
    """A data set at one noise variance, as one principal may have it.

    where:
        rows     how many rows a download has now
        columns  those that leave, in the data set's order
        grid     column with noise → e: on the column's scale its numbers are multiples of 2^e
        records  columns whose values are kept or replaced by those of donors
        levels   the owner's names for this variance that this principal may know
        applied_variance  a(v) of the level in the first part; None where the owner withholds the noise law
        sequence, hash    for those who answer for the data set, None for recipients
        guarantee         under formal protection, of the columns that leave
    """

    id: str
    dataset: str
    noise_variance: float
    applied_variance: float | None
    sequence: int | None
    hash: str | None
    issued_at: datetime
    rows: int
    columns: tuple[Column, ...]
    grid: dict[str, int]
    records: frozenset[str]
    levels: tuple[str, ...]
    guarantee: FormalGuarantee | None = None

    @property
    def privacy(self) -> float:
        return self.noise_variance / (1.0 + self.noise_variance)


class Role(StrEnum):
    """Role of a principal. An admin may do all; an auditor reads the log and histories."""

    ADMIN = "admin"
    OWNER = "owner"
    RECIPIENT = "recipient"
    AUDITOR = "auditor"


class Binding(StrEnum):
    """What a key that is bound to an agreement is for: a transfer of a data space, which opens its copies
    and its tables, or Delta Sharing, which opens its tables."""

    TRANSFER = "transfer"
    SHARE = "share"


@dataclass(frozen=True)
class Principal:
    """Principal: the person or program behind a key, with its role.

    `agreement` is the only one that the key is good for; None for a key with all rights of its principal.
    `transfer` is the only one of a data space that such a key is good for, where it was made for one.
    """

    id: str
    name: str
    role: Role
    agreement: str | None = None
    transfer: str | None = None


@dataclass(frozen=True)
class PrincipalRecord:
    """Principal as an administrator sees it, with the public ids of its live keys."""

    principal: Principal
    created_at: datetime
    revoked_at: datetime | None
    keys: tuple[str, ...]
    participant_id: str | None = None
    proposed_participant_id: str | None = None
    email: str | None = None


@dataclass(frozen=True)
class Session:
    """A browser in which a principal is signed in.

    where:
        key      the public id of the key that it was begun with, None for other ways in
        ends_at  when it ends unless it is used before; each use moves that on
        since    when the principal was last here before this session
    """

    id: str
    principal: Principal
    key: str | None
    browser: str
    begun_at: datetime
    seen_at: datetime
    ends_at: datetime
    since: datetime | None = None


@dataclass(frozen=True)
class Grant:
    """A recipient's right to one level of one data set, perhaps to some columns, for some time.

    where:
        first_row  the first ordinal that it may have
        agreement  agreement that the right follows from; None for a plain grant
    """

    dataset: str
    recipient: str
    level: str
    expires_at: datetime | None = None
    columns: tuple[str, ...] | None = None
    first_row: int = 0
    agreement: str | None = None


@dataclass(frozen=True)
class Limits:
    """Limits of one request."""

    upload_bytes: int = 4 * 2**30
    columns: int = 2_000
    stateless_rows: int = 2_000_000
    requests_per_minute: int = 600
    unfinished_jobs: int = 100
    unfinished_job_bytes: int = 8 * 2**30
    categories: int = 10_000
    noise_cache_bytes: int = 64 * 2**20
    copy_cache_bytes: int = 96 * 2**20
    download_bytes: int = 256 * 2**20
    session_idle_hours: int = 8
    release_cache_bytes: int = 20 * 2**30
    signed_url_seconds: int = 900


@dataclass(frozen=True)
class LogEntry:
    """One line of the audit log, chained to the one before it by hash."""

    sequence: int
    at: datetime
    principal: str
    action: str
    subject: str
    outcome: str
    request_id: str
    previous_hash: str
    hash: str
    facts: dict[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class LogFilter:
    """Which entries of the log are wanted; None is all. `until` is the moment after the last."""

    principal: str | None = None
    actions: tuple[str, ...] | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    subjects: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ListQuery:
    """Which items of a list are wanted: those that contain a text, in an order, from `offset` on."""

    text: str
    sort: str
    offset: int
    limit: int


@dataclass(frozen=True)
class ListResult(Generic[Item]):
    """The items of a page of a list, and how many there are on all pages."""

    items: list[Item]
    total: int


@dataclass(frozen=True)
class ShownSetting:
    """A setting in force, secrets left out."""

    name: str
    value: str
    chosen: bool


@dataclass(frozen=True)
class Survey:
    """A survey; exactly one of `categories` and `edges` is there.

    where:
        perturbation             the kind of W and its parameters
        totals                   one sum for each bin, over `responses` vectors
        responses_per_principal  how many one may add who does not own it
    """

    id: str
    name: str
    owner: str
    categories: tuple[str, ...] | None
    edges: tuple[float, ...] | None
    perturbation: Mapping[str, str | float]
    created_at: datetime
    responses: int
    totals: tuple[int, ...]
    responses_per_principal: int

    @property
    def bins(self) -> int:
        return len(self.totals)


@dataclass(frozen=True)
class Receipt:
    """Idempotency receipt: a write was done, for which request, with which answer if known."""

    fingerprint: str
    subject: str
    status: int | None
    answer: bytes | None
