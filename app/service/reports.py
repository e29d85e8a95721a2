"""Reports of stateless requests: kept sealed, read again by the caller who asked."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from app.errors import NotFound
from app.service.asking import Ask, new_id
from app.service.resources import Resources
from app.store import reports
from app.store.engine import reading, writing


def keep_report(resources: Resources, ask: Ask, report: dict[str, object]) -> str:
    """Keep a report and return its id."""
    report_id = new_id("rp")
    body = orjson.dumps(report, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    sealed = resources.vault.seal(body, f"report:{report_id}")
    with writing(resources.engine) as connection:
        reports.add(connection, report_id, ask.caller.id, sealed, datetime.now(UTC))
    return report_id


def read_report(resources: Resources, ask: Ask, report_id: str) -> bytes:
    """The report as JSON."""
    with reading(resources.engine) as connection:
        sealed = reports.find(connection, report_id, ask.caller.id)
    if sealed is None:
        raise NotFound(f"there is no report {report_id!r} for this caller")
    return resources.vault.open(sealed, f"report:{report_id}")
