"""Surveys by the one-step scheme: noisy responses come in, only totals are kept.

[wu2003, section 4.] Whoever holds a key and the survey's id may respond; the owner, administrators and
auditors read the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from app.errors import Conflict, InvalidParameter, NameTaken, NotFound, Refusal
from app.model import Role, Survey
from app.numerics.deconvolution.bins import checked_edges
from app.numerics.indicator.perturbations import Perturbation
from app.numerics.indicator.scheme import (
    MOST_BINS,
    RunningTotals,
    ShareEstimate,
    checked_vectors,
    estimated_shares,
    totals_of,
)
from app.service.context import RequestContext, checked_name, new_id, require
from app.service.distributions.perturb import described, perturbation_of
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database import surveys
from app.store.database.engine import reading

RESPONSES_PER_PRINCIPAL = 10_000


@dataclass(frozen=True)
class SurveyEstimate:
    """The survey as it stands and the shares of its bins."""

    survey: Survey
    shares: ShareEstimate


def create_survey(
    resources: Resources,
    context: RequestContext,
    name: str,
    perturbation: Perturbation,
    *,
    categories: Sequence[str] | None,
    edges: Sequence[float] | None,
    responses_per_principal: int = RESPONSES_PER_PRINCIPAL,
) -> Survey:
    """Make a survey over categories, or over the bins between edges."""
    require(context, Role.OWNER)
    checked_name("name", name)
    bins = _checked_bins(categories, edges)
    with unit_of_work(resources, context) as uow:
        if surveys.name_taken(uow.connection, context.principal.id, name):
            raise NameTaken(f"there is a survey {name!r} already", parameter="name")
        survey = Survey(
            id=new_id("sv"),
            name=name,
            owner=context.principal.id,
            categories=None if categories is None else tuple(categories),
            edges=None if edges is None else tuple(edges),
            perturbation=described(perturbation),
            created_at=uow.now,
            responses=0,
            totals=(0,) * bins,
            responses_per_principal=responses_per_principal,
        )
        surveys.add(uow.connection, survey)
        uow.record("survey.create", survey.id, name=name, bins=bins)
    return survey


def show_survey(resources: Resources, context: RequestContext, survey_id: str) -> Survey:
    """Return a survey; any principal may respond and so may read it."""
    del context
    with reading(resources.engine) as connection:
        survey = surveys.one(connection, survey_id)
    if survey is None:
        raise NotFound(_no_survey(survey_id))
    return survey


def list_surveys(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> list[Survey]:
    """Surveys by id: all for administrators and auditors, else one's own."""
    sees_all = context.principal.role in (Role.ADMIN, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return surveys.page(
            connection, after=after, limit=limit, owner=None if sees_all else context.principal.id
        )


def add_responses(
    resources: Resources, context: RequestContext, survey_id: str, vectors: Sequence[Sequence[int]]
) -> int:
    """Count responses, all or none; how many the survey has now."""
    survey = show_survey(resources, context, survey_id)
    perturbation = perturbation_of(survey.perturbation)
    added = totals_of(checked_vectors(vectors, survey.bins, perturbation), perturbation)
    with unit_of_work(resources, context) as uow:
        now = surveys.add_responses(
            uow.connection, survey_id, added.responses, added.totals.tolist()
        )
        if now is None:
            raise NotFound(_no_survey(survey_id))
        if context.principal.id != survey.owner:
            _require_room(uow.connection, survey, context, added.responses)
        uow.record("survey.respond", survey_id, responses=added.responses)
    return now


def estimate_survey(
    resources: Resources, context: RequestContext, survey_id: str
) -> SurveyEstimate:
    """The shares of the bins with standard errors, from the totals alone."""
    survey = show_survey(resources, context, survey_id)
    _require_reader(context, survey)
    totals = RunningTotals(survey.responses, np.asarray(survey.totals, dtype=np.int64))
    return SurveyEstimate(survey, estimated_shares(totals, perturbation_of(survey.perturbation)))


def remove_survey(resources: Resources, context: RequestContext, survey_id: str) -> None:
    """Remove a survey and its totals."""
    with unit_of_work(resources, context) as uow:
        survey = surveys.one(uow.connection, survey_id)
        if survey is None:
            raise NotFound(_no_survey(survey_id))
        if context.principal.role is not Role.ADMIN and survey.owner != context.principal.id:
            raise Refusal("only the survey's owner or an administrator may do this")
        surveys.remove(uow.connection, survey_id)
        uow.record("survey.remove", survey_id, responses=survey.responses)


def _require_room(
    connection: Connection, survey: Survey, context: RequestContext, responses: int
) -> None:
    """Conflict where a principal has added more responses than one may: nobody outvotes the others."""
    most = survey.responses_per_principal
    if surveys.count_respondent(connection, survey.id, context.principal.id, responses) > most:
        raise Conflict(
            f"A principal may add {most} responses to this survey; none of these was counted.",
            limit=most,
        )


def _require_reader(context: RequestContext, survey: Survey) -> None:
    if context.principal.role in (Role.ADMIN, Role.AUDITOR) or survey.owner == context.principal.id:
        return
    # This principal may respond, so it knows the survey: nothing to hide but the estimate.
    raise Refusal("only the survey's owner, an administrator or an auditor may read its estimate")


def _checked_bins(categories: Sequence[str] | None, edges: Sequence[float] | None) -> int:
    """Return how many bins the survey has; InvalidParameter unless exactly one of the two describes them."""
    if (categories is None) == (edges is None):
        raise InvalidParameter("give either categories or edges", parameter="categories")
    if categories is not None:
        if len(set(categories)) != len(categories):
            raise InvalidParameter("a category is named twice", parameter="categories")
        bins = len(categories)
    else:
        assert edges is not None
        bins = checked_edges(edges).size - 1
    if not 2 <= bins <= MOST_BINS:
        raise InvalidParameter(f"a survey has 2 to {MOST_BINS} bins", parameter="bins", bins=bins)
    return bins


def _no_survey(survey_id: str) -> str:
    return f"there is no survey {survey_id!r}"
