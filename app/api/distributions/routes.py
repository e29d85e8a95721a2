"""/v1/distributions: estimation, perturbation and privacy measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from app.api.distributions.schemas import (
    ColumnOfCopy,
    EstimateForm,
    EstimateView,
    MeasuresForm,
    MeasuresList,
    MeasuresView,
    Perturbed,
    PerturbedView,
    PerturbForm,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.answers import (
    PICTURE_ANSWER,
    AnswerType,
    AnswerTypeDep,
    picture_response,
)
from app.api.transport.endpoints.route import Route
from app.errors import InvalidParameter
from app.pictures.distribution import draw_distribution
from app.service.context import seed_or_new
from app.service.distributions.copy_sample import column_of_copy
from app.service.distributions.estimate import DistributionEstimate, estimate_distribution
from app.service.distributions.perturb import (
    add_noise,
    measure,
    perturb_categories,
    perturb_values,
    steps_per_unit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

router = APIRouter(prefix="/v1/distributions", tags=["distributions"], route_class=Route)


@router.post(
    "/estimate", name="estimate_distribution", response_model=EstimateView, responses=PICTURE_ANSWER
)
def estimate(
    form: EstimateForm, resources: ResourcesDep, context: ContextDep, wanted: AnswerTypeDep
) -> EstimateView | Response:
    """Estimate the distribution behind values with known noise, as JSON, PNG or SVG."""
    source = form.source()
    if isinstance(source, ColumnOfCopy):
        source = Perturbed(*column_of_copy(resources, context, source.copy, source.column))
    found = estimate_distribution(source.data, form.params(source.noise))
    if wanted is AnswerType.JSON:
        return EstimateView.of(found)
    return picture_response(_drawn(found), wanted)


@router.post("/perturb", name="perturb_values", response_model_exclude_none=True)
def perturb(form: PerturbForm, context: ContextDep) -> PerturbedView:
    """Perturb values or answers, repeatably with the seed."""
    del context  # any principal may
    seed = seed_or_new(form.seed)
    if (form.noise is None) == (form.perturbation is None):
        raise InvalidParameter("give either noise or a perturbation", parameter="noise")
    if (form.values is None) == (form.answers is None):
        raise InvalidParameter("give either values or answers", parameter="values")
    if form.perturbation is None:
        assert form.noise is not None
        if form.values is None:
            raise InvalidParameter("noise is added to values", parameter="values")
        return PerturbedView(
            values=add_noise(form.values, form.noise.noise(), seed).tolist(), seed=seed
        )
    perturbation = form.perturbation.perturbation()
    if form.values is not None:
        if form.edges is None:
            raise InvalidParameter("values need the edges of bins", parameter="edges")
        vectors = perturb_values(form.values, form.edges, perturbation, seed)
    else:
        if form.categories is None or form.answers is None:
            raise InvalidParameter("answers need the categories", parameter="categories")
        vectors = perturb_categories(form.answers, form.categories, perturbation, seed)
    return PerturbedView(
        vectors=vectors.tolist(), steps_per_unit=steps_per_unit(perturbation), seed=seed
    )


@router.post("/measures", name="measure_perturbations")
def measures(form: MeasuresForm, context: ContextDep) -> MeasuresList:
    """Measure what perturbations leak of one record and lose of the distribution."""
    del context  # any principal may
    seed = seed_or_new(form.seed)
    found = measure([one.setting() for one in form.settings], form.responses, seed)
    return MeasuresList(measures=[MeasuresView.of(one) for one in found], seed=seed)


def _drawn(found: DistributionEstimate) -> Figure:
    started = found.direct if found.iterative is not None else None
    return draw_distribution(
        found.edges,
        found.probabilities,
        found.method.value.replace("_", " "),
        None if started is None else started.probabilities,
    )
