"""/v1/distributions: what a recipient learns in aggregate, and the perturbation of values."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from app.api.dependencies import AskHere, ResourcesHere
from app.api.distribution_schemas import (
    CopyColumn,
    EstimateForm,
    EstimateView,
    MeasuresForm,
    MeasuresList,
    MeasuresView,
    Perturbed,
    PerturbedView,
    PerturbForm,
)
from app.api.once import Route
from app.api.pictures import PICTURE_ANSWER, AnswerType, answer_type, picture_response
from app.api.pictures.distribution import draw_distribution
from app.errors import InvalidParameter
from app.numerics.indicator import steps_per_unit
from app.service.copy_columns import column_of_copy
from app.service.distributions import estimate_distribution
from app.service.measures import measure
from app.service.perturb import add_noise, drawn_seed, perturb_categories, perturb_values

router = APIRouter(prefix="/v1/distributions", tags=["distributions"], route_class=Route)

AcceptHere = Annotated[str | None, Header(include_in_schema=False)]


@router.post("/estimate", response_model=EstimateView, responses=PICTURE_ANSWER)
def estimate(
    form: EstimateForm, resources: ResourcesHere, ask: AskHere, accept: AcceptHere = None
) -> EstimateView | Response:
    """Estimate the distribution behind values with known noise, as JSON, PNG or SVG."""
    wanted = answer_type(accept)
    source = form.source()
    if isinstance(source, CopyColumn):
        source = Perturbed(*column_of_copy(resources, ask, source.copy, source.column))
    found = estimate_distribution(source.data, form.wish(source.noise))
    if wanted is AnswerType.JSON:
        return EstimateView.of(found)
    return picture_response(draw_distribution(found), wanted)


@router.post("/perturb", response_model_exclude_none=True)
def perturb(form: PerturbForm, ask: AskHere) -> PerturbedView:
    """Perturb values or answers, repeatably with the seed."""
    del ask  # any caller may
    seed = drawn_seed() if form.seed is None else form.seed
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


@router.post("/measures")
def measures(form: MeasuresForm, ask: AskHere) -> MeasuresList:
    """Measure what perturbations leak of one record and lose of the distribution."""
    del ask  # any caller may
    seed = drawn_seed() if form.seed is None else form.seed
    found = measure([one.setting() for one in form.settings], form.responses, seed)
    return MeasuresList(measures=[MeasuresView.of(one) for one in found], seed=seed)
