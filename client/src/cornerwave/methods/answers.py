"""Answers of stateless methods: a table in a file with its report, or a report alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cornerwave.jobs import answered
from cornerwave.table_file import FORMATS, TableFile
from cornerwave.transport.bodies import Body
from cornerwave.transport.calls import Answer, Call, Flow, get
from cornerwave.transport.downloads import FileSink
from cornerwave.values import Report

REPORT = re.compile(r"</v1/reports/([^>]+)>")
Json = Mapping[str, Any]


def table_answer(path: str, query: Json, body: Body, label: str) -> Flow[TableFile]:
    """The table that a method answers with, and its report where it has one."""
    held = TableFile()
    with held._path.open("wb") as file:
        sink = FileSink(file)
        answer = yield from answered(
            Call("POST", path, query, body, accept=FORMATS["parquet"], into=sink, label=label)
        )
    seed = answer.headers.get("x-cornerwave-seed")
    held.seed = None if seed is None else int(seed)
    linked = REPORT.search(answer.headers.get("link", ""))
    if linked is not None:
        told: Answer = yield get("reports", linked[1])
        held.report = Report(told.json())
    return held


def report_answer(path: str, query: Json, body: Body, label: str, *needed: str) -> Flow[Report]:
    """The report that a method answers with; the members `needed` are in it."""
    answer = yield from answered(Call("POST", path, query, body, label=label))
    return Report(answer.json(*needed))


def names(columns: str | Sequence[str] | None) -> list[str] | None:
    """One column or several, as a list."""
    return [columns] if isinstance(columns, str) else None if columns is None else list(columns)
