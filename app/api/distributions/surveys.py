"""/v1/surveys: randomised responses in, running totals and estimates out."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.api.distributions.forms import AnyPerturbationForm
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.answers import (
    PICTURE_ANSWER,
    AnswerType,
    AnswerTypeDep,
    picture_response,
)
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import DataForm, Form
from app.api.transport.paging import PageDep
from app.model import Survey
from app.pictures.distribution import draw_survey
from app.service.distributions import surveys
from app.service.distributions.perturb import (
    perturbation_of,
    probability_mle_is_right,
    steps_per_unit,
)
from app.service.distributions.surveys import SurveyEstimate

router = APIRouter(prefix="/v1/surveys", tags=["surveys"], route_class=Route)

MOST_AT_ONCE = 100_000


class SurveyForm(Form):
    """A survey to create: a question with several categories, or with a number in one of several bins."""

    name: str = Field(max_length=200)
    categories: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        None, max_length=10_000
    )
    edges: list[float] | None = Field(None, max_length=10_001)
    perturbation: AnyPerturbationForm
    responses_per_principal: int = Field(
        surveys.RESPONSES_PER_PRINCIPAL,
        ge=1,
        le=10**12,
        description="How many responses one principal may add; the owner is not bounded.",
    )


class SurveyView(BaseModel):
    """A survey, with all that a respondent needs to perturb an answer.

    A response is a vector of `bins` whole numbers: independent draws of the perturbation in steps of
    gamma, with `steps_per_unit` added at the place of the answer.
    """

    id: str
    name: str
    owner: str
    bins: int
    categories: list[str] | None
    edges: list[float] | None
    perturbation: dict[str, str | float]
    steps_per_unit: int
    right_guess_probability: float = Field(
        description="That the likeliest bin, judged from one response alone, is the true one."
    )
    responses_per_principal: int
    created_at: datetime

    @classmethod
    def of(cls, survey: Survey) -> SurveyView:
        perturbation = perturbation_of(survey.perturbation)
        return cls(
            id=survey.id,
            name=survey.name,
            owner=survey.owner,
            bins=survey.bins,
            categories=None if survey.categories is None else list(survey.categories),
            edges=None if survey.edges is None else list(survey.edges),
            perturbation=dict(survey.perturbation),
            steps_per_unit=steps_per_unit(perturbation),
            right_guess_probability=probability_mle_is_right(perturbation, survey.bins),
            responses_per_principal=survey.responses_per_principal,
            created_at=survey.created_at,
        )


class SurveyList(BaseModel):
    """A page of surveys; `next_cursor` is null on the last."""

    surveys: list[SurveyView]
    next_cursor: str | None


class ResponsesForm(DataForm):
    """Perturbed indicator vectors, in steps of gamma."""

    vectors: list[Annotated[list[Annotated[int, Field(strict=True)]], Field(fail_fast=True)]] = (
        Field(min_length=1, max_length=MOST_AT_ONCE, fail_fast=True)
    )


class CountedView(BaseModel):
    """How many responses were counted now, and how many there are."""

    counted: int
    responses: int


class SurveyEstimateView(BaseModel):
    """Shares of the bins, with standard errors.

    `shares` are `unbiased_shares` with what fell below zero at zero. `standard_errors` are those for
    the population that the respondents are a sample of, `standard_errors_of_respondents` those for
    the respondents themselves.
    """

    survey: str
    responses: int
    categories: list[str] | None
    edges: list[float] | None
    shares: list[float]
    unbiased_shares: list[float]
    standard_errors: list[float]
    standard_errors_of_respondents: list[float]

    @classmethod
    def of(cls, found: SurveyEstimate) -> SurveyEstimateView:
        survey, shares = found.survey, found.shares
        return cls(
            survey=survey.id,
            responses=shares.responses,
            categories=None if survey.categories is None else list(survey.categories),
            edges=None if survey.edges is None else list(survey.edges),
            shares=shares.shares.tolist(),
            unbiased_shares=shares.unbiased.tolist(),
            standard_errors=shares.standard_errors.tolist(),
            standard_errors_of_respondents=shares.standard_errors_of_respondents.tolist(),
        )


@router.post("", status_code=201)
def create_survey(form: SurveyForm, resources: ResourcesDep, context: ContextDep) -> SurveyView:
    """Create a survey, whose perturbation and bins are fixed from then on."""
    return SurveyView.of(
        surveys.create_survey(
            resources,
            context,
            form.name,
            form.perturbation.perturbation(),
            categories=form.categories,
            edges=form.edges,
            responses_per_principal=form.responses_per_principal,
        )
    )


@router.get("")
def list_surveys(resources: ResourcesDep, context: ContextDep, page: PageDep) -> SurveyList:
    """List the principal's surveys; administrators and auditors see all."""
    found, cursor = page.of(surveys.list_surveys, resources, context)
    return SurveyList(surveys=[SurveyView.of(one) for one in found], next_cursor=cursor)


@router.get("/{survey_id}")
def show_survey(survey_id: str, resources: ResourcesDep, context: ContextDep) -> SurveyView:
    """Show what a survey asks and how a response is perturbed."""
    return SurveyView.of(surveys.show_survey(resources, context, survey_id))


@router.post("/{survey_id}/responses", status_code=201)
def add_responses(
    survey_id: str, form: ResponsesForm, resources: ResourcesDep, context: ContextDep
) -> CountedView:
    """Send responses: all are added to the totals or, if one does not fit, none."""
    now = surveys.add_responses(resources, context, survey_id, form.vectors)
    return CountedView(counted=len(form.vectors), responses=now)


@router.get("/{survey_id}/estimate", response_model=SurveyEstimateView, responses=PICTURE_ANSWER)
def estimate_survey(
    survey_id: str, resources: ResourcesDep, context: ContextDep, wanted: AnswerTypeDep
) -> SurveyEstimateView | Response:
    """Estimate the shares of the answers, as JSON, PNG or SVG."""
    found = surveys.estimate_survey(resources, context, survey_id)
    if wanted is AnswerType.JSON:
        return SurveyEstimateView.of(found)
    return picture_response(
        draw_survey(found.shares, found.survey.edges, found.survey.categories), wanted
    )


@router.delete("/{survey_id}", status_code=204)
def remove_survey(survey_id: str, resources: ResourcesDep, context: ContextDep) -> None:
    """Remove a survey and its totals."""
    surveys.remove_survey(resources, context, survey_id)
