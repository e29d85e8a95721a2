"""/delta-sharing/: shares, schemas and tables by the Delta Sharing protocol (delta-io/delta-sharing, PROTOCOL.md).

Its addresses are not in our OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, Field

from app.api.delta import protocol
from app.api.delta.protocol import CAPABILITIES, PREFIX, FileIdsDep, FormatDep, PageDep, page_body
from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of, key_id_of
from app.api.transport.endpoints.route import Route
from app.errors import InvalidParameter
from app.model import Binding
from app.service.sharing.delta import shared_tables, shares
from app.service.sharing.delta.shares import Share, SharedTable

VERSION = "delta-table-version"
LINES = "application/x-ndjson; charset=utf-8"
TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"


class DeltaRoute(Route):
    """Route that also accepts keys of profiles and transfers; unknown parameters of later clients are ignored."""

    bindings = frozenset(Binding)
    takes_unknown = True


router = APIRouter(prefix=PREFIX.rstrip("/"), route_class=DeltaRoute, include_in_schema=False)


class QueryForm(BaseModel):
    """Query of a table; other hints are the client's to apply."""

    limitHint: int | None = Field(None, ge=0)  # noqa: N815
    version: int | None = Field(None, ge=0)
    timestamp: str | None = None
    startingVersion: int | None = None  # noqa: N815


@router.get("/shares")
def list_shares(resources: ResourcesDep, context: ContextDep, page: PageDep) -> dict[str, Any]:
    """List the shares of the principal."""
    found, token = page.of(shares.list_shares, resources, context, place="name")
    return page_body([_share(one) for one in found], token)


@router.get("/shares/{share}")
def show_share(share: str, resources: ResourcesDep, context: ContextDep) -> dict[str, Any]:
    """Show one share."""
    return {"share": _share(shares.show_share(resources, context, share))}


@router.get("/shares/{share}/schemas")
def list_schemas(
    share: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> dict[str, Any]:
    """List the schemas of a share."""
    found, token = page.of(shares.list_schemas, resources, context, share, place="dataset")
    return page_body([{"name": one.name, "share": one.share} for one in found], token)


@router.get("/shares/{share}/schemas/{schema}/tables")
def list_tables(
    share: str, schema: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> dict[str, Any]:
    """List the tables of a schema."""
    return _tables(*page.of(shares.list_tables, resources, context, share, schema, place="place"))


@router.get("/shares/{share}/all-tables")
def list_all_tables(
    share: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> dict[str, Any]:
    """List the tables of a share."""
    return _tables(*page.of(shares.list_tables, resources, context, share, None, place="place"))


@router.get(TABLE + "/version", response_class=Response)
@router.get(TABLE, response_class=Response)
def table_version(
    share: str,
    schema: str,
    table: str,
    resources: ResourcesDep,
    context: ContextDep,
    startingTimestamp: Annotated[AwareDatetime | None, Query()] = None,
) -> Response:
    """The version that a table has; the only one that is kept is the first after any moment."""
    state, _ = shared_tables.table_state(resources, context, share, schema, table)
    if startingTimestamp is not None and startingTimestamp > datetime.now(UTC):
        raise InvalidParameter(
            "startingTimestamp lies after the newest version", parameter="startingTimestamp"
        )
    return Response(headers={VERSION: str(state.version)})


@router.get(TABLE + "/metadata", response_class=Response)
def table_metadata(
    share: str,
    schema: str,
    table: str,
    resources: ResourcesDep,
    context: ContextDep,
    wanted: FormatDep,
    version: Annotated[int | None, Query()] = None,
    timestamp: Annotated[str | None, Query()] = None,
) -> Response:
    """The columns of a table."""
    state, _ = shared_tables.table_state(resources, context, share, schema, table)
    if timestamp is not None:
        raise shared_tables.not_kept(state)
    shared_tables.require_present(state, version)
    return _lines(protocol.lines(protocol.head(state, wanted)), state.version, wanted)


@router.post(TABLE + "/query", response_class=Response)
def query_table(
    share: str,
    schema: str,
    table: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    wanted: FormatDep,
    file_ids: FileIdsDep,
    form: Annotated[QueryForm, Body()] = QueryForm(limitHint=None, version=None),  # noqa: B008
) -> Response:
    """The files of a table, with addresses that need no key."""
    if form.timestamp is not None or form.startingVersion is not None:
        state, _ = shared_tables.table_state(resources, context, share, schema, table)
        raise shared_tables.not_kept(state)
    state, signed = shared_tables.query_table(
        resources,
        context,
        share,
        schema,
        table,
        key_id=key_id_of(request),
        enough_rows=form.limitHint,
        version=form.version,
    )
    actions = [*protocol.head(state, wanted), *protocol.files(signed, wanted, base_of(request))]
    return _lines(protocol.lines(iter(actions)), state.version, wanted, file_ids)


@router.get(TABLE + "/changes")
def table_changes(
    share: str, schema: str, table: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Refuse: changes between versions are not stored."""
    state, _ = shared_tables.table_state(resources, context, share, schema, table)
    raise shared_tables.not_kept(state)


def _lines(
    content: bytes, version: int, wanted: str, also: dict[str, str] | None = None
) -> Response:
    headers = {
        VERSION: str(version),
        CAPABILITIES: f"responseformat={wanted}",
        # An address of a file is as good as a key while it holds.
        "Cache-Control": "no-store",
        **(also or {}),
    }
    return Response(content, headers=headers, media_type=LINES)


def _share(share: Share) -> dict[str, Any]:
    return {"name": share.name, "id": share.name, "comment": share.comment}


def _tables(found: Sequence[SharedTable], token: str | None) -> dict[str, Any]:
    items = [{"name": one.name, "schema": one.schema, "share": one.share} for one in found]
    return page_body(items, token)
