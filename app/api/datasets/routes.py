"""/v1/datasets: register, show, list, describe, remove; columns, rows and levels of a data set.

A table is sent, or named by where it lies: `{"source": "folder/*.parquet"}`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import TypeAdapter, ValidationError

from app.api.datasets.schemas import (
    AdvisedLevelView,
    AllowOverlapDep,
    AllowVersionsDep,
    AppendedView,
    ClosedView,
    ColumnForm,
    DatasetList,
    DatasetView,
    DescriptionForm,
    LedgerView,
    LevelForm,
    LevelList,
    LevelView,
    NoticeView,
    PendingView,
    ReadAsView,
    RegisteredView,
    RetiredView,
    RetireForm,
    SourceForm,
)
from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep, can_be_long
from app.api.transport.endpoints.route import Route
from app.api.transport.incoming.tables import TABLE_BODY, BodyDep, ReadingDep
from app.api.transport.paging import PageDep
from app.errors import InvalidParameter
from app.model import ColumnOverrides, Kind, Protection
from app.service.context import RequestContext
from app.service.copies import ledger, levels, removal
from app.service.datasets import registry
from app.service.datasets.protection.declaration import declared_kinds, formal_options
from app.service.datasets.registration import columns, register
from app.service.datasets.registration.server_files import imported
from app.service.datasets.rows import changes as rows
from app.service.datasets.rows import pending_rows
from app.service.resources import Resources
from app.tables.bodies.streams import ByteStream, PeekedStream
from app.tables.columns import storage_overrides
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import ReadOptions, TableStream

LONGEST_FORM = 16_384


def _with_source(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body documentation of a route that takes a table or a source."""
    content = dict(body["requestBody"]["content"])
    table = content["application/json"]["schema"]
    content["application/json"] = {"schema": {"anyOf": [table, SourceForm.model_json_schema()]}}
    return {"requestBody": {**body["requestBody"], "content": content}}


TABLE_OR_SOURCE = _with_source(TABLE_BODY)

router = APIRouter(prefix="/v1/datasets", tags=["data sets"], route_class=Route)

COLUMN_FORMS: TypeAdapter[dict[str, Kind | ColumnForm]] = TypeAdapter(dict[str, Kind | ColumnForm])


@router.post(
    "",
    status_code=201,
    openapi_extra=TABLE_OR_SOURCE,
    responses={200: {"model": RegisteredView, "description": "What a dry run found."}},
)
@can_be_long(reading=900)
def register_dataset(
    request: Request,
    response: Response,
    resources: ResourcesDep,
    context: ContextDep,
    body: BodyDep,
    reading: ReadingDep,
    progress: ProgressDep,
    name: Annotated[str, Query(max_length=200)],
    columns: Annotated[
        str | None,
        Query(
            description='JSON: column → kind, or → {"kind", "round_to_integer", "lower", "upper", "scale", "scale_unit"}.',
            examples=['{"age": "numeric", "city": {"kind": "passthrough"}}'],
        ),
    ] = None,
    key_column: Annotated[
        str | None,
        Query(description="Identifier column by which rows are retired and duplicates found."),
    ] = None,
    protection: Annotated[
        Protection,
        Query(description="`formal` for differential privacy of rows by declared columns."),
    ] = Protection.MEASURED,
    least_variance: Annotated[
        float | None,
        Query(gt=0, description="No copy has less noise than this (formal protection)."),
    ] = None,
    person_rows: Annotated[
        int | None,
        Query(ge=1, le=10**6, description="Rows that one key has at most (formal protection)."),
    ] = None,
    allow_versions: AllowVersionsDep = False,
    allow_overlap: AllowOverlapDep = False,
    dry_run: Annotated[
        bool, Query(description="Say all that a registration would, and store nothing.")
    ] = False,
) -> RegisteredView:
    """Register a table; the answer says how it was read, which kind each column got, and why."""
    formal = formal_options(protection, least_variance, person_rows)
    overrides = _overrides(columns)
    if formal is not None:
        overrides = declared_kinds(overrides)
    if not dry_run:
        register.check_name(resources, context, name)
    with incoming_table(
        request,
        resources,
        context,
        body,
        replace(reading, storage=storage_overrides(overrides, key_column)),
    ) as stream:
        if dry_run:
            response.status_code = 200
            found = register.try_table(
                resources,
                context,
                name,
                stream,
                overrides,
                key_column=key_column,
                formal=formal,
                progress=progress,
            )
            return RegisteredView.of(*found)
        dataset, report, notices = register.register_dataset(
            resources,
            context,
            name,
            stream,
            overrides,
            key_column=key_column,
            formal=formal,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            progress=progress,
        )
    return RegisteredView.of(dataset, report, notices)


@router.get("")
def list_datasets(resources: ResourcesDep, context: ContextDep, page: PageDep) -> DatasetList:
    """List data sets that the principal owns or has a grant for."""
    found, cursor = page.of(registry.list_datasets, resources, context)
    return DatasetList(datasets=[DatasetView.of(one) for one in found], next_cursor=cursor)


@router.get("/{dataset_id}")
def show_dataset(
    dataset_id: str, response: Response, resources: ResourcesDep, context: ContextDep
) -> DatasetView:
    """Show a data set; its owner gets an ETag, by which a change names what it knows (`If-Match`)."""
    dataset, revision = registry.show_revision(resources, context, dataset_id)
    if revision is not None:
        response.headers["ETag"] = f'"{revision}"'
    return DatasetView.of(dataset)


@router.patch("/{dataset_id}")
def describe_dataset(
    dataset_id: str, form: DescriptionForm, resources: ResourcesDep, context: ContextDep
) -> DatasetView:
    """Set the description and the options of a data set."""
    said = registry.describe_dataset(
        resources,
        context,
        dataset_id,
        description=form.description,
        listed=form.listed,
        part_rows=form.part_rows,
        publish_noise=form.publish_noise,
    )
    return DatasetView.of(said)


@router.put("/{dataset_id}/columns")
def put_columns(
    dataset_id: str,
    form: dict[str, Kind | ColumnForm],
    resources: ResourcesDep,
    context: ContextDep,
) -> DatasetView:
    """Set the kinds of columns, until the first copy exists. Columns not named keep theirs."""
    overrides = {name: _override(said) for name, said in form.items()}
    return DatasetView.of(columns.put_columns(resources, context, dataset_id, overrides))


@router.get("/{dataset_id}/ledger")
def show_ledger(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> LedgerView:
    """Show the privacy loss of a row and a person by issued copies, under formal protection.

    For the data set's owner, auditors and administrators.
    """
    return LedgerView.of(ledger.read_ledger(resources, context, dataset_id))


@router.delete("/{dataset_id}", status_code=204)
def remove_dataset(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> None:
    """Remove a data set for good: no copy of it can be had again."""
    removal.remove_dataset(resources, context, dataset_id)


def _overrides(text: str | None) -> dict[str, ColumnOverrides]:
    if text is None:
        return {}
    try:
        forms = COLUMN_FORMS.validate_json(text)
    except ValidationError:
        raise InvalidParameter(
            'columns must be JSON such as {"age": "numeric", "note": {"kind": "identifier"}};'
            f" the kinds are {', '.join(Kind)}",
            parameter="columns",
        ) from None
    return {name: _override(form) for name, form in forms.items()}


def _override(said: Kind | ColumnForm) -> ColumnOverrides:
    return said.overrides() if isinstance(said, ColumnForm) else ColumnOverrides(kind=said)


def incoming_table(
    request: Request,
    resources: Resources,
    context: RequestContext,
    body: ByteStream,
    options: ReadOptions,
) -> TableStream:
    """The table of a request, sent or imported."""
    content_type = request.headers.get("content-type")
    if (content_type or "").partition(";")[0].strip().lower() == "application/json":
        head = body.read(LONGEST_FORM)
        source = _source(head)
        if source is not None:
            return imported(resources, context, source, options)
        body = PeekedStream(head, body)
    return open_table(
        TableSource(body, content_type, request.headers.get("content-encoding")),
        options,
        resources.limits,
        resources.spool_dir,
    )


def _source(head: bytes) -> str | None:
    """The source that the body names; None when it is a table itself, or not JSON."""
    try:
        said: Any = orjson.loads(head)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(said, dict) or "source" not in said or "columns" in said:
        return None
    try:
        return SourceForm.model_validate(said, strict=True).source
    except ValidationError:
        raise InvalidParameter(
            'an import is {"source": "…"} and nothing beside it', parameter="source"
        ) from None


levels_router = APIRouter(
    prefix="/v1/datasets/{dataset_id}/levels", tags=["levels"], route_class=Route
)


@levels_router.put("/{level}")
def put_level(
    dataset_id: str, level: str, form: LevelForm, resources: ResourcesDep, context: ContextDep
) -> AdvisedLevelView:
    """Define a level, or change it while no copy of it was issued; the answer says what it costs."""
    found, advice, notices = levels.put_advised_level(
        resources,
        context,
        dataset_id,
        level,
        noise_variance=form.noise_variance,
        privacy=form.privacy,
        offered=form.offered,
        epsilon=form.epsilon,
        delta=form.delta,
        mu=form.mu,
        rho=form.rho,
    )
    return AdvisedLevelView(
        **LevelView.of(found).model_dump(),
        advice=advice,
        warnings=[NoticeView.of(notice) for notice in notices],
    )


@levels_router.delete("/{level}", status_code=204)
def remove_level(dataset_id: str, level: str, resources: ResourcesDep, context: ContextDep) -> None:
    """Remove a level while nobody has its copy and no grant names it."""
    levels.remove_level(resources, context, dataset_id, level)


@levels_router.get("")
def list_levels(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> LevelList:
    """List the levels of a data set; a recipient sees the one it was granted."""
    found = levels.list_levels(resources, context, dataset_id)
    return LevelList(levels=[LevelView.of(level) for level in found])


rows_router = APIRouter(prefix="/v1/datasets/{dataset_id}/rows", tags=["rows"], route_class=Route)


@rows_router.post("", status_code=201, openapi_extra=TABLE_OR_SOURCE)
@can_be_long(reading=900)
def append_rows(
    dataset_id: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    body: BodyDep,
    options: ReadingDep,
    progress: ProgressDep,
    allow_versions: AllowVersionsDep = False,
    allow_overlap: AllowOverlapDep = False,
) -> AppendedView:
    """Append rows; the table must have the data set's columns. After the first copy few rows are pending until more have come."""
    options = rows.expected_options(resources, context, dataset_id, options)
    with incoming_table(request, resources, context, body, options) as stream:
        appended = rows.append_rows(
            resources,
            context,
            dataset_id,
            stream,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            progress=progress,
        )
    return AppendedView(
        first_row=appended.first_row,
        appended=appended.rows,
        pending=appended.batch,
        rows=appended.dataset.released_rows,
        pending_rows=appended.dataset.pending_rows,
        read_as=ReadAsView.of(stream.read_as),
        warnings=[NoticeView.of(notice) for notice in appended.notices],
    )


@rows_router.get("/pending")
def list_pending_rows(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> PendingView:
    """List the rows that are pending until they form a part, and say how many more they need."""
    return PendingView.of(pending_rows.list_pending(resources, context, dataset_id))


@rows_router.delete("/pending/{batch_id}", status_code=204)
def withdraw_pending_rows(
    dataset_id: str, batch_id: str, resources: ResourcesDep, context: ContextDep
) -> None:
    """Withdraw a batch of pending rows: they were in no copy, and nothing of them remains."""
    pending_rows.withdraw_pending(resources, context, dataset_id, batch_id)


@rows_router.post("/close", status_code=201)
def close_pending_rows(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> ClosedView:
    """Form a part of all pending rows now; the promise about shares of variance is then measured on these few."""
    part, dataset, notices = pending_rows.close_pending(resources, context, dataset_id)
    return ClosedView(
        first_row=part.first_row,
        closed=part.rows,
        rows=dataset.released_rows,
        warnings=[NoticeView.of(notice) for notice in notices],
    )


@rows_router.delete("")
def retire_rows(
    dataset_id: str, form: RetireForm, resources: ResourcesDep, context: ContextDep
) -> RetiredView:
    """Withdraw rows by ordinal or by key; later downloads leave them out."""
    retired, dataset = rows.retire_rows(
        resources, context, dataset_id, rows=form.rows, keys=form.keys
    )
    return RetiredView(retired_now=retired, rows=dataset.released_rows)
