"""JSON schemas of principals, keys, grants and the audit log."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, BaseModel, Field

from app.api.transport.forms import Form
from app.model import Grant, LogEntry, PrincipalRecord, Role
from app.service.sharing.principals import NewKey


class GrantForm(Form):
    """Level, columns and end of a grant."""

    level: str = Field(max_length=200)
    expires_at: AwareDatetime | None = None
    columns: list[str] | None = Field(None, max_length=10_000)


class GrantList(BaseModel):
    """The grants on a data set."""

    grants: list[Grant]


class PrincipalForm(Form):
    """A new principal."""

    name: str = Field(max_length=200, examples=["weather-team"])
    role: Role = Role.RECIPIENT


class ParticipantForm(Form):
    """Participant id of a recipient in a data space; null removes it."""

    participant_id: str | None = Field(max_length=500, examples=["did:web:newspaper.example"])


class NewKeyView(BaseModel):
    """A principal and its new key. The key is shown this once."""

    id: str
    name: str
    role: Role
    key: str

    @classmethod
    def of(cls, new: NewKey) -> NewKeyView:
        principal = new.principal
        return cls(id=principal.id, name=principal.name, role=principal.role, key=new.key)


class PrincipalView(BaseModel):
    """A principal, with the public ids of its live keys."""

    id: str
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None
    keys: list[str]
    participant_id: str | None
    proposed_participant_id: str | None

    @classmethod
    def of(cls, record: PrincipalRecord) -> PrincipalView:
        return cls.model_validate({**vars(record.principal), **vars(record)})


class PrincipalList(BaseModel):
    """A page of principals."""

    principals: list[PrincipalView]
    next_cursor: str | None


class AuditLogView(BaseModel):
    """A page of the audit log."""

    entries: list[LogEntry]
    next_cursor: str | None
