"""/v1/utility: a released table against its original, as JSON, as a page or as pictures."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import HTMLResponse

from app.api.once import Route
from app.api.pictures import PNG, SVG, picture_response
from app.api.pictures.utility import draw_marginals, draw_pairs
from app.api.tables.incoming import FormHere, form_body
from app.api.tables.media import preferred
from app.api.utility_page import utility_page
from app.service.synthesise import LARGEST_SEED
from app.service.utility import DEFAULT_DISTANCE, compared, measure_utility
from app.service.utility_report import UtilityReport

router = APIRouter(prefix="/v1/utility", tags=["utility"], route_class=Route)


class UtilityAnswer(StrEnum):
    """The forms of the report."""

    JSON = "application/json"
    HTML = "text/html"
    PNG = PNG
    SVG = SVG


class PictureName(StrEnum):
    """Which picture an image is of."""

    PAIRS = "pairs"
    MARGINALS = "marginals"


ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report; a page or a picture where `Accept` prefers one.",
        "content": {
            kind.value: {"schema": {"type": "string"}}
            for kind in UtilityAnswer
            if kind is not UtilityAnswer.JSON
        },
    }
}

BODY = form_body(("original", "released"), {})
BODY["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]["holdout"] = {
    "type": "string",
    "format": "binary",
    "description": "Records of the same population that the release was not made from.",
}


@router.post("", openapi_extra=BODY, response_model=UtilityReport, responses=ANSWERS)
def read_utility(
    form: FormHere,
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
    seed: Annotated[
        int | None, Query(ge=0, le=LARGEST_SEED, description="The same seed gives the same report.")
    ] = None,
    picture: Annotated[
        PictureName, Query(description="What an image shows: pairs of columns, or each alone.")
    ] = PictureName.PAIRS,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Say how much of `original` the table `released` keeps, and which records reappear in it."""
    kind = preferred(accept, tuple(UtilityAnswer))
    holdout = form.table("holdout") if form.files.get("holdout") else None
    tables = compared(form.table("original"), form.table("released"), holdout)
    if kind in (UtilityAnswer.PNG, UtilityAnswer.SVG):
        draw = draw_pairs if picture is PictureName.PAIRS else draw_marginals
        return picture_response(draw(tables), kind)
    chosen = secrets.randbelow(LARGEST_SEED) if seed is None else seed
    report = measure_utility(tables, target=target, distance=distance, seed=chosen)
    headers = {"X-Cornerwave-Seed": str(chosen)}
    if kind is UtilityAnswer.HTML:
        return HTMLResponse(utility_page(report, tables), headers=headers)
    return Response(orjson.dumps(report), headers=headers, media_type=kind.value)
