"""/v1/randomize: one table with additive noise, independent or shaped like the data."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.api.transport.answers import TableTypeHere, table_answer, table_response
from app.api.transport.dependencies import AskHere
from app.api.transport.incoming.tables import TABLE_BODY, TableHere
from app.api.transport.once import Route
from app.service.attacks.noise_models import IndependentNoise, ProportionalNoise
from app.service.attacks.randomize import SEED_BITS, new_seed, randomize

router = APIRouter(prefix="/v1/randomize", tags=["attacks"], route_class=Route)


class NoiseShape(StrEnum):
    """How the noise is shaped over the columns."""

    INDEPENDENT = "independent"
    PROPORTIONAL = "proportional"


@router.post(
    "",
    response_class=Response,
    responses=table_answer("The randomized table."),
    openapi_extra=TABLE_BODY,
)
def randomize_table(
    kind: TableTypeHere,
    table: TableHere,
    _ask: AskHere,
    noise_variance: Annotated[
        float,
        Query(
            gt=0,
            le=1e100,
            allow_inf_nan=False,
            description="In squared units of the column (independent), or in units of the data's own"
            " covariance (proportional).",
        ),
    ],
    noise: Annotated[
        NoiseShape, Query(description="Proportional noise is the harder one to filter out.")
    ] = NoiseShape.PROPORTIONAL,
    column: Annotated[
        list[str] | None,
        Query(description="A column to disguise, repeated; by default all, which must be numeric."),
    ] = None,
    seed: Annotated[int | None, Query(ge=0, lt=2**SEED_BITS)] = None,
) -> Response:
    """Add noise to a table once; columns that are not disguised do not leave.

    Two answers with different seeds are independent copies, which together reveal more than either:
    for several recipients register a data set instead. The seed used is in `X-Cornerwave-Seed`;
    whoever has it can take the noise away again.
    """
    used = new_seed() if seed is None else seed
    model = (
        IndependentNoise(noise_variance)
        if noise is NoiseShape.INDEPENDENT
        else ProportionalNoise(noise_variance)
    )
    disguised = randomize(table, model, column, used)
    return table_response(disguised.as_arrow(), kind, used)
