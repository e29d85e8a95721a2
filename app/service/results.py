"""Stored results, sealed in the database: reports of stateless requests, audits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from sqlalchemy import Connection

from app.errors import NotFound
from app.service.context import RequestContext, new_id
from app.service.resources import Resources
from app.store.database import results
from app.store.database.engine import reading, writing
from app.store.database.results import StoredResult

Value = TypeVar("Value")


def keep_report(resources: Resources, context: RequestContext, report: object) -> str:
    """Keep a report for the principal who requested it, and return its id."""
    report_id = new_id("rp")
    with writing(resources.engine) as connection:
        keep_result(resources, connection, context, report_id, report)
    return report_id


def read_report(resources: Resources, context: RequestContext, report_id: str) -> Any:
    """Return a report to the principal who requested it."""
    with reading(resources.engine) as connection:
        kept = results.one(connection, report_id)
    if kept is None or kept.principal != context.principal.id or kept.dataset is not None:
        raise NotFound(f"There is no report {report_id!r} for this principal.")
    (result_type,) = (one for one, name in resources.result_types.items() if name == kept.kind)
    return _opened(resources, kept, result_type)


def keep_result(
    resources: Resources,
    connection: Connection,
    context: RequestContext,
    result_id: str,
    value: object,
    dataset: str | None = None,
) -> None:
    """Keep a value of one of `Resources.result_types`, perhaps with a data set."""
    # Not orjson: an infinite or undefined number would come back as null.
    body = json.dumps(to_jsonable_python(value, inf_nan_mode="constants")).encode()
    sealed = resources.vault.seal(body, f"result:{result_id}")
    now = datetime.now(UTC)
    kind = resources.result_types[type(value)]
    results.add(
        connection, StoredResult(result_id, kind, context.principal.id, dataset, now, sealed)
    )


def read_result(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    result_id: str,
    result_type: type[Value],
) -> Value | None:
    """Return a result of a data set by id."""
    kept = results.one(connection, result_id)
    if kept is None or kept.dataset != dataset_id:
        return None
    return _opened(resources, kept, result_type)


def list_results(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    result_type: type[Value],
    *,
    after: str,
    limit: int,
) -> list[Value]:
    """Return results of a data set, the oldest first."""
    kind = resources.result_types[result_type]
    kept = results.page(connection, dataset_id, kind, after=after, limit=limit)
    return [_opened(resources, one, result_type) for one in kept]


def newest_results(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    result_type: type[Value],
    *,
    limit: int,
) -> list[Value]:
    """Return results of a data set, the newest first."""
    kind = resources.result_types[result_type]
    kept = results.newest(connection, dataset_id, kind, limit=limit)
    return [_opened(resources, one, result_type) for one in kept]


def _opened(resources: Resources, kept: StoredResult, result_type: type[Value]) -> Value:
    body = resources.vault.open(kept.body, f"result:{kept.id}")
    return TypeAdapter(result_type).validate_json(body)
