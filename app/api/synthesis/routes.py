"""/v1/synthesis and /v1/utility: synthetic tables by six methods, utility and risk of a release.

Methods can be compared, and the leakage of PRIMP measured. The utility of a release is JSON, a page or
pictures.
"""

from __future__ import annotations

import base64
from enum import StrEnum
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse

from app.api.pages import page
from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep, can_be_long
from app.api.transport.endpoints.answers import (
    PICTURE_ANSWER,
    SEED_HEADER,
    AnswerType,
    AnswerTypeDep,
    PageType,
    PageTypeDep,
    TableTypeDep,
    page_answer,
    picture_response,
    table_answer,
    table_with_report,
)
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import KeepDep, SeedDep
from app.api.transport.incoming.tables import TABLE_BODY, FormDep, TableDep, form_body
from app.pictures import PNG, SVG, written
from app.pictures.comparison import MethodPoint, draw_comparison
from app.pictures.utility import draw_marginals, draw_pairs
from app.service.context import seed_or_new
from app.service.synthesis.report import (
    InnerName,
    LeakageReport,
    MethodName,
    SynthesisComparison,
    SynthesisParams,
    SynthesisReport,
)
from app.service.synthesis.synthesise import compare_methods, expected_leakage, synthesise
from app.service.synthesis.utility import DEFAULT_DISTANCE, AlignedTables, compared, measure_utility
from app.service.synthesis.utility_report import UtilityReport

utility_router = APIRouter(prefix="/v1/utility", tags=["utility"], route_class=Route)


TargetDep = Annotated[
    str | None,
    Query(max_length=1000, description="Column for the train-on-synthetic-test-on-real score."),
]
DistanceDep = Annotated[
    float,
    Query(
        ge=0, le=100, description="Within how many standard deviations a record counts as found."
    ),
]


class PictureName(StrEnum):
    """Name of a picture."""

    PAIRS = "pairs"
    MARGINALS = "marginals"


HOLDOUT = "Records of the same population that the release was not made from."
BODY = form_body(("original", "released"), {}, {"holdout": HOLDOUT})


@utility_router.post(
    "",
    name="measure_utility",
    openapi_extra=BODY,
    response_model=UtilityReport,
    responses=page_answer("The report"),
)
@can_be_long()
def read_utility(
    kind: PageTypeDep,
    form: FormDep,
    progress: ProgressDep,
    target: TargetDep = None,
    distance: DistanceDep = DEFAULT_DISTANCE,
    seed: SeedDep = None,
    picture: Annotated[
        PictureName, Query(description="What an image shows: pairs of columns, or each alone.")
    ] = PictureName.PAIRS,
) -> Response:
    """Measure how much of `original` the table `released` keeps, and which records reappear in it."""
    holdout = form.table("holdout") if form.files.get("holdout") else None
    tables = compared(form.table("original"), form.table("released"), holdout)
    if kind in (PageType.PNG, PageType.SVG):
        draw = draw_pairs if picture is PictureName.PAIRS else draw_marginals
        return picture_response(draw(tables.original, tables.released), kind)
    chosen = seed_or_new(seed)
    report = measure_utility(
        tables, target=target, distance=distance, seed=chosen, progress=progress
    )
    headers = {SEED_HEADER: str(chosen)}
    if kind is PageType.HTML:
        shown = _page(report, tables)
        shown.headers.update(headers)
        return shown
    return Response(orjson.dumps(report), headers=headers, media_type=kind.value)


def _page(report: UtilityReport, tables: AlignedTables) -> HTMLResponse:
    """One page: nothing is fetched, its pictures are part of it."""
    pairs = written(draw_pairs(tables.original, tables.released), PNG)
    marginals = written(draw_marginals(tables.original, tables.released), SVG).decode()
    return page(
        "utility.html",
        title="Utility",
        width="60rem",
        report=report,
        one_sided=[*report.only_in_original, *report.only_in_released],
        pairs=base64.b64encode(pairs).decode(),
        marginals=marginals[marginals.index("<svg") :],
    )


router = APIRouter(prefix="/v1/synthesis", tags=["synthesis"], route_class=Route)


def synthesis_params(
    rows: Annotated[
        int | None, Query(ge=1, description="Records of the answer; as many as came when not said.")
    ] = None,
    components: Annotated[
        int | None,
        Query(
            description="Independent components of PRIMP and hybrid: 2 to the number of columns."
        ),
    ] = None,
    seed: SeedDep = None,
    enforce_types: Annotated[
        bool, Query(description="Keep the bounds and the rounding of every numeric column.")
    ] = True,
    target: TargetDep = None,
    distance: DistanceDep = DEFAULT_DISTANCE,
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
    keep: KeepDep = None,
) -> SynthesisParams:
    """The parameters that every synthesis takes."""
    return SynthesisParams(
        rows,
        components,
        seed,
        enforce_types,
        target,
        distance,
        inner,
        stratum_records,
        accept_risk,
        tuple(keep or ()),
    )


SynthesisParamsDep = Annotated[SynthesisParams, Depends(synthesis_params)]


@router.post(
    "/compare",
    name="compare_methods",
    openapi_extra=TABLE_BODY,
    response_model=SynthesisComparison,
    responses=PICTURE_ANSWER,
)
@can_be_long()
def compare(
    resources: ResourcesDep,
    params: SynthesisParamsDep,
    kind: AnswerTypeDep,
    table: TableDep,
    progress: ProgressDep,
) -> Response:
    """Synthesise a table by every method and recommend one, as JSON or as a picture."""
    found = compare_methods(table, params, resources.limits, progress)
    if kind is not AnswerType.JSON:
        return picture_response(draw_comparison(_points(found)), kind)
    return Response(orjson.dumps(found), media_type=kind.value)


@router.get("/primp/leakage", name="expect_leakage")
def primp_leakage(
    _ask: ContextDep,
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
    """Compute how many original records PRIMP's permutations are expected to restore by chance."""
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
    resources: ResourcesDep,
    context: ContextDep,
    params: SynthesisParamsDep,
    kind: TableTypeDep,
    table: TableDep,
    progress: ProgressDep,
) -> Response:
    """Synthesise a table by one method, and store the report.

    Identifiers are left out unless `keep` names them, columns without values come back without, and the
    report names every fallback that was taken.
    """
    made = synthesise(table, method, params, resources.limits, progress)
    return table_with_report(resources, context, made.first, made.report, kind, made.rest)


def _points(found: SynthesisComparison) -> list[MethodPoint]:
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
