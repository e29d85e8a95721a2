"""JSON schemas of data sets, their columns, rows and levels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field, WithJsonSchema

from app.api.transport.forms import DataForm, Form, View
from app.model import Column, ColumnOverrides, Dataset, Kind, Notice, Protection, Scale, Storage
from app.service.copies.advice import Advice
from app.service.datasets.registration.report import ColumnReport, TableReport
from app.service.datasets.rows.pending_rows import PendingRows
from app.tables.stream import Decimal, Header

AllowVersionsDep = Annotated[
    bool,
    Query(
        description="Accept keys that have a row already, and without a key column rows: k versions of a row leave v/k"
        " of a level's variance."
    ),
]
AllowOverlapDep = Annotated[
    bool,
    Query(description="Accept that most of the rows are in another data set too."),
]


Bound = Annotated[float, Field(allow_inf_nan=False)] | date | None


class ColumnForm(Form):
    """Kind and options of a column, set by the owner."""

    kind: Kind | None = None
    round_to_integer: bool | None = Field(
        None, description="Release whole numbers (numeric columns)."
    )
    lower: Bound = Field(
        None,
        description="Nothing below this leaves (numbers and dates); null forgets a bound.",
    )
    upper: Bound = Field(
        None,
        description="Nothing above this leaves (numbers and dates); null forgets a bound.",
    )
    storage: Storage | None = Field(
        None, description="How its values are kept: number or text, exactly as written."
    )
    categories: list[Annotated[str, Field(min_length=1, max_length=10_000)]] | None = Field(
        None,
        description="Declared values of a categorical column, or the one value of a public constant (formal protection).",
        max_length=10_000,
    )
    other: str | None = Field(
        None, description="Which declared value stands for values outside the list."
    )
    missing_as: str | None = Field(
        None, description="Which declared value stands for missing cells; null for `other`."
    )
    weight: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="w of the noise variance w·(upper - lower)²·v (formal protection), 1 unless said.",
    )

    scale: Scale | None = Field(
        None,
        description="log: noise in octaves, for skewed numeric columns; linear: noise in the column's unit.",
    )
    scale_unit: float | None = Field(
        None,
        description="Of the log scale, 1 by default: below it the scale is linear.",
        allow_inf_nan=False,
    )

    def overrides(self) -> ColumnOverrides:
        said = self.model_fields_set
        lower = -math.inf if self.lower is None and "lower" in said else self.lower
        upper = math.inf if self.upper is None and "upper" in said else self.upper
        return ColumnOverrides(
            self.kind,
            self.round_to_integer,
            lower,
            upper,
            self.storage,
            None if self.categories is None else tuple(self.categories),
            self.other,
            self.missing_as,
            self.weight,
            self.scale,
            self.scale_unit,
        )


class ColumnView(View):
    """A column and why it has its kind; that, `missing` and `integer` are for those who answer for the data set."""

    name: str
    kind: Kind
    reason: str
    missing: int | None
    integer: bool | None
    round_to_integer: bool
    lower: float | None = Field(
        description="Of a date, days since 1970-01-01; of a moment, seconds."
    )
    upper: float | None
    categories: list[str] | None
    other: str | None
    missing_as: str | None
    weight: float
    scale: Scale
    scale_unit: float | None


class VersionsView(View):
    """Rows of the most repeated key, and the privacy that so many versions leave at each level."""

    most: int
    privacy_left: dict[str, float]


class NoticeView(View):
    """Notice: a sentence, and its figures if it has some."""

    type: str
    detail: str
    share: float | None
    dataset: str | None
    column: str | None


class DatasetView(BaseModel):
    """A data set; `rows` counts what a copy has: not the rows retired, nor those pending."""

    id: str
    name: str
    description: str
    listed: bool = Field(description="Whether others may find it and ask for a copy.")
    owner: str
    rows: int
    retired_rows: int
    pending_rows: int
    part_rows: int = Field(
        description="Rows that a part appended after the first copy has at least; 0 where none is set."
    )
    publish_noise: bool = Field(description="Whether who may have a copy may have its noise law.")
    protection: Protection
    least_variance: float | None = Field(
        description="No copy has less noise; null without such a cap (formal protection)."
    )
    person_rows: int = Field(description="Rows that one key has at most (formal protection).")
    key_column: str | None
    frozen: bool
    created_at: datetime
    columns: list[ColumnView]
    versions: VersionsView | None

    @classmethod
    def of(cls, dataset: Dataset) -> DatasetView:
        return cls(
            id=dataset.id,
            name=dataset.name,
            description=dataset.description,
            listed=dataset.listed,
            owner=dataset.owner,
            rows=dataset.released_rows,
            retired_rows=dataset.retired,
            pending_rows=dataset.pending_rows,
            part_rows=dataset.part_rows,
            publish_noise=dataset.publish_noise,
            protection=dataset.protection,
            least_variance=dataset.least_variance,
            person_rows=dataset.person_rows,
            key_column=dataset.key_column,
            frozen=dataset.frozen,
            created_at=dataset.created_at,
            columns=[ColumnView.of(column) for column in dataset.columns],
            versions=None if dataset.versions is None else VersionsView.of(dataset.versions),
        )


class FrequentView(BaseModel):
    """A value and its number of rows."""

    value: str
    rows: int


class ProposalView(BaseModel):
    """Proposal to the owner: a parameter with its value, or a change of the table itself."""

    parameter: str
    value: Annotated[
        str | dict[str, dict[str, bool | float | str | list[str]]] | None,
        # Of nested alternatives openapi-generator makes Java that does not compile.
        WithJsonSchema({"description": "A text, or columns with their overrides, or null."}),
    ]
    reason: str


class ColumnReportView(ColumnView):
    """Profile of a column, shown to the owner in this answer and not stored."""

    distinct: int | None = Field(description="Different values; null when they are too many.")
    smallest: float | str | None
    largest: float | str | None
    mean: float | str | None
    frequent: list[FrequentView]
    examples: list[str]
    warnings: list[str]
    proposals: list[ProposalView]


class ReadAsView(View):
    """Detected format of the table; null where its format has no such property."""

    format: str
    encoding: str | None
    delimiter: str | None
    decimal: Decimal | None
    header: Header | None
    sheet: str | None
    missing: list[str]


class RegisteredView(BaseModel):
    """A table as it was read; `id` is null in a dry run, of which nothing is stored."""

    id: str | None
    name: str
    description: str
    listed: bool
    owner: str
    rows: int
    retired_rows: int
    pending_rows: int
    part_rows: int = Field(
        description="Rows that a part appended after the first copy has at least; 0 where none is set."
    )
    publish_noise: bool = Field(description="Whether who may have a copy may have its noise law.")
    protection: Protection
    least_variance: float | None = Field(
        description="No copy has less noise; null without such a cap (formal protection)."
    )
    person_rows: int = Field(description="Rows that one key has at most (formal protection).")
    key_column: str | None
    frozen: bool
    created_at: datetime
    read_as: ReadAsView
    columns: list[ColumnReportView]
    versions: VersionsView | None
    warnings: list[NoticeView]

    @classmethod
    def of(
        cls, dataset: Dataset, report: TableReport, notices: Iterable[Notice] = ()
    ) -> RegisteredView:
        return cls(
            versions=None if dataset.versions is None else VersionsView.of(dataset.versions),
            warnings=[NoticeView.of(notice) for notice in notices],
            id=dataset.id or None,
            name=dataset.name,
            description=dataset.description,
            listed=dataset.listed,
            owner=dataset.owner,
            rows=dataset.released_rows,
            retired_rows=dataset.retired,
            pending_rows=dataset.pending_rows,
            part_rows=dataset.part_rows,
            publish_noise=dataset.publish_noise,
            protection=dataset.protection,
            least_variance=dataset.least_variance,
            person_rows=dataset.person_rows,
            key_column=dataset.key_column,
            frozen=dataset.frozen,
            created_at=dataset.created_at,
            read_as=ReadAsView.of(report.read_as),
            columns=[_seen(column, report.columns[column.name]) for column in dataset.columns],
        )


def _seen(column: Column, seen: ColumnReport) -> ColumnReportView:
    said = asdict(seen)
    said["frequent"] = [FrequentView(value=value, rows=rows) for value, rows in seen.frequent]
    return ColumnReportView.model_validate({**ColumnView.of(column).model_dump(), **said})


class DatasetList(BaseModel):
    """A page of data sets; `next_cursor` is null on the last."""

    datasets: list[DatasetView]
    next_cursor: str | None


class DescriptionForm(Form):
    """Description and options of a data set; members left out stay unchanged."""

    description: str | None = Field(None, max_length=20_000)
    listed: bool | None = Field(None, description="Whether others may find it and ask for a copy.")
    part_rows: int | None = Field(
        None,
        ge=0,
        le=10**9,
        description="Rows that a part appended after the first copy has at least; 0 for no more than noise needs.",
    )
    publish_noise: bool | None = Field(
        None, description="Whether who may have a copy may have its noise law."
    )


class RetireForm(DataForm):
    """Rows to withdraw: by ordinal, or by the value of the data set's key column."""

    rows: list[Annotated[int, Field(ge=0, le=2**62)]] | None = Field(
        None, min_length=1, fail_fast=True
    )
    keys: list[Annotated[str, Field(max_length=10_000)]] | None = Field(
        None, min_length=1, fail_fast=True
    )


class RetiredView(BaseModel):
    """How many rows were withdrawn now, and how many remain."""

    retired_now: int
    rows: int


class AppendedView(BaseModel):
    """Ordinals of the appended rows, from `first_row` on; or the name of their batch while they are pending."""

    first_row: int | None
    appended: int
    pending: str | None
    rows: int
    pending_rows: int
    read_as: ReadAsView
    warnings: list[NoticeView]


class PendingBatchView(BaseModel):
    """Rows of one append that are pending."""

    id: str
    rows: int
    appended_at: datetime


class PendingView(BaseModel):
    """Pending rows. They form a part once every numeric column that they have at all has `values_needed` values."""

    batches: list[PendingBatchView]
    rows: int
    values_needed: int
    fewest_values: int
    rows_needed: int = Field(description="The owner's own minimum, 0 for none.")

    @classmethod
    def of(cls, found: PendingRows) -> PendingView:
        return cls(
            batches=[
                PendingBatchView(id=one.id, rows=one.kept_rows, appended_at=one.appended_at)
                for one in found.batches
            ],
            rows=found.rows,
            values_needed=found.values_needed,
            fewest_values=found.fewest_values,
            rows_needed=found.rows_needed,
        )


class ClosedView(BaseModel):
    """Ordinals of the former pending rows, from `first_row` on."""

    first_row: int
    closed: int
    rows: int
    warnings: list[NoticeView]


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
    offered: bool | None = Field(
        None, description="Whether those who find the data set may ask for this level."
    )
    epsilon: float | None = Field(
        None, gt=0, le=100, description="ε of whole rows, with `delta` (formal protection)."
    )
    delta: float | None = Field(
        None, gt=0, lt=1, description="δ of whole rows, 10⁻⁶ unless said (formal protection)."
    )
    mu: float | None = Field(
        None, gt=0, le=100, description="μ of Gaussian differential privacy (formal protection)."
    )
    rho: float | None = Field(
        None, gt=0, le=1_000, description="ρ of zero-concentrated privacy (formal protection)."
    )


class CellGuaranteeView(View):
    """Differential privacy of one column of a row."""

    column: str
    mu: float
    rho: float
    epsilon: float
    delta: float
    standard_deviation: float | None = Field(
        description="Of a number's noise, in the column's unit; on the log scale in doublings."
    )
    kept_share: float | None = Field(
        description="Chance that a category is shown without having been drawn."
    )


class FormalGuaranteeView(View):
    """Differential privacy of whole rows against any holder of this copy and all noisier ones."""

    mu: float
    rho: float
    epsilon: float | None = Field(
        description="At `delta`; null where it is too large to be counted."
    )
    delta: float
    certainty: float = Field(
        description="How often the best guess which of two rows it was is right at most."
    )
    cells: list[CellGuaranteeView]
    sentence: str
    unit: str
    neighbours: str


class LevelView(View):
    """A level."""

    name: str
    noise_variance: float
    privacy: float
    issued: bool
    offered: bool
    guarantee: FormalGuaranteeView | None = Field(
        description="Differential privacy of the level (formal protection)."
    )


class AdvisedLevelView(LevelView):
    """A level, with advice for the owner; null while nothing of the data set can be released, of which `warnings`
    say why."""

    advice: Advice | None
    warnings: list[NoticeView]


class LevelList(BaseModel):
    """The levels of a data set, the least perturbed first."""

    levels: list[LevelView]


class LedgerEntryView(View):
    """Privacy loss of a row and of a person by the least perturbed copy of a data set."""

    dataset: str
    noise_variance: float | None = Field(description="Of that copy; null before the first.")
    least_variance: float | None
    mu: float
    rho: float
    person_rows: int
    person_mu: float
    person_rho: float


class LedgerView(View):
    """Privacy loss of a person by copies of this data set and of the owner's others with the same key column."""

    key_column: str | None
    entries: list[LedgerEntryView]
    mu: float
    rho: float
    epsilon: float = Field(description="At `delta`, by μ.")
    delta: float


class SourceForm(Form):
    """Source of an import: a file, a folder, or a pattern of files, below an allowed root."""

    source: str = Field(max_length=4_000, examples=["s3://bucket/people/*.parquet"])
