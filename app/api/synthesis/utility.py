"""/v1/utility: a released table against its original, as JSON, as a page or as pictures."""

from __future__ import annotations

import base64
from enum import StrEnum
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from app.api.pages import page
from app.api.transport.answers import SEED_HEADER
from app.api.transport.drawn import PageType, PageTypeHere, page_answer, picture_response
from app.api.transport.forms import SeedHere
from app.api.transport.incoming.tables import FormHere, form_body
from app.api.transport.once import Route
from app.api.transport.replays import ProgressHere, can_be_long
from app.pictures import PNG, SVG, written
from app.pictures.utility import draw_marginals, draw_pairs
from app.service.asking import seed_or_new
from app.service.synthesis.utility import DEFAULT_DISTANCE, Compared, compared, measure_utility
from app.service.synthesis.utility_report import UtilityReport

router = APIRouter(prefix="/v1/utility", tags=["utility"], route_class=Route)


TargetHere = Annotated[
    str | None,
    Query(max_length=1000, description="Column for the train-on-synthetic-test-on-real score."),
]
DistanceHere = Annotated[
    float,
    Query(
        ge=0, le=100, description="Within how many standard deviations a record counts as found."
    ),
]


class PictureName(StrEnum):
    """Which picture an image is of."""

    PAIRS = "pairs"
    MARGINALS = "marginals"


HOLDOUT = "Records of the same population that the release was not made from."
BODY = form_body(("original", "released"), {}, {"holdout": HOLDOUT})


@router.post(
    "",
    name="measure_utility",
    openapi_extra=BODY,
    response_model=UtilityReport,
    responses=page_answer("The report"),
)
@can_be_long()
def read_utility(
    kind: PageTypeHere,
    form: FormHere,
    progress: ProgressHere,
    target: TargetHere = None,
    distance: DistanceHere = DEFAULT_DISTANCE,
    seed: SeedHere = None,
    picture: Annotated[
        PictureName, Query(description="What an image shows: pairs of columns, or each alone.")
    ] = PictureName.PAIRS,
) -> Response:
    """Say how much of `original` the table `released` keeps, and which records reappear in it."""
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


def _page(report: UtilityReport, tables: Compared) -> HTMLResponse:
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
