"""/v1/datasets: register, show, list, remove; and what is said of columns."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import TypeAdapter, ValidationError

from app.api.dependencies import AfterHere, AskHere, LimitHere, ResourcesHere, encoded_cursor
from app.api.once import Route
from app.api.schemas import ColumnForm, DatasetList, DatasetView
from app.api.tables.incoming import TABLE_BODY, BodyHere
from app.api.tables.reading import read_batches
from app.errors import InvalidParameter
from app.model import ColumnWish, Kind
from app.service import columns, datasets, register
from app.service.kinds import wished_storage

router = APIRouter(prefix="/v1/datasets", tags=["data sets"], route_class=Route)

COLUMN_FORMS: TypeAdapter[dict[str, Kind | ColumnForm]] = TypeAdapter(dict[str, Kind | ColumnForm])


@router.post("", status_code=201, openapi_extra=TABLE_BODY)
def register_dataset(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    body: BodyHere,
    name: Annotated[str, Query(max_length=200)],
    columns: Annotated[
        str | None,
        Query(
            description='JSON: column → kind, or → {"kind", "round_to_integer", "lower", "upper"}.',
            examples=['{"age": "numeric", "city": {"kind": "passthrough"}}'],
        ),
    ] = None,
    key_column: Annotated[
        str | None, Query(description="The identifier column by which rows can be retired.")
    ] = None,
) -> DatasetView:
    """Register a table; the answer says which kind each column got, and why."""
    wishes = _wishes(columns)
    content = (request.headers.get("content-type"), request.headers.get("content-encoding"))
    register.check_name(resources, ask, name)
    with read_batches(
        body, *content, resources.limits, resources.spool_dir, wished=wished_storage(wishes)
    ) as stream:
        dataset = register.register_dataset(
            resources, ask, name, stream, wishes, key_column=key_column
        )
    return DatasetView.of(dataset)


@router.get("")
def list_datasets(
    resources: ResourcesHere, ask: AskHere, after: AfterHere, limit: LimitHere = 100
) -> DatasetList:
    """List data sets: one's own, or those one has a grant for."""
    found = datasets.list_datasets(resources, ask, after=after, limit=limit)
    more = encoded_cursor(found[-1].id) if len(found) == limit else None
    return DatasetList(datasets=[DatasetView.of(one) for one in found], next_cursor=more)


@router.get("/{dataset_id}")
def show_dataset(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> DatasetView:
    """Show a data set."""
    return DatasetView.of(datasets.show_dataset(resources, ask, dataset_id))


@router.put("/{dataset_id}/columns")
def put_columns(
    dataset_id: str,
    form: dict[str, Kind | ColumnForm],
    resources: ResourcesHere,
    ask: AskHere,
) -> DatasetView:
    """Say what columns are, until the first copy exists; columns not named stay as they are."""
    wishes = {name: _wish(said) for name, said in form.items()}
    return DatasetView.of(columns.put_columns(resources, ask, dataset_id, wishes))


@router.delete("/{dataset_id}", status_code=204)
def remove_dataset(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Remove a data set for good: no copy of it can be had again."""
    datasets.remove_dataset(resources, ask, dataset_id)


def _wishes(text: str | None) -> dict[str, ColumnWish]:
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
    return {name: _wish(form) for name, form in forms.items()}


def _wish(said: Kind | ColumnForm) -> ColumnWish:
    return said.wish() if isinstance(said, ColumnForm) else ColumnWish(kind=said)
