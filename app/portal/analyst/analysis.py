"""Analyse: what is behind a copy, beside the copy as it stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.copies.generation.history import copy_at_level
from app.service.datasets.registry import show_dataset
from app.service.distributions.copy_estimates import (
    EstimateKind,
    EstimateQuestion,
    estimate_behind_copy,
)

router = APIRouter(
    prefix="/portal/datasets/{dataset_id}/analyse", route_class=PortalRoute, include_in_schema=False
)

KINDS = {
    EstimateKind.MEANS: "Means of numbers",
    EstimateKind.GROUP_MEANS: "Means of a number by category",
    EstimateKind.CORRELATIONS: "Correlations of numbers",
    EstimateKind.COVARIANCES: "Variances and covariances",
    EstimateKind.SHARES: "Shares of categories",
    EstimateKind.TWO_WAY_TABLE: "Two-way table of categories",
    EstimateKind.LINEAR_REGRESSION: "Linear regression",
    EstimateKind.LOGISTIC_REGRESSION: "Logistic regression",
    EstimateKind.DISTRIBUTION: "Distribution of a number",
}


@router.get("")
def show_analysis(
    dataset_id: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    level: Annotated[str, Query(max_length=200)],
    kind: EstimateKind = EstimateKind.MEANS,
    column: Annotated[list[str] | None, Query(max_length=100)] = None,
    target: Annotated[str, Query(max_length=1_000)] = "",
    value: Annotated[str, Query(max_length=10_000)] = "",
) -> Response:
    """The question and, once columns are chosen, its answer or what is wrong with it."""
    dataset = show_dataset(resources, context, dataset_id)
    copy = copy_at_level(resources, context, dataset_id, level)
    answer, refused = None, ""
    if copy is not None and column:
        question = EstimateQuestion(kind, tuple(column), target or None, value or None)
        try:
            answer = estimate_behind_copy(resources, context, copy.id, question)
        except InvalidParameter as problem:
            refused = problem.detail
    return page(
        request,
        "analyst/analysis.html",
        title=f"Analyse {dataset.name}",
        dataset=dataset,
        level=level,
        copy=copy,
        kinds=KINDS,
        asked={"kind": kind, "column": column or [], "target": target, "value": value},
        answer=answer,
        refused=refused,
    )
