"""The JSON forms of copies and histories."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import BaseModel, Field

from app.api.schemas import Form
from app.model import Copy, HistoryEntry, Kind
from app.service.issue import Algorithm


class CopyForm(Form):
    """Which copy: a level by name or, for the data set's owner, a noise variance."""

    level: str | None = Field(None, max_length=200, examples=["partners"])
    noise_variance: float | None = Field(
        None, strict=True, description="In units of the data's own variance; for owners."
    )


class BatchForm(Form):
    """Several levels at once, drawn in the order given or from the least perturbed up."""

    levels: list[Annotated[str, Field(max_length=200)]] = Field(min_length=1, max_length=1_000)
    algorithm: Algorithm = Algorithm.PARALLEL


class CopyColumn(BaseModel):
    """A column of a copy; its released numbers are multiples of 2^grid_exponent."""

    name: str
    kind: Kind
    grid_exponent: int | None


class IssuedView(BaseModel):
    """A copy. `content` is where its rows are."""

    id: str
    dataset: str
    levels: list[str]
    noise_variance: float
    privacy: float
    sequence: int
    hash: str
    issued_at: datetime
    rows: int
    columns: list[CopyColumn]
    content: str

    @classmethod
    def of(cls, copy: Copy) -> Self:
        return cls(
            id=copy.id,
            dataset=copy.dataset,
            levels=list(copy.levels),
            noise_variance=copy.noise_variance,
            privacy=copy.privacy,
            sequence=copy.sequence,
            hash=copy.hash,
            issued_at=copy.issued_at,
            rows=copy.rows,
            columns=[
                CopyColumn(
                    name=column.name, kind=column.kind, grid_exponent=copy.grid.get(column.name)
                )
                for column in copy.columns
            ],
            content=f"/v1/copies/{copy.id}/content",
        )


class CopyView(IssuedView):
    """A copy with the checksum of its values, null for who cannot download it."""

    checksum: str | None = None


class IssuedList(BaseModel):
    """The copies of a batch, in the order asked."""

    copies: list[IssuedView]


class HistoryEntryView(BaseModel):
    """One draw: the variance, its neighbours at that time, and the hash that keys it."""

    sequence: int
    copy_id: str
    noise_variance: float
    lower: float | None
    upper: float | None
    recipe: str
    previous_hash: str
    hash: str
    at: datetime
    caller: str

    @classmethod
    def of(cls, entry: HistoryEntry) -> Self:
        return cls(
            sequence=entry.sequence,
            copy_id=entry.copy,
            noise_variance=entry.noise_variance,
            lower=entry.lower,
            upper=entry.upper,
            recipe=entry.recipe,
            previous_hash=entry.previous_hash,
            hash=entry.hash,
            at=entry.at,
            caller=entry.caller,
        )


class HistoryView(BaseModel):
    """A page of a history."""

    entries: list[HistoryEntryView]
    next_cursor: str | None
