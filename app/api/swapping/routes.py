"""/v1/identifiability and /v1/swaps: count identifiable records, swap confidential values.

The `bins` parameter says how numeric columns become categories, as JSON in the address.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import TypeAdapter, ValidationError

from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep, can_be_long
from app.api.transport.endpoints.answers import TableTypeDep, table_answer, table_with_report
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import Form, KeepDep, SeedDep
from app.api.transport.incoming.tables import TABLE_BODY, TableDep
from app.errors import InvalidParameter
from app.service.swapping.identify import IdentifiabilityReport, count_identifiable
from app.service.swapping.report import SwapReport
from app.service.swapping.swap import SwapParams, swap_table
from app.tables.arrays.coded import BinRule


class BinsForm(Form):
    """One of the three rules."""

    equal_frequency: int | None = None
    equal_width: int | None = None
    edges: tuple[float, ...] | None = None


FORMS: TypeAdapter[dict[str, BinsForm]] = TypeAdapter(dict[str, BinsForm])

BinsText = Annotated[
    str | None,
    Query(
        description="JSON: numeric column → one of `equal_frequency` (number of bins),"
        " `equal_width` (number of bins) and `edges` (borders). It leaves as its bins.",
        examples=['{"age": {"equal_frequency": 5}, "income": {"edges": [20000, 50000]}}'],
    ),
]


def bins_from(text: str | None) -> dict[str, BinRule]:
    """The rules by column; InvalidParameter for anything else."""
    if text is None:
        return {}
    try:
        forms = FORMS.validate_json(text)
    except ValidationError:
        raise InvalidParameter(
            'bins must be JSON such as {"age": {"equal_frequency": 5}}; the rules are'
            " equal_frequency, equal_width and edges",
            parameter="bins",
        ) from None
    return {
        name: BinRule(form.equal_frequency, form.equal_width, form.edges)
        for name, form in forms.items()
    }


router = APIRouter(prefix="/v1", tags=["swapping"], route_class=Route)

Names = Annotated[
    list[str], Query(description="A column; repeat the parameter for more.", min_length=1)
]
NamesOrRest = Annotated[
    list[str] | None,
    Query(description="A column an intruder may know; repeated. Without it, all other columns."),
]


SWAP_ANSWER = table_answer("The swapped table.", SwapReport)


@router.post("/identifiability", openapi_extra=TABLE_BODY)
@can_be_long()
def identify_records(
    resources: ResourcesDep,
    table: TableDep,
    confidential: Names,
    progress: ProgressDep,
    non_confidential: NamesOrRest = None,
    bins: BinsText = None,
    rows: Annotated[bool, Query(description="Also the status and group of every row.")] = False,
) -> IdentifiabilityReport:
    """Count the records whose confidential values their other columns give away.

    Identifiers are left out of "all other columns", and named.
    """
    return count_identifiable(
        table,
        confidential,
        non_confidential,
        bins_from(bins),
        resources.limits,
        with_rows=rows,
        progress=progress,
    )


@router.post("/swaps", openapi_extra=TABLE_BODY, responses=SWAP_ANSWER, response_class=Response)
@can_be_long()
def swap_values(
    resources: ResourcesDep,
    context: ContextDep,
    kind: TableTypeDep,
    table: TableDep,
    confidential: Names,
    progress: ProgressDep,
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
    seed: SeedDep = None,
    keep: KeepDep = None,
) -> Response:
    """Swap confidential values so that identification breaks and the distribution stays.

    Identifiers are left out, unless they are named in a parameter; the report names them.
    """
    swapped, report = swap_table(
        table,
        SwapParams(
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
            keep=keep or (),
        ),
        resources.limits,
        progress,
    )
    return table_with_report(resources, context, swapped, report, kind)
