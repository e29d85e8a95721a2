"""/v1/identifiability and /v1/swaps: who is given away by a table, and a table that gives away less."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Literal

import orjson
import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from app.api.binning_wishes import BinsText, bins_from
from app.api.dependencies import AskHere, ResourcesHere
from app.api.once import Route
from app.api.reports import link_report
from app.api.tables.answering import table_answer, table_response
from app.api.tables.incoming import TABLE_BODY, TableHere
from app.api.tables.media import MediaType, negotiate
from app.api.tables.writing import write_table
from app.service.identify import AttributeIdentifiability, count_identifiable
from app.service.swap import LARGEST_SEED, SwapWishes, swap_table
from app.service.swap_report import SwapReport

router = APIRouter(prefix="/v1", tags=["swapping"], route_class=Route)

Names = Annotated[
    list[str], Query(description="A column; repeat the parameter for more.", min_length=1)
]
NamesOrRest = Annotated[
    list[str] | None,
    Query(description="A column an intruder may know; repeated. Without it, all other columns."),
]


class IdentifiabilityView(BaseModel):
    """One entry for each confidential column."""

    attributes: list[AttributeIdentifiability]


class ReportPlace(StrEnum):
    """Where the report of a swap goes."""

    LINK = "link"
    JSON = "json"


SWAP_ANSWER = table_answer(
    "The swapped table; with `report=json` one JSON document of table and report."
)
SWAP_ANSWER[200]["headers"] = {
    "Link": {
        "description": "Where the report is (`rel=describedby`).",
        "schema": {"type": "string"},
    },
    "X-Cornerwave-Seed": {
        "description": "The seed used: the same request with it gives the same table.",
        "schema": {"type": "integer"},
    },
}


@router.post("/identifiability", openapi_extra=TABLE_BODY)
def post_identifiability(
    table: TableHere,
    confidential: Names,
    non_confidential: NamesOrRest = None,
    bins: BinsText = None,
    rows: Annotated[bool, Query(description="Also the status and group of every row.")] = False,
) -> IdentifiabilityView:
    """Count the records whose confidential values their other columns give away."""
    return IdentifiabilityView(
        attributes=count_identifiable(
            table, confidential, non_confidential, bins_from(bins), with_rows=rows
        )
    )


@router.post("/swaps", openapi_extra=TABLE_BODY, responses=SWAP_ANSWER, response_class=Response)
def post_swap(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    table: TableHere,
    confidential: Names,
    non_confidential: NamesOrRest = None,
    bins: BinsText = None,
    proportion: Annotated[
        float, Query(description="Share of the uniquely identifiable records that change, (0, 1].")
    ] = 0.5,
    method: Annotated[
        Literal["optimal", "greedy", "random"],
        Query(description="The proven optimum, the published method, or its random baseline."),
    ] = "optimal",
    group_number: Annotated[
        int | None,
        Query(
            ge=1,
            le=2**31,
            description="Members that change in each collectively identifiable group: 1.",
        ),
    ] = None,
    group_proportion: Annotated[
        float | None, Query(gt=0, le=1, description="Their share, instead of their number.")
    ] = None,
    smoothing: Annotated[
        float, Query(ge=0, le=1_000, description="Laplace pseudo-count of the posterior.")
    ] = 0.0,
    allowed_deviation: Annotated[
        int,
        Query(
            ge=0,
            le=2**31,
            description="By how much `optimal` may move the marginal to lower its cost.",
        ),
    ] = 0,
    tree: Annotated[bool, Query(description="Fit decision trees for the report.")] = False,
    seed: Annotated[int | None, Query(ge=0, le=LARGEST_SEED)] = None,
    report: Annotated[
        ReportPlace, Query(description="By the `Link` header, or with the table as JSON.")
    ] = ReportPlace.LINK,
) -> Response:
    """Swap confidential values so that identification breaks and the distribution stays."""
    in_one = report is ReportPlace.JSON
    # Asked before the work is done: an answer that nobody accepts need not be computed.
    negotiate(request.headers.get("accept"), [MediaType.JSON] if in_one else list(MediaType))
    swapped, findings = swap_table(
        table,
        SwapWishes(
            confidential=confidential,
            non_confidential=non_confidential,
            bins=bins_from(bins),
            proportion=proportion,
            method=method,
            group_number=group_number,
            group_proportion=group_proportion,
            smoothing=smoothing,
            allowed_deviation=allowed_deviation,
            tree=tree,
            seed=seed,
        ),
    )
    seed_used = {"X-Cornerwave-Seed": str(findings.seed)}
    if in_one:
        return Response(_together(swapped, findings), 200, seed_used, MediaType.JSON.value)
    response = table_response(request, swapped, seed_used)
    link_report(response, resources, ask, asdict(findings))
    return response


def _together(table: pa.Table, findings: SwapReport) -> bytes:
    """The table as JSON columns, with the report as a further member of the document."""
    columns = b"".join(write_table(table, MediaType.JSON))
    return columns.removesuffix(b"}") + b',"report":' + orjson.dumps(asdict(findings)) + b"}"
