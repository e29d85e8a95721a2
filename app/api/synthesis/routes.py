"""/v1/synthesis: synthetic tables by six methods, side by side if wished, and what PRIMP leaks."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Response

from app.api.synthesis.utility import DistanceHere, TargetHere
from app.api.transport.answers import TableTypeHere, table_answer, table_with_report
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.drawn import PICTURE_ANSWER, AnswerType, AnswerTypeHere, picture_response
from app.api.transport.forms import SeedHere
from app.api.transport.incoming.tables import TABLE_BODY, TableHere
from app.api.transport.once import Route
from app.api.transport.replays import ProgressHere, can_be_long
from app.pictures.comparison import MethodPoint, draw_comparison
from app.service.synthesis.report import (
    Comparison,
    InnerName,
    LeakageReport,
    MethodName,
    SynthesisReport,
    Wishes,
)
from app.service.synthesis.synthesise import (
    compare_methods,
    expected_leakage,
    synthesise,
)
from app.service.synthesis.utility import DEFAULT_DISTANCE

router = APIRouter(prefix="/v1/synthesis", tags=["synthesis"], route_class=Route)


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
    seed: SeedHere = None,
    enforce_types: Annotated[
        bool, Query(description="Keep the bounds and the rounding of every numeric column.")
    ] = True,
    target: TargetHere = None,
    distance: DistanceHere = DEFAULT_DISTANCE,
    inner: Annotated[
        InnerName, Query(description="The method that works inside the strata of `stratified`.")
    ] = InnerName.HYBRID,
    stratum_records: Annotated[
        int | None,
        Query(
            ge=2,
            description="Originals that every stratum of `stratified` holds at least: more are safer. "
            "The larger of 40 and three for each column when not said.",
        ),
    ] = None,
    accept_risk: Annotated[
        bool, Query(description="Allow strata of fewer than 20 originals, which give them away.")
    ] = False,
) -> Wishes:
    """The parameters that every synthesis takes."""
    return Wishes(
        rows, components, seed, enforce_types, target, distance, inner, stratum_records, accept_risk
    )


WishesHere = Annotated[Wishes, Depends(get_wishes)]


@router.post(
    "/compare",
    name="compare_methods",
    openapi_extra=TABLE_BODY,
    response_model=Comparison,
    responses=PICTURE_ANSWER,
)
@can_be_long()
def compare(
    resources: ResourcesHere,
    wishes: WishesHere,
    kind: AnswerTypeHere,
    table: TableHere,
    progress: ProgressHere,
) -> Response:
    """Synthesise a table by every method, compare them, and say which to take, as JSON or as a picture."""
    found = compare_methods(table, wishes, resources.limits, progress)
    if kind is not AnswerType.JSON:
        return picture_response(draw_comparison(_points(found)), kind)
    return Response(orjson.dumps(found), media_type=kind.value)


@router.get("/primp/leakage", name="expect_leakage")
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


@router.post(
    "/{method}",
    openapi_extra=TABLE_BODY,
    responses=table_answer("The synthetic table.", SynthesisReport),
    response_class=Response,
)
@can_be_long()
def synthesise_table(
    method: MethodName,
    resources: ResourcesHere,
    ask: AskHere,
    wishes: WishesHere,
    kind: TableTypeHere,
    table: TableHere,
    progress: ProgressHere,
) -> Response:
    """Answer a table with a synthetic one, and keep the report on it.

    Columns that tell people apart are left out, columns without values come back without, and the
    report names every fallback that was taken.
    """
    made = synthesise(table, method, wishes, resources.limits, progress)
    return table_with_report(resources, ask, made.first, made.report, kind, made.rest)


def _points(found: Comparison) -> list[MethodPoint]:
    """The methods that could be judged."""
    return [
        MethodPoint(
            one.method,
            one.report.standing.membership_area,
            one.report.standing.two_sample_area,
            one.report.utility.quality.mean,
            one.method == found.recommended,
        )
        for one in found.methods
        if one.report is not None
        and one.report.standing is not None
        and one.report.standing.membership_area is not None
    ]
