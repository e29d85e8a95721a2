"""Filters of logs, and the page and the file that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

import pyarrow as pa
from fastapi import Depends, Query, Response
from fastapi.responses import StreamingResponse

from app.errors import InvalidParameter
from app.model import LogEntry, LogFilter
from app.portal.log_sentences import SCHEMA, WORDS, log_lines, log_table
from app.service import logs
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing import principals
from app.tables.media import MediaType
from app.tables.writer import write_batches

AT_ONCE = 50
EXPORTED_AT_ONCE = 1_000
MOST_NAMES = 500
"""Names to choose from; others can be typed."""

Text = Annotated[str, Query(max_length=500)]
Before = Annotated[int | None, Query(ge=1, lt=2**62)]
Search = Callable[[int | None, int], list[LogEntry]]


@dataclass(frozen=True)
class LogFilterForm:
    """The filters of a log as they were typed."""

    person: str
    about: str
    action: str
    outcome: str
    since: str
    until: str

    @property
    def chosen(self) -> dict[str, str]:
        """The filters that are set."""
        return {name: value for name, value in vars(self).items() if value}

    def wanted(self, resources: Resources, context: RequestContext) -> LogFilter:
        """What is looked for."""
        until = _day("until", self.until)
        person = self.person and logs.principal_called(resources, context, self.person)
        about = logs.subjects_called(resources, context, self.about) if self.about else None
        return LogFilter(
            principal=person or None,
            actions=tuple(WORDS.get(self.action, (self.action,))) if self.action else None,
            outcome=self.outcome or None,
            subjects=about,
            since=_day("since", self.since),
            until=until + timedelta(days=1) if until else None,
        )


def read_filters(
    person: Text = "",
    about: Text = "",
    action: Text = "",
    outcome: Text = "",
    since: Text = "",
    until: Text = "",
) -> LogFilterForm:
    """Read the filters from the address."""
    return LogFilterForm(person.strip(), about.strip(), action, outcome, since, until)


FiltersDep = Annotated[LogFilterForm, Depends(read_filters)]


def log_values(
    resources: Resources,
    context: RequestContext,
    filters: LogFilterForm,
    found: list[LogEntry],
    before: int | None,
    datasets_at: str,
) -> dict[str, Any]:
    """Return what the templates of a log show: `found` has one entry more than a page."""
    shown = found[:AT_ONCE]
    known = principals.list_principals(resources, context, after="", limit=MOST_NAMES)
    names = logs.names_in(resources, context, shown)
    older = {**filters.chosen, "before": shown[-1].sequence} if len(found) > AT_ONCE else None
    return {
        "lines": log_lines(shown, names, datasets_at),
        "filters": filters,
        "filtered": bool(filters.chosen) or before is not None,
        "words": WORDS,
        "people": sorted(one.principal.name for one in known),
        "older": urlencode(older) if older else None,
        "export": urlencode(filters.chosen),
    }


def log_file(resources: Resources, context: RequestContext, search: Search, name: str) -> Response:
    """Return all entries that a search finds, as CSV, read a page at a time."""

    first = search(None, EXPORTED_AT_ONCE)  # a refusal is an answer of its own

    def batches() -> Iterator[pa.RecordBatch]:
        entries = first
        while entries:
            yield log_table(entries, logs.names_in(resources, context, entries))
            entries = search(entries[-1].sequence, EXPORTED_AT_ONCE)

    written = write_batches(lambda then: map(then, batches()), SCHEMA, MediaType.CSV, safe=True)
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(written, media_type=MediaType.CSV.value, headers=headers)


def _day(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.combine(datetime.fromisoformat(text).date(), time(), UTC)
    except (ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be a day such as 2026-01-31", parameter=name) from None
