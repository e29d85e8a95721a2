"""Content negotiation of table answers, alone or as multipart with a report.

A report is kept and named in the `Link` header, where it can be read again (/v1/reports); an answer in JSON has it
beside the columns as well.

Answers that can also be drawn are JSON, or a picture, or a page, where the Accept header prefers one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
import pyarrow as pa
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import Route
from app.api.transport.incoming.tables import TABLE_TYPES
from app.errors import NotAcceptable
from app.pictures import PNG, SVG, written
from app.service import results
from app.service.attacks.findings import ReconstructionReport
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.swapping.report import SwapReport
from app.service.synthesis.report import SynthesisReport
from app.tables.media import OFFERED, MediaType
from app.tables.writer import write_batches

Report = SynthesisReport | SwapReport | ReconstructionReport
"""What a stateless request reports beside the table that it answers with."""

SEED_HEADER = "X-Cornerwave-Seed"
SEED_ANSWER = {
    "description": "The seed used: the same request with it gives the same answer.",
    "schema": {"type": "integer"},
}
LINK_ANSWER = {
    "description": "Where the report is (`rel=describedby`).",
    "schema": {"type": "string"},
}


def accepted_table(request: Request) -> MediaType:
    """The format for the answer; NotAcceptable before any work is done."""
    return preferred(request.headers.get("accept"), OFFERED)


TableTypeDep = Annotated[MediaType, Depends(accepted_table)]


def table_answer(description: str, report: type | None = None) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route that answers with a table and a seed, and a report where there is one."""
    headers = {SEED_HEADER: SEED_ANSWER}
    if report is None:
        return {200: {"description": description, "content": TABLE_TYPES, "headers": headers}}
    both = {
        "allOf": [
            {"$ref": "#/components/schemas/Table"},
            {
                "type": "object",
                "required": ["report"],
                "properties": {"report": {"$ref": f"#/components/schemas/{report.__name__}"}},
            },
        ]
    }
    return {
        200: {
            "description": f"{description} As JSON with its report in the member `report`.",
            "content": TABLE_TYPES | {MediaType.JSON.value: {"schema": both}},
            "headers": headers | {"Link": LINK_ANSWER},
        }
    }


def table_response(table: pa.Table, kind: MediaType, seed: int) -> Response:
    """The whole table, streamed; what fails, fails before the first byte."""
    return _streamed(_begun(table, kind), kind, seed)


def table_with_report(
    resources: Resources,
    context: RequestContext,
    table: pa.Table,
    report: Report,
    kind: MediaType,
    rest: Iterable[pa.Table] = (),
) -> Response:
    """The whole table, streamed, and its report, kept; the rows of `rest`, made as they leave, follow."""
    chunks = _begun(table, kind, rest)
    if kind is MediaType.JSON:
        # The table's own object goes on behind the report: {"report": …, "columns": …}.
        opening = b'{"report":' + orjson.dumps(report) + b","
        chunks = itertools.chain([opening, next(chunks)[len(b"{") :]], chunks)
    response = _streamed(chunks, kind, report.seed)
    report_id = results.keep_report(resources, context, report)
    response.headers["Link"] = f'</v1/reports/{report_id}>; rel="describedby"'
    return response


def _begun(
    table: pa.Table, kind: MediaType, rest: Iterable[pa.Table] = ()
) -> Iterator[bytes | memoryview]:
    """The bytes of the table, the first of them made: a table too large for JSON fails here."""
    batches = (batch for each in itertools.chain([table], rest) for batch in each.to_batches())
    chunks = write_batches(lambda then: map(then, batches), table.schema, kind)
    return itertools.chain([next(chunks, b"")], chunks)


def _streamed(chunks: Iterator[bytes | memoryview], kind: MediaType, seed: int) -> Response:
    return StreamingResponse(chunks, media_type=kind.value, headers={SEED_HEADER: str(seed)})


Format = TypeVar("Format", bound=StrEnum)

QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def preferred(accept: str | None, offered: Sequence[Format]) -> Format:
    """The offered format that an Accept header likes best, the first one where it does not care.

    As RFC 9110 has it: the most specific range that matches gives a format its quality; quality 0
    excludes it; ties go to the order of `offered`. NotAcceptable when nothing is left.
    """
    if accept is None or not accept.strip():
        return offered[0]
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    best, quality = max(
        ((format_, _quality(format_, ranges)) for format_ in offered), key=lambda pair: pair[1]
    )
    if quality <= 0:
        raise NotAcceptable(
            "The answer can be written as one of: " + ", ".join(offered),
            supported=[*map(str, offered)],
        )
    return best


def _range(part: str) -> tuple[str, float]:
    """A media range and its quality; a quality that is no number counts as 0."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            quality = float(value) if QUALITY.fullmatch(value.strip()) else 0.0
    return name.lower(), quality


def _quality(format_: StrEnum, ranges: list[tuple[str, float]]) -> float:
    family = format_.partition("/")[0]
    for wanted in (format_.value, f"{family}/*", "*/*"):
        matching = [quality for name, quality in ranges if name == wanted]
        if matching:
            return max(matching)
    return 0.0


reports_router = APIRouter(prefix="/v1/reports", tags=["reports"], route_class=Route)


@reports_router.get("/{report_id}", response_model=Report)
def read_report(report_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Read a report again; only the principal who asked for it can."""
    report = results.read_report(resources, context, report_id)
    return Response(orjson.dumps(report), media_type="application/json")


if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AnswerType(StrEnum):
    """The forms of a result that can also be drawn."""

    JSON = "application/json"
    PNG = PNG
    SVG = SVG


PICTURE_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result, or its picture where `Accept` prefers one.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}} for kind in (PNG, SVG)
        },
    }
}
"""`responses` of a route whose result can also be drawn."""


def accepted_answer(request: Request) -> AnswerType:
    """JSON unless the Accept header prefers a picture; NotAcceptable if it takes neither."""
    return preferred(request.headers.get("accept"), tuple(AnswerType))


AnswerTypeDep = Annotated[AnswerType, Depends(accepted_answer)]


class PageType(StrEnum):
    """The forms of a report that can also be a page."""

    JSON = "application/json"
    HTML = "text/html"
    PNG = PNG
    SVG = SVG


def page_answer(what: str) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route whose report can also be a page or a picture."""
    others = (kind.value for kind in PageType if kind is not PageType.JSON)
    return {
        200: {
            "description": f"{what}; a page or a picture where `Accept` prefers one.",
            "content": {kind: {"schema": {"type": "string"}} for kind in others},
        }
    }


def accepted_page(request: Request) -> PageType:
    """JSON unless the Accept header prefers a page or a picture; NotAcceptable if it takes none."""
    return preferred(request.headers.get("accept"), tuple(PageType))


PageTypeDep = Annotated[PageType, Depends(accepted_page)]


def picture_response(figure: Figure, media_type: str) -> Response:
    """The figure as PNG or SVG."""
    return Response(written(figure, media_type), media_type=media_type)
