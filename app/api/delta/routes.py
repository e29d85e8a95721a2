"""/delta-sharing/: shares, schemas and tables by the Delta Sharing protocol.

The protocol is documented by those who made it (delta-io/delta-sharing, PROTOCOL.md), so that its
addresses are not in the service's own document. Tables of the past and their changes are not kept.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, Field

from app.api.delta import protocol
from app.api.delta.protocol import CAPABILITIES, PREFIX, FileIdsDep, FormatDep, PageDep, answer
from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of, key_of
from app.api.transport.route import Route
from app.errors import InvalidParameter
from app.model import Binding
from app.service.sharing.delta import listing, reading
from app.service.sharing.delta.listing import Share, SharedSchema, SharedTable
from app.store.database.sharing.principals import public_id

VERSION = "delta-table-version"
LINES = "application/x-ndjson; charset=utf-8"
TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"


class DeltaRoute(Route):
    """A route that keys of profiles and of transfers open; what clients to come will ask for is let be."""

    bindings = frozenset(Binding)
    takes_unknown = True


router = APIRouter(prefix=PREFIX.rstrip("/"), route_class=DeltaRoute, include_in_schema=False)


class QueryForm(BaseModel):
    """What a client wants of a table. Hints that it gives beyond the limit are its own to apply."""

    limitHint: int | None = Field(None, ge=0)  # noqa: N815
    version: int | None = Field(None, ge=0)
    timestamp: str | None = None
    startingVersion: int | None = None  # noqa: N815


@router.get("/shares")
def list_shares(resources: ResourcesDep, context: ContextDep, page: PageDep) -> dict[str, Any]:
    """The shares of the principal."""
    found = listing.list_shares(resources, context, after=page.after, limit=page.limit)
    return answer(found, _share)


@router.get("/shares/{share}")
def show_share(share: str, resources: ResourcesDep, context: ContextDep) -> dict[str, Any]:
    """One share."""
    return {"share": _share(listing.show_share(resources, context, share))}


@router.get("/shares/{share}/schemas")
def list_schemas(
    share: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> dict[str, Any]:
    """The schemas of a share."""
    found = listing.list_schemas(resources, context, share, after=page.after, limit=page.limit)
    return answer(found, _schema)


@router.get("/shares/{share}/schemas/{schema}/tables")
def list_tables(
    share: str, schema: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> dict[str, Any]:
    """The tables of a schema."""
    found = listing.list_tables(
        resources, context, share, schema, after=page.after, limit=page.limit
    )
    return answer(found, _table)


@router.get("/shares/{share}/all-tables")
def list_all_tables(
    share: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> dict[str, Any]:
    """The tables of a share."""
    found = listing.list_tables(resources, context, share, None, after=page.after, limit=page.limit)
    return answer(found, _table)


@router.get(TABLE + "/version", response_class=Response)
@router.head(TABLE, response_class=Response)
def table_version(
    share: str,
    schema: str,
    table: str,
    resources: ResourcesDep,
    context: ContextDep,
    startingTimestamp: Annotated[AwareDatetime | None, Query()] = None,
) -> Response:
    """The version that a table has; the only one that is kept is the first after any moment."""
    state, _ = reading.table_state(resources, context, share, schema, table)
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
    state, _ = reading.table_state(resources, context, share, schema, table)
    if timestamp is not None:
        raise reading.not_kept(state)
    reading.require_present(state, version)
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
        state, _ = reading.table_state(resources, context, share, schema, table)
        raise reading.not_kept(state)
    state, signed = reading.query_table(
        resources,
        context,
        share,
        schema,
        table,
        key_id=public_id(key_of(request) or ""),
        enough_rows=form.limitHint,
        version=form.version,
    )
    told = [*protocol.head(state, wanted), *protocol.files(signed, wanted, base_of(request))]
    return _lines(protocol.lines(iter(told)), state.version, wanted, file_ids)


@router.get(TABLE + "/changes")
def table_changes(
    share: str, schema: str, table: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """What changed between versions is not kept."""
    state, _ = reading.table_state(resources, context, share, schema, table)
    raise reading.not_kept(state)


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


def _schema(schema: SharedSchema) -> dict[str, Any]:
    return {"name": schema.name, "share": schema.share}


def _table(table: SharedTable) -> dict[str, Any]:
    return {"name": table.name, "schema": table.schema, "share": table.share}
