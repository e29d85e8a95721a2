"""The JSON forms of callers, keys, grants and the log."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, BaseModel, Field

from app.api.transport.forms import Form
from app.model import Grant, LogEntry, Role
from app.service.sharing.recipients import NewKey
from app.store.database.sharing.callers import CallerRecord


class GrantForm(Form):
    """What a recipient may have."""

    level: str = Field(max_length=200)
    expires_at: AwareDatetime | None = None
    columns: list[str] | None = Field(None, max_length=10_000)


class GrantList(BaseModel):
    """The grants on a data set."""

    grants: list[Grant]


class RecipientForm(Form):
    """A new caller."""

    name: str = Field(max_length=200, examples=["weather-team"])
    role: Role = Role.RECIPIENT


class ParticipantForm(Form):
    """Who a recipient is in a data space; null when it is in none."""

    participant_id: str | None = Field(max_length=500, examples=["did:web:newspaper.example"])


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
    participant_id: str | None

    @classmethod
    def of(cls, record: CallerRecord) -> RecipientView:
        return cls(
            id=record.caller.id,
            name=record.caller.name,
            role=record.caller.role,
            created_at=record.created_at,
            revoked_at=record.revoked_at,
            keys=list(record.keys),
            participant_id=record.participant_id,
        )


class RecipientList(BaseModel):
    """A page of callers."""

    recipients: list[RecipientView]
    next_cursor: str | None


class AuditLogView(BaseModel):
    """A page of the audit log."""

    entries: list[LogEntry]
    next_cursor: str | None
