"""/v1/synthesis: synthetic tables by five methods, side by side if wished, and what PRIMP leaks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import StreamingResponse

from app.api.dependencies import AskHere, ResourcesHere
from app.api.once import Route
from app.api.pictures import PICTURE_ANSWER, AnswerType, answer_type, picture_response
from app.api.pictures.comparison import draw_comparison
from app.api.reports import link_report
from app.api.tables.incoming import TABLE_BODY, TABLE_TYPES, TableHere
from app.api.tables.media import MediaType, negotiate
from app.api.tables.writing import write_table
from app.service.synthesis_report import LeakageReport, MethodComparison, MethodName, Wishes
from app.service.synthesise import (
    LARGEST_SEED,
    Synthetic,
    compare_methods,
    expected_leakage,
    synthesise,
)
from app.service.utility import DEFAULT_DISTANCE

router = APIRouter(prefix="/v1/synthesis", tags=["synthesis"], route_class=Route)

SEED_HEADER = "X-Cornerwave-Seed"

AcceptHere = Annotated[str | None, Header(include_in_schema=False)]

TABLE_AND_REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The synthetic table; as JSON with its report in the member `report`.",
        "content": TABLE_TYPES,
        "headers": {
            "Link": {
                "description": "Where the report is.",
                "schema": {"type": "string"},
            },
            SEED_HEADER: {
                "description": "The seed that gives the same table again.",
                "schema": {"type": "integer"},
            },
        },
    }
}


def get_wishes(
    rows: Annotated[
        int | None, Query(ge=1, description="Records of the answer; as many as came when not said.")
    ] = None,
    components: Annotated[
        int | None,
        Query(
            description="Independent components of PRIMP and hybrid: 2 to the number of columns."
        ),
    ] = None,
    seed: Annotated[
        int | None, Query(ge=0, le=LARGEST_SEED, description="The same seed gives the same table.")
    ] = None,
    enforce_types: Annotated[
        bool, Query(description="Keep the bounds and the rounding of every numeric column.")
    ] = True,
    target: Annotated[
        str | None,
        Query(max_length=1000, description="Column for the train-on-synthetic-test-on-real score."),
    ] = None,
    distance: Annotated[
        float,
        Query(
            ge=0,
            le=100,
            description="Within how many standard deviations a record counts as found.",
        ),
    ] = DEFAULT_DISTANCE,
) -> Wishes:
    """The parameters that every synthesis takes."""
    return Wishes(rows, components, seed, enforce_types, target, distance)


WishesHere = Annotated[Wishes, Depends(get_wishes)]


@router.post(
    "/compare",
    openapi_extra=TABLE_BODY,
    response_model=list[MethodComparison],
    responses=PICTURE_ANSWER,
)
def compare(
    resources: ResourcesHere, wishes: WishesHere, table: TableHere, accept: AcceptHere = None
) -> Response:
    """Synthesise a table by all five methods and compare them, as JSON or as a picture."""
    kind = answer_type(accept)
    found = compare_methods(table, wishes, resources.limits)
    if kind is not AnswerType.JSON:
        return picture_response(draw_comparison(found), kind)
    return Response(orjson.dumps(found), media_type=kind.value)


@router.get("/primp/leakage")
def primp_leakage(
    _ask: AskHere,
    records: Annotated[int, Query(ge=1, le=10**12, description="Records of the original.")],
    components: Annotated[
        int, Query(ge=2, le=10**6, description="Components permuted independently.")
    ],
    rows: Annotated[
        int | None,
        Query(ge=1, le=10**12, description="Rows of the output; `records` when not said."),
    ] = None,
    most: Annotated[
        int, Query(ge=0, le=150, description="Up to how many leaked records `mass` goes.")
    ] = 10,
) -> LeakageReport:
    """How many original records PRIMP's permutations put together again, by chance."""
    return expected_leakage(records, components, rows, most=most)


@router.post("/{method}", openapi_extra=TABLE_BODY, responses=TABLE_AND_REPORT)
def synthesise_table(
    method: MethodName,
    resources: ResourcesHere,
    ask: AskHere,
    wishes: WishesHere,
    table: TableHere,
    accept: AcceptHere = None,
) -> Response:
    """Answer a table with a synthetic one, and keep the report on it.

    Columns that tell people apart are left out, columns without values come back without, and the
    report names every fallback that was taken.
    """
    kind = negotiate(accept)
    made = synthesise(table, method, wishes, resources.limits)
    report = dataclasses.asdict(made.report)
    response = StreamingResponse(_written(made, report, kind), media_type=kind.value)
    response.headers[SEED_HEADER] = str(made.report.seed)
    link_report(response, resources, ask, report)
    return response


def _written(
    made: Synthetic, report: dict[str, object], kind: MediaType
) -> Iterator[bytes | memoryview]:
    chunks = write_table(made.table, kind)
    if kind is MediaType.JSON:
        # The table's own object goes on behind the report: {"report": …, "columns": …}.
        yield b'{"report":' + orjson.dumps(report) + b","
        yield next(chunks)[len(b"{") :]
    yield from chunks
