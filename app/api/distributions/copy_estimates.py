"""POST /v1/copies/{id}/estimates: what is behind a copy, with standard errors, beside the copy as it stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from app.api.transport.dependencies import ContextDep, ResourcesDep, can_be_long
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import Form
from app.api.transport.incoming.tables import FormDep, form_body
from app.errors import InvalidParameter
from app.service.distributions.copy_estimates import (
    CopyEstimate,
    EstimateKind,
    EstimateQuestion,
    estimate_behind_copy,
)

router = APIRouter(
    prefix="/v1/copies/{copy_id}/estimates", tags=["distributions"], route_class=Route
)

FIELDS = {
    "question": 'JSON as the body of `estimates`: {"kind": "linear_regression", "columns": ["age"], "target": "income"}.'
}
ColumnName = Annotated[str, Field(max_length=1_000)]


class CopyEstimateForm(Form):
    """What to estimate, of which columns of the copy."""

    kind: EstimateKind
    columns: list[ColumnName] = Field(
        min_length=1,
        max_length=100,
        description="Numbers of means, covariances and correlations; one categorical column of shares and group means,"
        " two of a two-way table; regressors; the numeric column of a distribution.",
    )
    target: ColumnName | None = Field(
        None, description="What a regression explains, or the number whose group means are wanted."
    )
    value: str | None = Field(
        None,
        max_length=10_000,
        description="The category of the target that a logistic regression explains.",
    )

    def question(self) -> EstimateQuestion:
        return EstimateQuestion(self.kind, tuple(self.columns), self.target, self.value)


@router.post("")
@can_be_long()
def estimate_copy(
    copy_id: str, form: CopyEstimateForm, resources: ResourcesDep, context: ContextDep
) -> CopyEstimate:
    """Estimate what is behind a copy: corrected for its noise and its replaced records, with standard errors.

    Made of the copy and its noise law, so for all who may have both. Figures of columns on a log scale are on that scale.
    """
    return estimate_behind_copy(resources, context, copy_id, form.question())


@router.post("/table", openapi_extra=form_body(["table"], FIELDS))
@can_be_long()
def estimate_table(
    copy_id: str, form: FormDep, resources: ResourcesDep, context: ContextDep
) -> CopyEstimate:
    """Estimate from a table that was made of the copy: some of its rows, or with numbers of yours beside, taken as exact.

    Where parts of the copy have different noise, all of its rows are needed, in their order.
    """
    wanted = form.value("question", CopyEstimateForm)
    if wanted is None:
        raise InvalidParameter("The form needs a `question`.", parameter="question")
    table = form.table("table")
    return estimate_behind_copy(resources, context, copy_id, wanted.question(), table)
