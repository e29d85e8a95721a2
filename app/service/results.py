"""Results kept sealed, as values of ours, and read again by those they are for."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from sqlalchemy import Connection

from app.errors import NotFound
from app.service.attacks.findings import Audit, ReconstructionReport
from app.service.context import RequestContext, new_id
from app.service.resources import Resources
from app.service.swapping.report import SwapReport
from app.service.synthesis.report import SynthesisReport
from app.store.database import results
from app.store.database.engine import reading, writing
from app.store.database.results import KeptResult

Report = SynthesisReport | SwapReport | ReconstructionReport
"""What a stateless request has to say beside the table that it answers with."""

KINDS: dict[type[Report | Audit], str] = {
    SynthesisReport: "synthesis",
    SwapReport: "swap",
    ReconstructionReport: "reconstruction",
    Audit: "audit",
}
"""The name under which a kind of result is kept, whatever its class is called."""


def keep_report(resources: Resources, context: RequestContext, report: Report) -> str:
    """Keep a report for the principal who asked, and return its id."""
    report_id = new_id("rp")
    with writing(resources.engine) as connection:
        _keep(resources, connection, context, report_id, report)
    return report_id


def read_report(resources: Resources, context: RequestContext, report_id: str) -> Report:
    """A report, for the principal who asked for it."""
    with reading(resources.engine) as connection:
        kept = results.one(connection, report_id)
    if kept is None or kept.principal != context.principal.id or kept.kind == KINDS[Audit]:
        raise NotFound(f"There is no report {report_id!r} for this principal.")
    report = _opened(resources, kept)
    assert not isinstance(report, Audit)
    return report


def keep_audit(
    resources: Resources, connection: Connection, context: RequestContext, audit: Audit
) -> None:
    """Keep an audit with its data set."""
    _keep(resources, connection, context, audit.id, audit, audit.dataset)


def read_audit(
    resources: Resources, connection: Connection, dataset_id: str, audit_id: str
) -> Audit | None:
    """An audit of a data set by id."""
    kept = results.one(connection, audit_id)
    if kept is None or kept.dataset != dataset_id:
        return None
    audit = _opened(resources, kept)
    assert isinstance(audit, Audit)
    return audit


def list_audits(
    resources: Resources, connection: Connection, dataset_id: str, *, after: str, limit: int
) -> list[Audit]:
    """Audits of a data set in the order they were run."""
    kept = results.page(connection, dataset_id, KINDS[Audit], after=after, limit=limit)
    return [audit for one in kept if isinstance(audit := _opened(resources, one), Audit)]


def newest_audits(
    resources: Resources, connection: Connection, dataset_id: str, *, limit: int
) -> list[Audit]:
    """Audits of a data set, the last one first."""
    kept = results.newest(connection, dataset_id, KINDS[Audit], limit=limit)
    return [audit for one in kept if isinstance(audit := _opened(resources, one), Audit)]


def _keep(
    resources: Resources,
    connection: Connection,
    context: RequestContext,
    result_id: str,
    value: Report | Audit,
    dataset: str | None = None,
) -> None:
    # Not orjson: an infinite or undefined number would come back as null.
    body = json.dumps(to_jsonable_python(value, inf_nan_mode="constants")).encode()
    sealed = resources.vault.seal(body, f"result:{result_id}")
    now = datetime.now(UTC)
    kind = KINDS[type(value)]
    results.add(connection, KeptResult(result_id, kind, context.principal.id, dataset, now, sealed))


def _opened(resources: Resources, kept: KeptResult) -> Report | Audit:
    kind = next(kind for kind, name in KINDS.items() if name == kept.kind)
    body = resources.vault.open(kept.body, f"result:{kept.id}")
    value: Report | Audit = TypeAdapter(kind).validate_json(body)
    return value
