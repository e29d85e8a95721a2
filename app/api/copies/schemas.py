"""JSON schemas of copies and histories, and the parameters that select columns and rows of a copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, Field

from app.api.datasets.schemas import FormalGuaranteeView
from app.api.transport.forms import Form
from app.errors import InvalidParameter
from app.model import Column, Copy, HistoryEntry, Kind
from app.service.copies.generation.release import Selection
from app.service.copies.issue import Algorithm


class CopyForm(Form):
    """Copy to issue: a level by name or, for the data set's owner, a noise variance."""

    level: str | None = Field(None, max_length=200, examples=["partners"])
    noise_variance: float | None = Field(
        None, strict=True, description="In units of the data's own variance; for owners."
    )


class BatchForm(Form):
    """Several levels at once, drawn in the order given or from the least perturbed up."""

    levels: list[Annotated[str, Field(max_length=200)]] = Field(min_length=1, max_length=1_000)
    algorithm: Algorithm = Algorithm.PARALLEL


class ColumnPerturbation(StrEnum):
    """Perturbation of a column: noise of its own, or whole records kept or replaced."""

    NOISE = "noise"
    RECORD = "record"


class CopyColumn(BaseModel):
    """A column of a copy. Numbers with noise are multiples of 2^grid_exponent.

    Columns perturbed by `record`, the categories and the numbers that these determine, show a row's
    own values together or those of another row together. Null is a column passed through.
    """

    name: str
    kind: Kind
    perturbation: ColumnPerturbation | None
    grid_exponent: int | None

    @classmethod
    def of(cls, column: Column, copy: Copy) -> Self:
        noise = ColumnPerturbation.NOISE if column.name in copy.grid else None
        return cls(
            name=column.name,
            kind=column.kind,
            perturbation=ColumnPerturbation.RECORD if column.name in copy.records else noise,
            grid_exponent=copy.grid.get(column.name),
        )


class IssuedView(BaseModel):
    """A copy. `content` is where its rows are.

    `privacy` and `noise_variance` are what is promised; `applied_variance` is what is drawn for it in the first rows.
    That, `sequence` and `hash` are null for recipients. `guarantee` is there under formal protection.
    """

    id: str
    dataset: str
    levels: list[str]
    noise_variance: float
    privacy: float
    applied_variance: float | None
    sequence: int | None
    hash: str | None
    issued_at: datetime
    rows: int
    columns: list[CopyColumn]
    guarantee: FormalGuaranteeView | None
    content: str

    @classmethod
    def of(cls, copy: Copy) -> Self:
        return cls(
            id=copy.id,
            dataset=copy.dataset,
            levels=list(copy.levels),
            noise_variance=copy.noise_variance,
            privacy=copy.privacy,
            applied_variance=copy.applied_variance,
            sequence=copy.sequence,
            hash=copy.hash,
            issued_at=copy.issued_at,
            rows=copy.rows,
            columns=[CopyColumn.of(column, copy) for column in copy.columns],
            guarantee=None if copy.guarantee is None else FormalGuaranteeView.of(copy.guarantee),
            content=f"/v1/copies/{copy.id}/content",
        )


class CopyView(IssuedView):
    """A copy with the checksum of its values, null for who cannot download it."""

    checksum: str | None = None


class IssuedList(BaseModel):
    """The copies of a batch, in the order asked."""

    copies: list[IssuedView]


class HistoryEntryView(BaseModel):
    """One draw: the variance promised, its neighbours at that time, and the hash that keys it."""

    sequence: int
    copy_id: str
    noise_variance: float
    lower: float | None
    upper: float | None
    recipe: str
    previous_hash: str
    hash: str
    at: datetime
    principal: str

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
            principal=entry.principal,
        )


class HistoryView(BaseModel):
    """A page of a history."""

    entries: list[HistoryEntryView]
    next_cursor: str | None


ROW_RANGE = re.compile(r"(\d{0,18}):(\d{0,18})")


def selection(columns: Sequence[str] | None, rows: str | None) -> Selection:
    """The selection; InvalidParameter for rows that are none."""
    chosen = None if columns is None else tuple(columns)
    if rows is None:
        return Selection(chosen)
    match = ROW_RANGE.fullmatch(rows)
    if match is None:
        raise InvalidParameter("rows must look like 0:1000", parameter="rows")
    first, last = match.groups()
    return Selection(chosen, int(first or 0), int(last) if last else None)
