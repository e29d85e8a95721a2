"""The JSON forms of what the service speaks of."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from app.model import Column, ColumnWish, Dataset, Grant, Kind, Level, LogEntry, Role
from app.service.recipients import NewKey
from app.store.callers import CallerRecord


class Form(BaseModel):
    """A JSON body: unknown members are refused, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(extra="forbid")


class ColumnForm(Form):
    """What the owner says of a column."""

    kind: Kind | None = None
    round_to_integer: bool | None = Field(
        None, description="Release whole numbers (numeric columns)."
    )
    lower: float | None = Field(None, description="Nothing below this leaves (numeric columns).")
    upper: float | None = Field(None, description="Nothing above this leaves (numeric columns).")

    def wish(self) -> ColumnWish:
        return ColumnWish(self.kind, self.round_to_integer, self.lower, self.upper)


class ColumnView(BaseModel):
    """A column and why it has its kind."""

    name: str
    kind: Kind
    because: str
    missing: int
    integer: bool
    round_to_integer: bool
    lower: float | None
    upper: float | None

    @classmethod
    def of(cls, column: Column) -> ColumnView:
        return cls.model_validate(column, from_attributes=True)


class DatasetView(BaseModel):
    """A data set; rows that were retired are not counted in `rows`."""

    id: str
    name: str
    owner: str
    rows: int
    retired_rows: int
    key_column: str | None
    frozen: bool
    created_at: datetime
    columns: list[ColumnView]

    @classmethod
    def of(cls, dataset: Dataset) -> DatasetView:
        return cls(
            id=dataset.id,
            name=dataset.name,
            owner=dataset.owner,
            rows=dataset.rows - dataset.retired,
            retired_rows=dataset.retired,
            key_column=dataset.key_column,
            frozen=dataset.frozen,
            created_at=dataset.created_at,
            columns=[ColumnView.of(column) for column in dataset.columns],
        )


class DatasetList(BaseModel):
    """A page of data sets; `next_cursor` is null on the last."""

    datasets: list[DatasetView]
    next_cursor: str | None


class RetireForm(Form):
    """Rows to withdraw: by ordinal, or by the value of the data set's key column."""

    rows: list[Annotated[int, Field(ge=0, le=2**62)]] | None = Field(None, min_length=1)
    keys: list[Annotated[str, Field(max_length=10_000)]] | None = Field(None, min_length=1)


class RetiredView(BaseModel):
    """How many rows were withdrawn now, and how many remain."""

    retired_now: int
    rows: int


class AppendedView(BaseModel):
    """The ordinals that the appended rows got: from `first_row` on."""

    first_row: int
    appended: int
    rows: int


class LevelForm(Form):
    """A level, by its noise variance v or by its privacy e = v/(1+v)."""

    noise_variance: float | None = Field(
        None, strict=True, description="In units of the data's own variance.", examples=[0.25]
    )
    privacy: float | None = Field(
        None,
        strict=True,
        description="Share of variance no linear attacker recovers, between 0 and 1.",
    )


class LevelView(BaseModel):
    """A level."""

    name: str
    noise_variance: float
    privacy: float
    issued: bool

    @classmethod
    def of(cls, level: Level) -> LevelView:
        return cls.model_validate(level, from_attributes=True)


class LevelList(BaseModel):
    """The levels of a data set, the least perturbed first."""

    levels: list[LevelView]


class GrantForm(Form):
    """What a recipient may have."""

    level: str = Field(max_length=200)
    expires_at: AwareDatetime | None = None
    columns: list[str] | None = Field(None, max_length=10_000)


class GrantView(BaseModel):
    """A grant."""

    dataset: str
    recipient: str
    level: str
    expires_at: datetime | None
    columns: list[str] | None

    @classmethod
    def of(cls, grant: Grant) -> GrantView:
        return cls(
            dataset=grant.dataset,
            recipient=grant.recipient,
            level=grant.level,
            expires_at=grant.expires_at,
            columns=list(grant.columns) if grant.columns is not None else None,
        )


class GrantList(BaseModel):
    """The grants on a data set."""

    grants: list[GrantView]


class RecipientForm(Form):
    """A new caller."""

    name: str = Field(max_length=200, examples=["weather-team"])
    role: Role = Role.RECIPIENT


class NewKeyView(BaseModel):
    """A caller and its new key. The key is shown this once."""

    id: str
    name: str
    role: Role
    key: str

    @classmethod
    def of(cls, new: NewKey) -> NewKeyView:
        return cls(id=new.caller.id, name=new.caller.name, role=new.caller.role, key=new.key)


class RecipientView(BaseModel):
    """A caller, with the public ids of its live keys."""

    id: str
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None
    keys: list[str]

    @classmethod
    def of(cls, record: CallerRecord) -> RecipientView:
        return cls(
            id=record.caller.id,
            name=record.caller.name,
            role=record.caller.role,
            created_at=record.created_at,
            revoked_at=record.revoked_at,
            keys=list(record.keys),
        )


class RecipientList(BaseModel):
    """A page of callers."""

    recipients: list[RecipientView]
    next_cursor: str | None


class LogEntryView(BaseModel):
    """One entry of the audit log."""

    sequence: int
    at: datetime
    caller: str
    action: str
    subject: str
    outcome: str
    request_id: str
    facts: dict[str, str | int | float | bool | None]
    previous_hash: str
    hash: str

    @classmethod
    def of(cls, entry: LogEntry) -> LogEntryView:
        return cls.model_validate(entry, from_attributes=True)


class AuditLogView(BaseModel):
    """A page of the audit log."""

    entries: list[LogEntryView]
    next_cursor: str | None
